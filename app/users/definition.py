"""What a model in JSON says of users."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from app.access.rules import Rule
from app.properties.properties import Property
from app.rest.relations import Relation


@dataclass(frozen=True)
class UsersDefinition:
    """What a model with `base: "User"` says of users, beside USERS_PATH and USER_PROPERTIES.

    It is `app.extensions["users_definition"]` before users are registered.
    """

    # In addition to those of `resource.py`.
    relations: Mapping[str, Relation] = field(default_factory=dict)
    # In addition to USER_PROPERTIES: those that hold the ids of other models, and the relations by
    # which these ids are checked if none of `relations` does it.
    keys: Sequence[Property] = ()
    foreign_keys: Sequence[Relation] = ()
    # In addition to those of `resource.py`, as LoopBack 3 adds rules to those of its User.
    rules: Sequence[Rule] | None = None
    # Properties that never leave the service, also some of every user.
    hidden: frozenset[str] = frozenset()
    # Methods that are switched off and on.
    shared_methods: Mapping[str, bool] = field(default_factory=dict)
    # Whether users have endpoints, and whether `PUT` replaces their record.
    is_public: bool = True
    replaces_on_put: bool = True
    # What errors and the document call a user.
    singular: str = "user"
