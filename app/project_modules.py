"""The Python files of a project, imported as ordinary modules.

They have their natural names, such as `project` and `models.note`, so that the project's tests and
other files import the same objects. A process has one project; if an app is built for another one,
its modules take the place of those before.
"""

import importlib
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from importlib.machinery import PathFinder
from importlib.util import module_from_spec
from pathlib import Path
from traceback import extract_tb
from types import ModuleType

from flask import Flask
from sqlalchemy.exc import SQLAlchemyError

from app.config import ConfigurationError
from app.database.faults import error_reason
from app.database.metadata import drop_project_models

# The folders that the modules of this process are imported from.
_folders: tuple[Path, ...] = ()


class CodeError(ConfigurationError):
    """An error in a Python file of a project: its place, `models/note.py:7`, and what it is."""

    def __init__(self, place: str, reason: str) -> None:
        super().__init__(f"{place}: {reason}")
        self.place, self.reason = place, reason


def init_app(app: Flask) -> None:
    """Forget the modules of another project."""
    if _folders and _folders != _folders_of(app):
        forget()


def load(app: Flask, path: Path) -> ModuleType:
    """Import a file, once in a process; raise CodeError."""
    enter(*_folders_of(app))
    path = path.resolve()
    folder = next(folder for folder in _folders if path.is_relative_to(folder))
    name = ".".join(path.relative_to(folder).with_suffix("").parts)
    try:
        with located_errors(path):
            return _import(name, folder)
    except CodeError:
        # Its tables may be half defined.
        forget()
        raise


def enter(*folders: Path) -> None:
    """Let modules be imported from the folders of a project, before all others."""
    global _folders
    if folders == _folders:
        return
    if _folders:
        forget()
    _folders = folders
    sys.path[:0] = map(str, folders)
    importlib.invalidate_caches()


def forget() -> None:
    """Forget the modules of the project, and the tables that they define."""
    global _folders
    names = {name for name in sys.modules if _is_of_project(name.partition(".")[0])}
    for name in names:
        del sys.modules[name]
    for folder in _folders:
        if str(folder) in sys.path:
            sys.path.remove(str(folder))
    _folders = ()
    drop_project_models()


@contextmanager
def located_errors(path: Path) -> Iterator[None]:
    """Raise a CodeError for any error in a block that calls the code of a file."""
    try:
        yield
    except CodeError:
        raise
    except Exception as error:
        raise CodeError(_place(error, path.resolve()), _reason(error)) from error


def _folders_of(app: Flask) -> tuple[Path, ...]:
    """Return the project folder, and those of its models and its `project.py` if elsewhere."""
    project = Path(app.instance_path)
    named = (app.config["PROJECT_FILE"], app.config["MODELS_FOLDER"])
    folders = [Path(project, name).resolve().parent for name in named if name]
    project = project.resolve()
    return tuple(
        dict.fromkeys([project, *(each for each in folders if not each.is_relative_to(project))])
    )


def _is_of_project(name: str) -> bool:
    """Tell whether a top-level module is directly in a folder of the project."""
    module = sys.modules.get(name)
    file = getattr(module, "__file__", None)
    paths: Iterable[str] = [file] if file else getattr(module, "__path__", ())
    folders = {place for path in paths for place in Path(path).resolve().parents[:2]}
    return not folders.isdisjoint(_folders)


def _import(name: str, folder: Path) -> ModuleType:
    """Import a module of a folder, even if another package has the name of its package."""
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
    return importlib.import_module(name)


def _place(error: Exception, path: Path) -> str:
    """Return the file and the line of an error: the innermost of the project's own."""
    lines: list[tuple[str | None, int | None]] = [
        (frame.filename, frame.lineno) for frame in extract_tb(error.__traceback__)
    ]
    if isinstance(error, SyntaxError):
        lines.append((error.filename, error.lineno))
    for filename, line in reversed(lines):
        if (name := _name(Path(filename or "").resolve(), _folders)) and line:
            return f"{name}:{line}"
    return _name(path, _folders)


def _name(path: Path, folders: Sequence[Path]) -> str:
    """Return the name of a file below its folder; empty if it is in none."""
    relative = (path.relative_to(folder) for folder in folders if path.is_relative_to(folder))
    return next((name.as_posix() for name in relative if "site-packages" not in name.parts), "")


def _reason(error: Exception) -> str:
    """Return what an error says, in one line; not the statement of one of the database."""
    if isinstance(error, ConfigurationError):
        return str(error)
    words = error.msg if isinstance(error, SyntaxError) else str(error)
    if isinstance(error, SQLAlchemyError) and error.__cause__:
        words = error_reason(error)
    return ": ".join(filter(None, [type(error).__name__, " ".join(words.split())]))
