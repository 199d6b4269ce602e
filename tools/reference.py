"""The reference of the package `ostiary`: its modules with examples, and all their names.

Its contents are taken from the code: docstrings, signatures, and the comments above constants and
the fields of dataclasses.
"""

import ast
import importlib
import inspect
import pkgutil
import re
from collections.abc import Callable, Iterator
from dataclasses import is_dataclass
from enum import Enum
from functools import cache
from textwrap import dedent
from types import ModuleType
from typing import Any, NamedTuple

import ostiary

# Modules that run a project, and have nothing to import.
PROGRAMS = {"__main__", "wsgi"}
# The methods and properties that are part of the interface.
METHODS = {
    "BoundModel": (
        "create find find_one find_by_id find_by_ids exists count update upsert update_attributes"
        " patch delete destroy_all"
    ),
    "Call": "end",
    "DataSource": "from_config load invoke define observe context close effective_settings",
    "Identity": "user_id roles session require_session unauthorized",
    "Operation": "invoke prepare pages invoke_pages items",
    "Pages": "has_next",
    "Record": "to_dict save update_attributes destroy",
    "Repository": "prepare_insert insert prepare_update update delete from_entities",
    "Request": "full_url as_curl",
    "Resource": "endpoint insert update delete lock",
    "Template": "build",
    "Variable": "resolve",
}
# Classes whose objects are created by the service, with internal arguments and fields.
MADE_BY_OTHERS = {
    *("BoundModel", "Call", "Identity", "Model", "Operation", "Pages", "Record", "Relation"),
    *("Repository", "Request", "Row", "User", "Variable"),
    *("Client", "Login", "Mails", "Users"),
}
# Fields of a resource for models in JSON.
INTERNAL_FIELDS = {"own_endpoints", "foreign_keys", "withheld", "embedded", "serializer"}
# The code after `::`, up to the next line that is not indented.
CODE = re.compile(r"::\n\n((?:(?: {4}.*)?(?:\n|\Z))+)")
# Examples in the form of an interactive session.
SESSION = re.compile(r"^((?:>>> .*\n)(?:\S.*(?:\n|\Z)| {4}.*\n)*)", re.MULTILINE)


class Origin(NamedTuple):
    """Where a public name is defined."""

    module: ModuleType
    name: str


def public_modules() -> dict[str, ModuleType]:
    """Return the modules by subject, by name."""
    names = [module.name for module in pkgutil.iter_modules(ostiary.__path__)]
    return {
        name: importlib.import_module(f"ostiary.{name}") for name in sorted({*names} - PROGRAMS)
    }


def reference() -> str:
    """Return the reference of all modules."""
    return "\n\n".join(_section(name, module) for name, module in public_modules().items())


def _section(name: str, module: ModuleType) -> str:
    origins = _origins(module)
    entries = (_entry(public, origins[public]) for public in sorted(module.__all__, key=str.lower))
    return "\n\n".join([f"## ostiary.{name}", _prose(inspect.getdoc(module)), *entries])


def _origins(module: ModuleType) -> dict[str, Origin]:
    """Return where the names of a public module are defined, following one more import."""
    found: dict[str, Origin] = {}
    for node in ast.parse(inspect.getsource(module)).body:
        if isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                source = importlib.import_module("." * node.level + node.module, module.__package__)
                found[alias.asname or alias.name] = _definition(source, alias.name)
    return found


def _definition(module: ModuleType, name: str) -> Origin:
    value = getattr(module, name)
    if value is not Any and (inspect.isclass(value) or inspect.isfunction(value)):
        home = importlib.import_module(value.__module__)
        if getattr(home, name, None) is value:
            return Origin(home, name)
    return Origin(module, name)


def _entry(name: str, origin: Origin) -> str:
    value = getattr(origin.module, origin.name)
    if inspect.isclass(value) and value is not Any:
        parts = _class_parts(name, value)
    elif inspect.isfunction(value):
        parts = iter([_fence(_signature(name, value)), _prose(inspect.getdoc(value))])
    else:
        parts = _constant_parts(origin)
    return "\n\n".join(filter(None, [f"### {name}", *parts]))


def _class_parts(name: str, value: type) -> Iterator[str]:
    """Yield the description of a class: signature or error code, docstring, fields and methods."""
    has_fields = _has_fields(value)
    if code := getattr(value, "error_code", None):
        yield f"{getattr(value, 'code', '')} `{code}`"
    if name not in MADE_BY_OTHERS and not has_fields and (init := _own_init(value)):
        yield _fence(_signature(name, init))
    yield _prose(inspect.getdoc(value))
    if name not in MADE_BY_OTHERS and has_fields:
        yield "\n".join(_fields(value))
    if issubclass(value, Enum):
        yield "\n".join(f"- `{member.name}`: {vars(member)['description']}" for member in value)
    yield "\n".join(_methods(value, METHODS.get(name, "").split()))


