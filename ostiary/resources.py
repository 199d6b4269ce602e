"""Resources: models as REST collections, their relations, hooks and own endpoints."""

from app.rest.added_relations import add_relation
from app.rest.collection import Collection, collection
from app.rest.hashing import computes_hash
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
from app.rest.rows.repository import Repository
from app.rest.views.collection import register_resource

__all__ = [
    "Collection",
    "DeleteEvent",
    "LoadEvent",
    "Relation",
    "Repository",
    "Resource",
    "SaveEvent",
    "add_relation",
    "belongs_to",
    "collection",
    "computes_hash",
    "embeds_many",
    "embeds_one",
    "has_many",
    "has_many_through",
    "has_one",
    "references_many",
    "register_resource",
]
