"""The current app's users: their collection, their model, and additional properties."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from app.errors import BLANK, ValidationError
from app.rest.collection import Collection, served_collections
from app.rest.rows.values import Values
from app.state import AppState

from .models import User

if TYPE_CHECKING:
    # Only imported if users have additional properties, because it takes time to load.
    from app.properties.properties import Property

# The properties in USER_PROPERTIES.
user_properties: "AppState[Sequence[Property]]" = AppState(
    "properties of users", factory=lambda _app: ()
)


def users_collection() -> Collection:
    """Return the users served by this app."""
    return served_collections.current["users"]


def user_model() -> type[User]:
    """Return the model: `User`, or a subclass with the properties of USER_PROPERTIES."""
    return users_collection().model


def with_defaults(values: Values) -> Values:
    """Return a new user's values by attribute, completed by defaults.

    Raises ValidationError for required properties without a value.
    """
    defaults = {
        declared.column_name: declared.default() if declared.default else None
        for declared in user_properties.current
    }
    complete = defaults | values
    missing = {
        declared.name: [BLANK]
        for declared in user_properties.current
        if declared.required and complete[declared.column_name] is None
    }
    if missing:
        raise ValidationError(missing)
    return complete
