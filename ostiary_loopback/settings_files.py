"""The settings of an application, in JSON and JavaScript, merged as `loopback-boot` does."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from app.problems import Problems, describe_error, join_path

from .literals import ENVIRONMENT, expressions, read_constants
from .syntax import Script, first_child, line_of, parse, text_of

#: Maximum bytes of a JSON file of a LoopBack 3 application.
MAX_JSON_BYTES = 4 * 1024 * 1024
#: Maximum levels of nesting in a JSON file of a LoopBack 3 application.
MAX_DEPTH = 50
# The value of an expression that is not read.
UNREAD = None


@dataclass
class Files:
    """Reads files below a folder; a file that cannot be read is added to the problems."""

    root: Path
    problems: Problems = field(default_factory=Problems)

    def place(self, path: Path, line: int | None = None) -> str:
        """Return the path of a file, relative to the folder, and a line."""
        try:
            place = path.resolve().relative_to(self.root.resolve()).as_posix()
        except ValueError:
            place = path.name
        return place if line is None else f"{place}:{line}"

    def read_json(self, path: Path) -> Mapping[str, Any] | None:
        """Return the object of a JSON file; None if there is none, or it cannot be read."""
        if not path.is_file():
            return None
        try:
            value = self._load(path)
        except json.JSONDecodeError as error:
            self._add(path, f"is no JSON: {error.msg}", error.lineno)
        except (OSError, ValueError, RecursionError) as error:
            self._add(path, f"cannot be read: {describe_error(error)}")
        else:
            if isinstance(value, dict):
                return value
            self._add(path, "must be a JSON object")
        return None

    def _load(self, path: Path) -> Any:
        """Return the content of a JSON file; raise ValueError if it is refused."""
        if path.stat().st_size > MAX_JSON_BYTES:
            raise ValueError(f"it is larger than {MAX_JSON_BYTES} bytes")
        if not self.has(path):
            raise ValueError(f"it is outside {self.root.name}")
        value = json.loads(path.read_text(encoding="utf-8-sig"))
        if _is_deep(value):
            raise ValueError(f"it is nested more than {MAX_DEPTH} times")
        if not _is_text(value):
            raise ValueError("it has one half of a surrogate pair, which is no character")
        return value

    def has(self, path: Path) -> bool:
        """Return True if a file is in the folder, after links are resolved."""
        return path.resolve().is_relative_to(self.root.resolve())

    def read_exports(self, path: Path) -> Mapping[str, Any] | None:
        """Return the object that a script exports as a literal; None if it does not."""
        if not self.has(path):
            self._add(path, f"cannot be read: it is outside {self.root.name}")
            return None
        try:
            script = parse(path)
        except OSError as error:
            self._add(path, f"cannot be read: {describe_error(error)}")
            return None
        value = _exported(script)
        if not isinstance(value, dict):
            self._add(path, "is not read: it does not export an object literal")
            return None
        return self._without_expressions(path, value)

    def _without_expressions(self, path: Path, value: dict[str, Any]) -> dict[str, Any]:
        for expression in expressions(value):
            place = self.place(path, line_of(expression.node))
            self.problems.warn(place, "a value is not read: it is no literal")
        cleaned: dict[str, Any] = _clean(value)
        return cleaned

    def _add(self, path: Path, message: str, line: int | None = None) -> None:
        self.problems.add(self.place(path, line), message)


def _exported(script: Script) -> Any:
    """Return the value that a script assigns to `module.exports` at its top level."""
    constants = read_constants(script)
    for statement in script.root.named_children:
        assignment = first_child(statement)
        left = assignment.child_by_field_name("left") if assignment else None
        if assignment and left and text_of(left) == "module.exports":
            return constants.value(assignment.child_by_field_name("right"))
    return None


def _is_deep(value: Any) -> bool:
    level = [value]
    for _ in range(MAX_DEPTH):
        level = [
            inner
            for item in level
            if isinstance(item, dict | list)
            for inner in (item.values() if isinstance(item, dict) else item)
        ]
    return bool(level)


def _is_text(value: Any) -> bool:
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True


def _clean(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _clean(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_clean(item) for item in value]
    return UNREAD if expressions(value) else value


def read_settings(files: Files, folder: Path, name: str, environment: str) -> dict[str, Any]:
    """Return `name.json` with `name.local` and `name.<environment>` merged into it.

    As in LoopBack's boot, `.js` takes precedence over `.json` for the latter two, and nothing is
    read without the main file.
    """
    main = folder / f"{name}.json"
    merged = dict(files.read_json(main) or {})
    if not main.is_file():
        return merged
    for suffix in ("local", environment):
        script, data = folder / f"{name}.{suffix}.js", folder / f"{name}.{suffix}.json"
        path = script if script.is_file() else data
        more = files.read_exports(path) if path is script else files.read_json(path)
        if more:
            problem = _merge(merged, more, name == "middleware")
            if problem:
                files.problems.add(
                    files.place(path), f"cannot be merged into {main.name}: {problem}"
                )
    return merged


def other_environments(folder: Path, name: str, environment: str) -> Sequence[Path]:
    """Return the files of settings for other environments than this one."""
    read = {name, f"{name}.local", f"{name}.{environment}"}
    return [
        path
        for path in sorted(folder.glob(f"{name}.*"))
        if path.suffix in (".json", ".js") and path.stem not in read and path.is_file()
    ]


def _merge(target: Any, more: Mapping[Any, Any], extends_lists: bool, path: str = "") -> str | None:
    """Merge entries into an object or a list; return why LoopBack's boot would fail, or None."""
    for key, value in more.items():
        place = join_path(path, key)
        old = target[key] if isinstance(target, list) else target.get(key)
        if not _is_nested(old) or (value is None and isinstance(old, dict)):
            if old is not None and _is_nested(value):
                return f"{place} has another type there"
            target[key] = value
        elif problem := _merge_nested(old, value, extends_lists, place):
            return problem
    return None


def _merge_nested(old: Any, value: Any, extends_lists: bool, path: str) -> str | None:
    if type(old) is not type(value):
        return f"{path} has another type there"
    if isinstance(old, dict):
        return _merge(old, value, extends_lists, path)
    if extends_lists:
        old.extend(item for item in value if item not in old)
        return None
    if len(old) != len(value):
        return f"{path} is a list of another length there"
    return _merge(old, dict(enumerate(value)), extends_lists, path)


def _is_nested(value: Any) -> bool:
    """Return True if a value is a list or an object, and not an environment variable."""
    return isinstance(value, list) or (isinstance(value, dict) and ENVIRONMENT not in value)
