"""What clients see of objects in properties whose type is a model."""

from collections.abc import Mapping

from app.rest.visibility import Visibility
from app.state import AppState

from .declaration import JsonObject
from .types import NAMES

# What clients see of objects of each model, by its name in lower case.
Models = Mapping[str, Visibility]
embedded_models = AppState[Models]("embedded models", factory=lambda _app: {})


def embedding_properties(declared: JsonObject, models: Models) -> dict[str, Visibility]:
    """Return what clients see of objects, by the properties that hold them.

    `declared` are the properties in LoopBack 3's form; those without such objects are left out.
    """
    found = {name: visibility_of(property_, models) for name, property_ in declared.items()}
    return {name: visibility for name, visibility in found.items() if visibility}


def visibility_of(declared: object, models: Models) -> Visibility | None:
    """Return what clients see of a property's objects, or of an array's items.

    The type is a model, or declares the objects' properties: `{"type": {"street": "string"}}`.
    """
    if isinstance(declared, Mapping) and declared.get("type"):
        return _of_type(declared["type"], models)
    return _of_type(declared, models)


def _of_type(given: object, models: Models) -> Visibility | None:
    if isinstance(given, list):
        return visibility_of(given[0], models) if given else None
    if isinstance(given, Mapping):
        return Visibility(hidden_properties(given), embedding_properties(given, models))
    if not isinstance(given, str) or given.lower() in NAMES:
        return None
    return models.get(given.lower())


def hidden_properties(declared: JsonObject) -> frozenset[str]:
    """Return the names of properties declared as hidden."""
    return frozenset(
        name
        for name, property_ in declared.items()
        if isinstance(property_, Mapping) and property_.get("hidden") in (True, "true")
    )
