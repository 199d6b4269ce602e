"""The JSON files of a folder of models, and `model-config.json`."""

import json
from dataclasses import dataclass
from pathlib import Path

from app.problems import Problems
from app.properties.declaration import Declaration

CONFIG = "model-config.json"
# The files that LoopBack 3 reads in addition, such as the one for production.
OTHER_CONFIGS = "model-config.*.json"


@dataclass(frozen=True)
class Source:
    """A model as declared in its file."""

    path: Path
    declared: Declaration

    @property
    def file(self) -> str:
        """The name of the file, with which problems begin."""
        return self.path.name

    @property
    def name(self) -> str:
        """The name of the model."""
        return str(self.declared.mapping["name"])

    @property
    def code(self) -> Path:
        """The file with the Python code of the model, if it exists."""
        return self.path.with_suffix(".py")


def read_models(folder: Path, problems: Problems) -> dict[str, Source]:
    """Return the models of a folder by name."""
    sources: dict[str, Source] = {}
    for path in sorted(folder.glob("*.json")):
        declared = _read_object(path, problems)
        if path.name == CONFIG or path.match(OTHER_CONFIGS) or declared is None:
            continue
        name = declared.mapping.get("name")
        if not isinstance(name, str) or not name:
            declared.add("name is missing: it must be the model's name")
        elif other := sources.get(name):
            declared["name"].add(f"{other.file} has a model {name} too")
        else:
            sources[name] = Source(path, declared)
    return sources


def read_model_config(folder: Path, problems: Problems) -> Declaration | None:
    """Return `model-config.json`, in the folder or beside it, with an entry for each model."""
    for path in (folder / CONFIG, folder.parent / CONFIG):
        if path.exists():
            return _read_object(path, problems)
    return None


def _read_object(path: Path, problems: Problems) -> Declaration | None:
    declared = read_json(path, problems)
    if declared and not isinstance(declared.value, dict):
        declared.add("must be a JSON object")
        return None
    return declared


def read_json(path: Path, problems: Problems) -> Declaration | None:
    """Return the content of a file; report a file that cannot be read."""
    try:
        content = json.loads(path.read_text(encoding="utf-8-sig"), object_pairs_hook=_unique_keys)
    except (OSError, ValueError, RecursionError) as error:
        problems.add(path.name, f"cannot be read: {error}")
        return None
    return Declaration(content, problems, path.name, separator=": ")


def _unique_keys(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """Return an object; raise an error for a duplicate key, as one value would be lost."""
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"{twice} is given twice")
    return found
