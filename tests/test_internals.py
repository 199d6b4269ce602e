"""The undocumented names of libraries that a package uses are listed in it, and exist."""

import ast
import inspect
import sys
import textwrap
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[1]
# The lists of the packages that have one.
INTERNALS = {
    path.parent.name: import_module(f"{path.parent.name}.internals").INTERNALS
    for path in sorted(ROOT.glob("*/internals.py"))
}
FILES = sorted(file for package in INTERNALS for file in (ROOT / package).rglob("*.py"))
OWNERS = {
    package: {owner: names.split() for owners in listed.values() for owner, names in owners.items()}
    for package, listed in INTERNALS.items()
}
LISTED = {
    package: {f"{owner}.{name}" for owner, names in owners.items() for name in names}
    for package, owners in OWNERS.items()
}
# Names with an underscore that the documentation of their libraries explains.
DOCUMENTED = {
    *("_asdict", "_fields", "_make", "_replace"),  # named tuples, and rows of SQLAlchemy
    *("_deserialize", "_serialize"),  # fields of marshmallow
    "_get_current_object",  # Werkzeug
    *("_undefined_name", "_undefined_obj"),  # Jinja
    "_value_",  # enumerations
}


@pytest.mark.parametrize(
    ("package", "requirement"),
    [(package, requirement) for package, listed in INTERNALS.items() for requirement in listed],
)
def test_no_listed_name_is_gone(package, requirement):
    gone = [
        f"{owner}.{name}"
        for owner, names in INTERNALS[package][requirement].items()
        for name in names.split()
        if not _has(_resolve(owner), name)
    ]

    library, _, read = requirement.partition("==")
    assert not gone, f"{library} {version(library)}, read in {read}, lost {', '.join(gone)}"


def test_every_undocumented_name_in_use_is_listed():
    listed = {
        package: {name.rpartition(".")[2] for name in names} | DOCUMENTED
        for package, names in LISTED.items()
    }
    own = {name for tree in _trees().values() for name in _defined(tree)}
    found = {
        f"{path.relative_to(ROOT)}:{node.lineno} {node.attr}"
        for path, tree in _trees().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and _is_private(node.attr)
        if node.attr not in listed[_package(path)] | own
    }

    assert not found


def test_every_import_of_gunicorn_is_listed():
    found = {
        f"{node.module}.{alias.name}"
        for path, tree in _trees().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("gunicorn")
        for alias in node.names
        if f"{node.module}.{alias.name}"
        not in LISTED[_package(path)] | OWNERS[_package(path)].keys()
    }

    assert found <= {"gunicorn.http.errors"}


def test_every_undocumented_name_that_a_class_overrides_or_inherits_is_listed():
    found = {
        f"{cls.__module__}.{cls.__name__}.{name} of {base.__module__}.{base.__name__}"
        for cls, tree in _classes()
        for base in cls.__mro__
        if base.__module__.partition(".")[0] not in {*INTERNALS, *sys.stdlib_module_names}
        for name in _used(tree, base)
        if not _is_listed(cls, name)
    }

    assert not found


def _used(tree: ast.ClassDef, base: type) -> Iterator[str]:
    """Yield the undocumented names of a base that a class defines anew, or uses of itself."""
    methods = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    names = {name for name in methods if name in vars(base)} - DOCUMENTED
    if base.__module__.startswith("gunicorn."):
        names |= {name for name in _attributes(tree) - methods if _has(base, name)}
        yield from (name for name in names if not name.startswith("__"))
    else:
        yield from filter(_is_private, names)


@cache
def _trees() -> dict[Path, ast.Module]:
    return {path: ast.parse(path.read_text()) for path in FILES}


def _classes() -> Iterator[tuple[type, ast.ClassDef]]:
    """Yield the classes of the packages."""
    for path, tree in _trees().items():
        module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        if not module.startswith("app.migrations."):
            for node in tree.body:
                if isinstance(node, ast.ClassDef):
                    yield getattr(import_module(module), node.name), node


def _package(path: Path) -> str:
    return path.relative_to(ROOT).parts[0]


def _is_listed(cls: type, name: str) -> bool:
    """Tell whether the package of a class lists a name of one of its bases."""
    owners = OWNERS[cls.__module__.partition(".")[0]]
    return any(name in names and _resolve(owner) in cls.__mro__ for owner, names in owners.items())


@cache
def _resolve(path: str) -> object:
    """Return the module or class with this path."""
    try:
        return import_module(path)
    except ModuleNotFoundError:
        module, _, name = path.rpartition(".")
        return getattr(import_module(module), name)


@cache
def _has(owner: object, name: str) -> bool:
    """Tell whether a module, a class or its instances have this name."""
    if hasattr(owner, name) or isinstance(owner, ModuleType):
        return hasattr(owner, name)
    return any(name in _attributes(_tree(cls)) for cls in owner.__mro__)


def _attributes(tree: ast.AST) -> set[str]:
    """Return the attributes that the methods of a class set or read."""
    return {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and _is_self(node.value)
    }


def _tree(cls: type) -> ast.AST:
    """Return the parsed source of a library's class."""
    return ast.Pass() if cls is object else ast.parse(textwrap.dedent(inspect.getsource(cls)))


def _defined(tree: ast.Module) -> Iterator[str]:
    """Yield the names that a module defines, and those that its methods set."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield from [node.attr] if _is_self(node.value) else []


def _is_self(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id in ("self", "cls")


def _is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")
