"""The Python files of a folder of models: models in Python, and the code beside models in JSON."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import FunctionType, ModuleType

from flask import Flask

from app.jobs import Job
from app.problems import Problems
from app.project_modules import CodeError, load, located_errors
from app.rest.resource import Resource
from app.todos.resource import todos
from app.users.resource import users

from .roles import RESOURCES
from .stubs import HOOK

# A module's function that receives the resource of its model in JSON, and the one that receives the
# app before the module's models are served.
EXTEND, INIT_APP = "extend", "init_app"
STUBS = "hooks that are not written yet, and do nothing: {}; `ostiary loopback todo` lists them"
# Resources that a module may import without defining them.
SHIPPED = (users, todos, *RESOURCES.values())


class Module:
    """An imported Python file of the folder of models."""

    def __init__(self, path: Path, content: ModuleType) -> None:
        self.path, self._content = path, content

    @property
    def resources(self) -> list[Resource]:
        """The models in Python, in the order of their definition."""
        values = vars(self._content).values()
        return [value for value in values if isinstance(value, Resource) and value not in SHIPPED]

    def has(self, function: str) -> bool:
        """Return True if the module has a function."""
        return callable(getattr(self._content, function, None))

    def call(self, function: str, argument: object) -> None:
        """Call a function of the module if it exists; raise CodeError."""
        if self.has(function):
            with located_errors(self.path):
                getattr(self._content, function)(argument)

    @property
    def has_jobs(self) -> bool:
        """Whether the module declares or imports jobs."""
        return any(isinstance(value, Job) for value in vars(self._content).values())

    @property
    def hook_stubs(self) -> int:
        """The number of hooks that are still stubs."""
        values = vars(self._content).values()
        # Flask's proxies, such as `request`, have no attributes here.
        functions = [value for value in values if isinstance(value, FunctionType)]
        return sum(hasattr(function, HOOK) for function in functions)

    def is_used_by(self, other: "Module") -> bool:
        """Return True if another module has imported this one, or something that it defines."""
        name = self._content.__name__
        return other is not self and any(
            value is self._content or getattr(value, "__module__", None) == name
            for value in vars(other._content).values()
        )


def import_modules(app: Flask, folder: Path, problems: Problems) -> dict[str, Module]:
    """Import the Python files of a folder; return them by the names of their files.

    Files whose names begin with `_` are not imported, except by others.
    """
    modules = dict[str, Module]()
    for path in sorted(folder.glob("*.py")):
        if not path.name.startswith("_"):
            with reporting(problems):
                modules[path.stem] = module = Module(path, load(app, path))
                if count := module.hook_stubs:
                    problems.warn(path.name, STUBS.format(count))
    return modules


def warn_of_others(modules: Mapping[str, Module], beside: set[str], problems: Problems) -> None:
    """Warn of files without models; `beside` are the names of the files in JSON."""
    for name, module in modules.items():
        if name in beside or module.resources or module.has_jobs or module.has(INIT_APP):
            continue
        if not any(map(module.is_used_by, modules.values())):
            problems.warn(
                module.path.name,
                f"is no model: it has no Resource, and there is no {name}.json beside it; the name"
                " of a file that others import begins with _",
            )


@contextmanager
def reporting(problems: Problems) -> Iterator[None]:
    """Report an error of a Python file raised in the block."""
    try:
        yield
    except CodeError as error:
        problems.add(error.place, error.reason)
