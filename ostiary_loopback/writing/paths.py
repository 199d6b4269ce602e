"""Other plurals for models whose names or paths are taken."""

from collections.abc import Mapping
from typing import NamedTuple

from app.definitions.checks import RESERVED
from ostiary_loopback.application import Application, Model

USERS = "users"
# The suffix of the plural of a model whose own one, or whose path, is taken.
ROWS = "Rows"


class OtherPlural(NamedTuple):
    """The plural and the path of a model, and why its own plural or path is not possible."""

    plural: str
    path: str
    reason: str


def other_plurals(application: Application) -> Mapping[str, OtherPlural]:
    """Return the other plurals of models, by their names.

    In LoopBack 3, models may share a path: the first of model-config.json answers what they have
    in common. It keeps its path here; users do, and public models before others.
    """
    taken = dict.fromkeys(RESERVED, "Ostiary's own pages have this name")
    taken[USERS] = "Ostiary's own users have this name"
    found = dict[str, OtherPlural]()
    models = [model for model in application.models.values() if model.definition]
    models.sort(key=lambda model: (not application.is_user(model), not model.is_public))
    for model in models:
        names = {model.plural.lower(), model.path.lower()}
        if not application.is_user(model) and (reasons := taken.keys() & names):
            found[model.name] = other = _other(model, taken, taken[min(reasons)])
            names = {other.plural.lower(), other.path.lower()}
        taken |= dict.fromkeys(names, f"{model.name} has this name")
    return found


def _other(model: Model, taken: Mapping[str, str], reason: str) -> OtherPlural:
    plural = f"{model.name}{ROWS}"
    while plural.lower() in taken:
        plural += ROWS
    path = plural if model.path.lower() in taken else model.path
    return OtherPlural(plural, path, reason)
