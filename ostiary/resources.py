"""Resources: models as REST collections, their relations, hooks and own endpoints."""

from app.rest.added_relations import add_relation
from app.rest.collection import get_resource
from app.rest.relations import (
    Relation,
    belongs_to,
    embeds_many,
    embeds_one,
    has_many,
    has_many_through,
    has_one,
    references_many,
)
from app.rest.resource import Resource
from app.rest.rows.hooks import DeleteEvent, LoadEvent, SaveEvent
from app.rest.rows.repository import Conditions, Repository, Row, Values
from app.rest.views.collection import register_resource

__all__ = [
    "Conditions",
    "DeleteEvent",
    "LoadEvent",
    "Relation",
    "Repository",
    "Resource",
    "Row",
    "SaveEvent",
    "Values",
    "add_relation",
    "belongs_to",
    "embeds_many",
    "embeds_one",
    "get_resource",
    "has_many",
    "has_many_through",
    "has_one",
    "references_many",
    "register_resource",
]
