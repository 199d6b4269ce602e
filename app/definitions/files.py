"""The files of a folder of models, and `model-config.json` beside it."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from app.problems import Problems

CONFIG = "model-config.json"
# The files that LoopBack 3 reads in addition, such as that for production.
OTHER_CONFIGS = "model-config.*.json"


@dataclass(frozen=True)
class Source:
    """A model as its file has it."""

    path: Path
    declared: Mapping[str, Any]

    @property
    def file(self) -> str:
        """The name of the file, which problems begin with."""
        return self.path.name

    @property
    def name(self) -> str:
        """The name of the model."""
        return str(self.declared["name"])

    @property
    def code(self) -> Path:
        """The file with the Python code of the model, if it exists."""
        return self.path.with_suffix(".py")


def read_models(folder: Path, problems: Problems) -> dict[str, Source]:
    """Return the models of a folder by name."""
    sources: dict[str, Source] = {}
    for path in sorted(folder.glob("*.json")):
        declared = _read(path, problems)
        if path.name == CONFIG or path.match(OTHER_CONFIGS) or declared is None:
            continue
        name = declared.get("name")
        if not isinstance(name, str) or not name:
            problems.add(path.name, "name is missing: it must be the model's name")
        elif other := sources.get(name):
            problems.add(path.name, f"name: {other.file} has a model {name} too")
        else:
            sources[name] = Source(path, declared)
    return sources


def read_model_config(folder: Path, problems: Problems) -> Mapping[str, Any] | None:
    """Return what `model-config.json`, in the folder or beside it, says of each model, if any."""
    for path in (folder / CONFIG, folder.parent / CONFIG):
        if path.exists():
            return _read(path, problems)
    return None


def _read(path: Path, problems: Problems) -> Mapping[str, Any] | None:
    try:
        content = json.loads(path.read_text(encoding="utf-8-sig"), object_pairs_hook=_object)
    except (OSError, ValueError, RecursionError) as error:
        problems.add(path.name, f"cannot be read: {error}")
        return None
    if not isinstance(content, dict):
        problems.add(path.name, "must be a JSON object")
        return None
    return content


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object; refuse a key that is there twice, of which one would be lost."""
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"{next(each for each in names if names.count(each) > 1)} is given twice")
    return found
