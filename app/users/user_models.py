"""The models of users of an app: one, or several, as LoopBack 3 allows several that extend User.

All accounts are in one table, whose column `principal_type` says which model a user belongs to.
"""

from collections import ChainMap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from flask import current_app, has_app_context

from app.access.policy import principal_types
from app.settings import Settings
from app.state import AppState

if TYPE_CHECKING:
    # Only imported if users have additional properties, because it takes time to load.
    from app.properties.properties import Property

# The `principal_type` of the first model, whatever its name is.
FIRST = ""


@dataclass(frozen=True)
class UserModel:
    """A model of users: its names, and what its users have of their own."""

    # The value of `principal_type` of its users.
    principal_type: str = FIRST
    # The name of the model, LoopBack 3's `principalType`, and the name of its resource.
    name: str = "user"
    resource: str = "users"
    # The properties in addition to those of every user.
    properties: "Sequence[Property]" = ()
    # The settings that differ from the app's.
    settings: Mapping[str, object] = field(default_factory=dict)


# By `principal_type`.
user_models = AppState[dict[str, UserModel]](
    "models of users", factory=lambda _app: {FIRST: UserModel()}
)


def has_several() -> bool:
    """Return True if the app has several models of users; False outside of an app."""
    return has_app_context() and len(principal_types.current) > 1


def properties_of(principal_type: str) -> "Sequence[Property]":
    """Return the properties that users of a model have in addition to those of every user."""
    return user_models.current[principal_type].properties


def settings_of(principal_type: str) -> Settings:
    """Return the settings that apply to the users of a model."""
    own = user_models.current[principal_type].settings
    return ChainMap(dict(own), current_app.config) if own else current_app.config


def find_principal_type(name: str | None) -> str:
    """Return the `principal_type` of a model by its name, in any case; None is the first model.

    Raises LookupError for an unknown name, with the known ones.
    """
    models = user_models.current.values()
    for model in models:
        if name is None or name.lower() == model.name.lower():
            return model.principal_type
    known = ", ".join(model.name for model in models)
    raise LookupError(f"there is no model of users {name}; there are {known}")


def key_prefix(principal_type: str) -> tuple[str, ...]:
    """Return what the keys of throttles for names of a model begin with; nothing for the first."""
    return (principal_type,) if principal_type else ()
