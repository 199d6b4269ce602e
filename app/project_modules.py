"""The Python files of a project, imported as ordinary modules.

They have their natural names, such as `project` and `models.note`, so that the project's tests and
other files import the same objects. A process has one project; if an app is created for another
one, its modules replace the previous ones.
"""

import importlib
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from importlib.machinery import PathFinder
from importlib.util import module_from_spec
from pathlib import Path
from traceback import extract_tb
from types import ModuleType

from flask import Flask
from sqlalchemy.exc import SQLAlchemyError

from app.database.faults import error_reason
from app.database.metadata import drop_project_models
from app.problems import ConfigurationError, describe_error

# The function in PROJECT_FILE.
ENTRY = "init_app"
# The folders of this process's modules, and whether one failed, which may have left incomplete
# tables.
_folders: tuple[Path, ...] = ()
_has_failed = False
# The top-level modules that were imported by their files. The paths of a package without
# `__init__.py` change with the module search path, and so do not tell where it was.
_tops = set[str]()


class CodeError(ConfigurationError):
    """An error in a project's Python file: its place, such as `models/note.py:7`, and message."""

    def __init__(self, place: str, reason: str) -> None:
        super().__init__(f"{place}: {reason}")
        self.place, self.reason = place, reason


def init_app(app: Flask) -> None:
    """Remove the modules of another project, and those of a failed attempt."""
    if _folders and (_has_failed or _folders != _real(_folders_of(app))):
        forget()


def set_up_project(app: Flask) -> None:
    """Call the function of PROJECT_FILE; raise ConfigurationError for an error in its code."""
    path = Path(os.path.abspath(Path(app.instance_path, app.config["PROJECT_FILE"])))
    # Path.is_file may raise an error, for example if the service may not access the folder.
    if not os.path.isfile(path):
        raise ConfigurationError(f"PROJECT_FILE cannot be used: there is no file {path}")
    function = getattr(load(app, path), ENTRY, None)
    if not callable(function):
        raise ConfigurationError(f"{path.name} has no function {ENTRY}; write def {ENTRY}(app):")
    with located_errors(path):
        function(app)


def load(app: Flask, path: Path) -> ModuleType:
    """Import a file, once in a process; raise CodeError."""
    global _has_failed
    folders = _folders_of(app)
    enter(*_real(folders))
    folder = next(folder for folder in folders if path.is_relative_to(folder))
    try:
        with located_errors(path):
            return _import(path.relative_to(folder), folder.resolve())
    except CodeError:
        _has_failed = True
        raise


def imported_modules(app: Flask) -> list[ModuleType]:
    """Return the modules of the app's project that have been imported."""
    if not _folders or _folders != _real(_folders_of(app)):
        return []
    paths = tuple(f"{folder}{os.sep}" for folder in _folders)
    # Resolved once for each folder of modules, because there are thousands of these.
    real = cache(os.path.realpath)
    modules = [(getattr(module, "__file__", None), module) for module in [*sys.modules.values()]]
    # An environment with libraries may be in a folder of the project.
    return [
        module
        for file, module in modules
        if file
        and "site-packages" not in file
        and f"{real(os.path.dirname(file))}{os.sep}".startswith(paths)
    ]


def enter(*folders: Path) -> None:
    """Add the project's folders to the module search path, before all others."""
    global _folders
    if folders == _folders:
        return
    if _folders:
        forget()
    _folders = folders
    sys.path[:0] = map(str, folders)
    importlib.invalidate_caches()


def forget() -> None:
    """Remove the project's modules and the tables that they define."""
    global _folders, _has_failed
    # Resolved once for each folder, because there are hundreds of modules.
    real = cache(os.path.realpath)
    tops = {name for name in sys.modules if "." not in name and _is_of_project(name, real)} | _tops
    _tops.clear()
    for name in [name for name in sys.modules if name.partition(".")[0] in tops]:
        del sys.modules[name]
    for folder in _folders:
        if str(folder) in sys.path:
            sys.path.remove(str(folder))
    _folders, _has_failed = (), False
    drop_project_models()


@contextmanager
def located_errors(path: Path) -> Iterator[None]:
    """Raise CodeError for any error in a block that runs the code of a file."""
    try:
        yield
    except CodeError:
        raise
    except Exception as error:
        raise CodeError(_place(error, path), _reason(error)) from error


def _folders_of(app: Flask) -> list[Path]:
    """Return the project folder, and those of its models and `project.py` if elsewhere."""
    project = Path(app.instance_path)
    named = (app.config["PROJECT_FILE"], app.config["MODELS_FOLDER"])
    folders = (Path(os.path.abspath(project / name)).parent for name in named if name)
    return [project, *(folder for folder in folders if not folder.is_relative_to(project))]


def _real(folders: Iterable[Path]) -> tuple[Path, ...]:
    """Return each of the folders once, without symbolic links."""
    return tuple(dict.fromkeys(folder.resolve() for folder in folders))


def _is_of_project(name: str, real: Callable[[str], str]) -> bool:
    """Return True if a top-level module is directly in a folder of the project."""
    module = sys.modules.get(name)
    file = getattr(module, "__file__", None)
    paths: Iterable[str] = [file] if file else getattr(module, "__path__", ())
    folders = {Path(real(str(place))) for path in paths for place in Path(path).parents[:2]}
    return not folders.isdisjoint(_folders)


def _import(file: Path, folder: Path) -> ModuleType:
    """Import a file of a folder, even if another package has the same name as its package."""
    name = ".".join(file.with_suffix("").parts)
    top = name.partition(".")[0]
    if top not in sys.modules:
        spec = PathFinder.find_spec(top, [str(folder)])
        if spec is None:
            raise ModuleNotFoundError(f"No module named {top!r}")
        sys.modules[top] = module_from_spec(spec)
        try:
            if spec.loader:
                spec.loader.exec_module(sys.modules[top])
        except BaseException:
            del sys.modules[top]
            raise
    module = importlib.import_module(name)
    if not module.__file__ or not folder.joinpath(file).samefile(module.__file__):
        raise ImportError(f"another module is called {name}: {module.__file__}")
    _tops.add(top)
    return module


def _place(error: Exception, path: Path) -> str:
    """Return the file and line of an error: the innermost that belongs to the project."""
    lines: list[tuple[str | None, int | None]] = [
        (frame.filename, frame.lineno) for frame in extract_tb(error.__traceback__)
    ]
    if isinstance(error, SyntaxError):
        lines.append((error.filename, error.lineno))
    for filename, line in reversed(lines):
        if (name := _name(Path(filename or ""), _folders)) and line:
            return f"{name}:{line}"
    return _name(path, _folders) or path.name


def _name(path: Path, folders: Sequence[Path]) -> str:
    """Return the name of a file relative to its folder; empty if it is in none."""
    relative = (path.relative_to(folder) for folder in folders if path.is_relative_to(folder))
    return next((name.as_posix() for name in relative if "site-packages" not in name.parts), "")


def _reason(error: Exception) -> str:
    """Return the message of an error on one line, without the SQL statement."""
    if isinstance(error, ConfigurationError):
        return str(error)
    if isinstance(error, SQLAlchemyError) and error.__cause__:
        return f"{type(error).__name__}: {error_reason(error)}"
    return describe_error(error)
