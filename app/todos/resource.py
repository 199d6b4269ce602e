"""To-dos as REST endpoints: private to their owner."""

from collections.abc import Mapping
from typing import Any

from app.access.roles import ADMIN
from app.access.rules import AUTHENTICATED, OWNER, Rule, allow
from app.rest.resource import Relation, Resource

from .models import Todo
from .schemas import TodoSchema


def rules(settings: Mapping[str, Any]) -> list[Rule]:
    """Whoever is logged in may create; everything else is the owner's, or an admin's."""
    return [allow(AUTHENTICATED, "create"), allow(OWNER), allow(ADMIN)]


todos = Resource(
    name="todos",
    singular="todo",
    model=Todo,
    schema=TodoSchema,
    rules=rules,
    owner=Todo.owner_id,
    relations={"owner": Relation("users", foreign_key="owner_id", many=False)},
)
