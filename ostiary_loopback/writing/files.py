"""Files that a command writes into the project folder: all of them or none."""

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from tempfile import TemporaryDirectory

from app.problems import ConfigurationError, describe_error


@dataclass(frozen=True, eq=False)
class ProjectFile:
    """A file of a project: its path below the folder, its text, and the differences in it."""

    path: str
    text: str
    # One sentence for each difference from the file of the application.
    changes: Sequence[str] = ()


class State(StrEnum):
    """The state of a file, compared with the content of the folder."""

    WRITTEN = "written"
    SAME = "same"
    KEPT = "kept"
    REPLACED = "replaced"


def states(folder: Path, files: Iterable[ProjectFile], overwrite: bool) -> dict[ProjectFile, State]:
    """Return the state of each file; raise ConfigurationError for one that cannot be read."""
    return {file: _state(folder / file.path, file.text, overwrite) for file in files}


def _state(path: Path, text: str, overwrite: bool) -> State:
    try:
        if not path.exists():
            return State.WRITTEN
        if path.is_file() and path.read_bytes() == text.encode():
            return State.SAME
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be read: {error.strerror}") from None
    return State.REPLACED if overwrite else State.KEPT


def read_file(folder: Path, file: ProjectFile) -> str:
    """Return the text of the existing file in a folder; raise ConfigurationError."""
    try:
        return (folder / file.path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"{file.path} cannot be read: {describe_error(error)}") from None


def write_files(folder: Path, files: Iterable[ProjectFile]) -> None:
    """Write files, and replace existing ones: all or none.

    Raises ConfigurationError if one cannot be written.
    """
    try:
        with TemporaryDirectory(dir=folder, prefix=".import-") as temporary:
            new, old = Path(temporary, "new"), Path(temporary, "old")
            paths = [_prepare(new, file) for file in files]
            _move_all(paths, new, old, folder)
    except OSError as error:
        name = f"{error.filename}: " if error.filename else ""
        raise ConfigurationError(f"nothing was written: {name}{error.strerror}") from None


def _prepare(new: Path, file: ProjectFile) -> Path:
    path = new / file.path
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(file.text, encoding="utf-8")
    return path.relative_to(new)


def _move_all(paths: Sequence[Path], new: Path, old: Path, folder: Path) -> None:
    """Move files into their places; restore the previous ones if one cannot be moved."""
    moved: list[Path] = []
    try:
        for path in paths:
            if (folder / path).exists():
                _move(folder / path, old / path)
            moved.append(path)
            _move(new / path, folder / path)
    except OSError:
        for path in moved:
            if (old / path).exists():
                os.replace(old / path, folder / path)
            else:
                (folder / path).unlink(missing_ok=True)
        raise


def _move(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    os.replace(source, target)
