"""The REST resource of to-dos, which only their owner may access."""

from collections.abc import Mapping

from flask import Flask

from app.access.roles import ADMIN
from app.access.rules import AUTHENTICATED, OWNER, Rule, allow
from app.rest.collection import replaced_by_others
from app.rest.relations import belongs_to, has_many
from app.rest.resource import Resource
from app.rest.served_relations import add_relation
from app.rest.views.registration import register_resource

from .models import Todo
from .schemas import TodoSchema

# The methods of to-dos below a user's own path.
OWNER_METHODS = (
    "__get__todos",
    "__create__todos",
    "__count__todos",
    "__aggregate__todos",
    "__findById__todos",
    "__updateById__todos",
    "__destroyById__todos",
    "__delete__todos",
)


def rules(settings: Mapping[str, object]) -> list[Rule]:
    """Users may create to-dos; only the owner and admins may do anything else."""
    return [allow(AUTHENTICATED, "create"), allow(OWNER), allow(ADMIN)]


todos = Resource(
    name="todos",
    singular="todo",
    description="A to-do of its owner.",
    model=Todo,
    schema=TodoSchema,
    rules=rules,
    owner=Todo.owner_id,
    relations={"owner": belongs_to("users", "owner_id")},
)


def init_app(app: Flask) -> None:
    """Serve to-dos, if SAMPLE_TODOS is set and no model in JSON replaces them."""
    if app.config["SAMPLE_TODOS"] and not replaced_by_others.of(app)(todos):
        register_resource(app, todos)
        rules_of_users = [allow(OWNER, *OWNER_METHODS)]
        add_relation(app, "users", "todos", has_many("todos", "owner_id"), rules_of_users)