def _has_fields(value: type) -> bool:
    return is_dataclass(value) or hasattr(value, "_fields") or hasattr(value, "__table__")


def _own_init(value: type) -> Callable[..., object] | None:
    """Return the constructor of a class, or of one of the service's that it extends."""
    ours = [base for base in value.__mro__ if base.__module__.startswith("app.")]
    inits = (vars(base)["__init__"] for base in ours if "__init__" in vars(base))
    return next(inits, None)


def _fields(value: type) -> Iterator[str]:
    """Yield the fields of a dataclass, each with the comment above it."""
    lines = inspect.getsource(value).splitlines()
    for node in _node(value).body:
        if isinstance(node, ast.AnnAssign) and ast.unparse(node.target) not in INTERNAL_FIELDS:
            comment = _comment_above(lines, node.lineno - 1)
            yield f"- `{_default(node)}`" + (f": {comment}" if comment else "")


def _default(node: ast.AnnAssign) -> str:
    """Return a field with its type, and its default unless a function creates it."""
    text = f"{ast.unparse(node.target)}: {ast.unparse(node.annotation)}"
    text = re.sub(r"OwnCopy\[(.*)\]$", r"\1", text)
    simple = isinstance(node.value, ast.Constant | ast.Name | ast.Tuple)
    return f"{text} = {ast.unparse(node.value)}" if simple and node.value else text


def _methods(value: type, names: list[str]) -> Iterator[str]:
    for name in names:
        found = inspect.getattr_static(value, name)
        function: Any = getattr(found, "fget", None) or getattr(found, "__func__", found)
        function = inspect.unwrap(function)
        is_property = isinstance(found, property) or not inspect.isfunction(function)
        head = name if is_property else _signature(name, function)
        text = " ".join((inspect.getdoc(function) or "").partition("\n\n")[0].split())
        yield f"- `{head}`: {text}"


def _constant_parts(origin: Origin) -> Iterator[str]:
    """Yield the definition of a constant, alias or signal, and the comment above it."""
    source = inspect.getsource(origin.module)
    lines = source.splitlines()
    for node in ast.parse(source).body:
        if isinstance(node, ast.Assign | ast.AnnAssign) and origin.name in _targets(node):
            shown = ast.get_source_segment(source, node.value or node) or ""
            if "\n" not in shown:
                yield _fence(f"{origin.name} = {shown}")
            yield _comment_above(lines, node.lineno - 1)


def _targets(node: ast.Assign | ast.AnnAssign) -> set[str]:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    names = (found for target in targets for found in ast.walk(target))
    return {found.id for found in names if isinstance(found, ast.Name)}


def _comment_above(lines: list[str], number: int) -> str:
    """Return the comment that ends above a line."""
    start = number
    while start and lines[start - 1].strip().startswith("#"):
        start -= 1
    return " ".join(line.strip().lstrip("#: ") for line in lines[start:number])


class _Source(str):
    """Code that is shown as written."""

    __slots__ = ()
    __repr__ = str.__str__


def _signature(name: str, function: Callable[..., object]) -> str:
    """Return the signature, with the annotations as written, and without `self`."""
    node = _node(function)
    arguments = (found for found in ast.walk(node.args) if isinstance(found, ast.arg))
    written = {found.arg: found.annotation for found in arguments}
    shown = [
        parameter.replace(annotation=_written(written[parameter.name]), default=_value(parameter))
        for parameter in inspect.signature(function).parameters.values()
        if parameter.name not in ("self", "cls")
    ]
    returns = _written(node.returns) if name[0].islower() else inspect.Signature.empty
    if any(ast.unparse(decorator) == "contextmanager" for decorator in node.decorator_list):
        return f"with {name}{inspect.Signature(shown)}:"
    return f"{name}{inspect.Signature(shown, return_annotation=returns)}"


def _written(annotation: ast.expr | None) -> object:
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        return _Source(annotation.value)
    return inspect.Signature.empty if annotation is None else _Source(ast.unparse(annotation))


def _value(parameter: inspect.Parameter) -> object:
    """Return a default; a class or function is shown by its name."""
    default = parameter.default
    is_named = default is not parameter.empty and hasattr(default, "__name__")
    return _Source(default.__name__) if is_named else default


@cache
def _node(value: object) -> Any:
    """Return the definition of a function or class."""
    source = inspect.getsource(value)  # type: ignore[arg-type]
    return ast.parse(inspect.cleandoc(f"\n{source}")).body[0]


def _prose(docstring: str | None) -> str:
    """Return a docstring as Markdown, with its examples as blocks of code."""
    text = CODE.sub(lambda code: f":\n\n{_fence(dedent(code[1]))}\n\n", docstring or "")
    text = SESSION.sub(lambda code: f"{_fence(code[1])}\n", text)
    return text.replace("'''", '"""').strip()


def _fence(code: str) -> str:
    return f"```python\n{code.strip()}\n```"
