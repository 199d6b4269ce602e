"""The models that are served, and the caller's identity and permissions."""

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from flask import current_app
from sqlalchemy import Column

from app import errors
from app.access.identity import current_identity
from app.access.policy import find_grant
from app.access.rules import READ, Rule, UserPrincipal
from app.admin.calls import call
from app.admin.schemas import AccessSchema, CountedModelSchema, ModelSchema
from app.openapi import document_text
from app.openapi.filter_schemas import DocumentPart
from app.rest.collection import Collection, served_collections
from app.rest.endpoint import Endpoint, served_endpoints
from app.rest.filters.tree import OTHERS
from app.rest.relations import Relation
from app.users.accounts import lookup
from app.users.sessions.assurance import is_recent

if TYPE_CHECKING:
    from app.definitions.served import Model

# How the OpenAPI document refers to a schema.
REFERENCE = "#/components/schemas/"


@call(
    "access",
    READ,
    "GET /access",
    answer=AccessSchema,
    summary="Return who the caller is, and the methods of each model that it may call",
)
def access() -> dict[str, object]:
    """Return who the caller is, and the methods of each model that it may call."""
    identity = current_identity()
    session = identity.require_session()
    return {
        "user_id": session.user_id,
        "email": lookup.get_user(session.user_id).email,
        "roles": sorted(identity.roles),
        "is_strong": identity.is_strong,
        "is_recent": is_recent(session.digest),
        "methods": _permitted(),
    }


def _permitted() -> dict[str, list[str]]:
    """Return the methods that the caller may call, by the name of the model."""
    permitted = defaultdict[str, list[str]](list)
    for name, endpoint in served_endpoints.current.items():
        model, _, method = name.partition(".")
        if _may_call(model, endpoint):
            permitted[model].append(method)
    return {model: sorted(methods) for model, methods in sorted(permitted.items())}


def _may_call(model: str, endpoint: Endpoint) -> bool:
    """Return True if the caller may call a method; if it lists rows, not only on its own rows."""
    grant = find_grant(model, endpoint.method)
    is_of_row = any("<id>" in route.path for route in endpoint.routes)
    return bool(grant.decision) and (grant.decision.others or grant.by_row or is_of_row)


def served_models() -> dict[str, "Model"]:
    """Return the models that have rows and endpoints, by the names that rules have for them."""
    # Imported on first use: models in JSON take time to load, and not every service has any.
    find_models = import_module("app.definitions.served").find_models
    served = {name.partition(".")[0] for name in served_endpoints.current}
    collections = served_collections.current
    models = [model for model in find_models() if model.resource in served & collections.keys()]
    return {model.resource: model for model in models}


def describe(model: "Model", schemas: "DocumentSchemas") -> Mapping[str, object]:
    """Return the description of a model, without its rows."""
    collection = served_collections.current[model.resource]
    name = collection.model.__name__
    return {
        "name": collection.name,
        "path": collection.path,
        "singular": collection.singular,
        "id_name": collection.id_name,
        "schema": schemas.resolve(name),
        "create_schema": schemas.resolve(f"New{name}"),
        "owner": _owner(collection),
        "relations": [*_relations(collection)],
        "rules": _rules(collection),
        "file": model.file,
    }


@dataclass(frozen=True)
class DocumentSchemas:
    """The named schemas of the OpenAPI document."""

    named: Mapping[str, DocumentPart]

    @classmethod
    def read(cls) -> "DocumentSchemas":
        """Return the schemas of the current app."""
        return cls(json.loads(document_text.current())["components"]["schemas"])

    def resolve(self, name: str) -> DocumentPart:
        """Return a schema with its references replaced by the schemas that they name."""
        resolved: DocumentPart = self._resolve(self.named[name], (name,))
        return resolved

    def _resolve(self, part: object, within: tuple[str, ...]) -> Any:
        if isinstance(part, list):
            return [self._resolve(item, within) for item in part]
        if not isinstance(part, dict):
            return part
        if "$ref" not in part:
            return {key: self._resolve(value, within) for key, value in part.items()}
        name = part["$ref"].removeprefix(REFERENCE)
        # Where a schema contains itself, any value is allowed.
        return {} if name in within else self._resolve(self.named[name], (*within, name))


def _owner(collection: Collection) -> str | None:
    """Return the property that holds the id of a row's owner."""
    owner = collection.rows.owner
    return None if owner is None else _property(collection, owner.key)


def _property(collection: Collection, attribute: str) -> str:
    """Return the property of an attribute; the attribute itself if clients do not see it."""
    shown: Mapping[str, Column[Any]] = collection.properties
    return next((name for name, column in shown.items() if column.key == attribute), attribute)


def _relations(collection: Collection) -> Iterator[Mapping[str, object]]:
    for name, relation in collection.relations.items():
        yield {
            "name": name,
            "type": relation.kind,
            "model": relation.target or None,
            "foreign_key": _foreign_key(collection, relation),
            "many": relation.many,
            "filterable": _filterable(collection, name),
        }


def _filterable(collection: Collection, relation: str) -> list[str]:
    """Return the properties of a relation's rows that filters may use; empty if they use none."""
    models = dict(collection.filtered_model.usable([relation])).values()
    return [name for model in models for name in model.properties if name != OTHERS]


def _foreign_key(collection: Collection, relation: Relation) -> str:
    """Return the property of the foreign key, in the model that has it."""
    if relation.through is not None:
        return relation.foreign_key
    target = served_collections.current.get(relation.target, collection)
    holder = collection if relation.has_own_key else target
    return _property(holder, relation.foreign_key)


def _rules(collection: Collection) -> list[Mapping[str, object]]:
    """Return the rules in effect, in LoopBack's form."""
    replaced = (current_app.config["ACLS"] or {}).get(collection.name)
    if replaced is not None:
        return list(replaced)
    return [*map(_rule, collection.resource.all_rules(current_app.config))]


def _rule(rule: Rule) -> Mapping[str, object]:
    principal = rule.principal
    if isinstance(principal, UserPrincipal):
        who: Mapping[str, object] = {"principalType": "USER", "principalId": principal.id}
    else:
        who = {"principalType": "ROLE", "principalId": principal}
    return {
        **who,
        "permission": "ALLOW" if rule.allow else "DENY",
        "accessType": rule.access,
        "property": sorted(rule.properties),
    }


@call(
    "findModels",
    READ,
    "GET /models",
    answer=[ModelSchema],
    summary="List the models that are served: their schemas, relations and rules",
)
def find_models() -> Sequence[Mapping[str, object]]:
    """List the models that are served: their schemas, relations and rules."""
    schemas = DocumentSchemas.read()
    return [describe(model, schemas) for model in served_models().values()]


@call(
    "findModelById",
    READ,
    "GET /models/<name>",
    answer=CountedModelSchema,
    errors=(errors.ModelNotFound("model", "todos"), errors.RemoteError(500)),
    summary="Show a model, with the number of its rows",
)
def find_model(name: str) -> Mapping[str, object]:
    """Show a model, with the number of its rows."""
    model = served_models().get(name)
    if model is None:
        raise errors.ModelNotFound("model", name)
    rows = None if model.collection is None else model.collection.rows.count([])
    return {**describe(model, DocumentSchemas.read()), "rows": rows}
