"""The REST resource of to-dos, which only their owner may access."""

from collections.abc import Mapping
from typing import Any

from app.access.roles import ADMIN
from app.access.rules import AUTHENTICATED, OWNER, Rule, allow
from app.rest.relations import belongs_to
from app.rest.resource import Resource

from .models import Todo
from .schemas import TodoSchema


def rules(settings: Mapping[str, Any]) -> list[Rule]:
    """Users may create to-dos; only the owner and admins may do anything else."""
    return [allow(AUTHENTICATED, "create"), allow(OWNER), allow(ADMIN)]


todos = Resource(
    name="todos",
    singular="todo",
    model=Todo,
    schema=TodoSchema,
    rules=rules,
    owner=Todo.owner_id,
    relations={"owner": belongs_to("users", "owner_id")},
)
