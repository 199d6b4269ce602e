"""Other plurals for models whose names or paths are taken."""

from collections.abc import Mapping
from typing import NamedTuple

from app.definitions.bases import USER
from app.definitions.checks import RESERVED
from ostiary_loopback.application import Application, Model

USERS = "users"
# The path of users if another model is at theirs.
ACCOUNTS = "accounts"
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
    at_users = model_at_users(application)
    for model in _by_precedence(application):
        names = {model.plural.lower(), model.path.lower()}
        if not application.is_user(model) and (reasons := taken.keys() & names):
            reason = taken[min(reasons)]
            found[model.name] = other = _other(model, taken, reason, model is at_users)
            names = {other.plural.lower(), other.path.lower()}
        taken |= dict.fromkeys(names, f"{model.name} has this name")
    return found


def model_at_users(application: Application) -> Model | None:
    """Return the model that LoopBack 3 serves at the path `users`, if it serves no users there.

    A copy of LoopBack 3's file of User is about users.
    """
    at_users = [
        model
        for model in application.models.values()
        if model.is_public and model.path.lower() == USERS
    ]
    if any(application.is_user(model) or model.name == USER for model in at_users):
        return None
    return next(iter(at_users), None)


def free_path(application: Application) -> str:
    """Return a path for users that is neither the path nor the plural of a model."""
    taken = {
        name.lower() for model in application.models.values() for name in (model.path, model.plural)
    }
    path = ACCOUNTS
    while path in taken:
        path += ROWS.lower()
    return path


def _by_precedence(application: Application) -> list[Model]:
    """Return the models with a file: those of users first, and public ones before others."""
    models = [
        model for model in application.models.values() if model.definition and not model.is_copy
    ]
    return sorted(models, key=lambda model: (not application.is_user(model), not model.is_public))


def _other(model: Model, taken: Mapping[str, str], reason: str, keeps_path: bool) -> OtherPlural:
    plural = f"{model.name}{ROWS}"
    while plural.lower() in taken:
        plural += ROWS
    path = plural if model.path.lower() in taken and not keeps_path else model.path
    return OtherPlural(plural, path, reason)
