"""What the endpoints of every collection take and give."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from flask import Flask
from werkzeug.exceptions import Conflict, HTTPException

from app.errors import InvalidFilter, ModelNotFound, TooDeep, ValidationError
from app.rest.relations import RelationEndpoints, relation_endpoints
from app.rest.resource import Resource

from . import Operation
from .schemas import Json, id_shape, model_name, ref


class Facts(NamedTuple):
    """The shapes of a method, by name: `{}` is the model's, `[...]` a list, `|` an alternative."""

    body: str | None
    answer: str | None
    # The structured parameter that it reads; `!` when it insists.
    query: str = ""
    # Whether the row can be missing.
    missing: bool = False
    # The method, of the target when it is a relation's, that the caller must be allowed as well.
    rule: str = ""


METHODS = {
    "create": Facts("New{} | [New{}]", "{} | [{}]"),
    "find": Facts(None, "[{}WithRelations]", "filter"),
    "patchOrCreate": Facts("{}Upsert", "{}", missing=True, rule="create"),
    "replaceOrCreate": Facts("{}Upsert", "{}", missing=True, rule="create"),
    "upsertWithWhere": Facts("{}Partial | New{}", "{}", "where!", missing=True, rule="create"),
    "findOne": Facts(None, "{}WithRelations", "filter", missing=True),
    "count": Facts(None, "Count", "where"),
    "updateAll": Facts("{}Partial", "Count", "where!"),
    "findById": Facts(None, "{}WithRelations", "filter", missing=True),
    "exists": Facts(None, "Exists", missing=True),
    "patchAttributes": Facts("{}Partial", "{}", missing=True),
    "replaceById": Facts("{}Replacement", "{}", missing=True),
    "deleteById": Facts(None, "Count", missing=True),
}
RELATION_METHODS = {
    "get": Facts(None, "[{}WithRelations]", "filter", missing=True, rule="find"),
    "create": Facts("New{}", "{}", missing=True, rule="create"),
    "count": Facts(None, "Count", "where", missing=True, rule="count"),
    "findById": Facts(None, "{}", missing=True, rule="findById"),
    "updateById": Facts("{}Partial", "{}", missing=True, rule="patchAttributes"),
    "destroyById": Facts(None, None, missing=True, rule="deleteById"),
}

NEXT_PAGE = {
    "Link": {
        "description": 'The next page, with `rel="next"`, when rows are left.',
        "schema": {"type": "string"},
    }
}


def describe_collections(app: Flask) -> dict[str, Operation]:
    """Describe the endpoints of the app's resources, and those of their relations."""
    resources: Mapping[str, Resource] = app.extensions["resources"]
    literal = (app.config["TOKEN_MIDDLEWARE"] or {}).get("currentUserLiteral")
    described = {}
    for name, resource in resources.items():
        arguments = {"id": id_shape(resource, literal)}
        words = {"row": resource.singular}
        for method, facts in METHODS.items():
            described[f"{name}.{method}"] = _operation(resource, facts, arguments, words)
        for relation in relation_endpoints(resource):
            target = resources[relation.target_name]
            described |= _of_relation(relation, target, arguments)
    return described


def _of_relation(
    relation: RelationEndpoints, target: Resource, arguments: Mapping[str, Json]
) -> dict[str, Operation]:
    arguments = {**arguments, "fk": id_shape(target, None)}
    words = {"row": target.singular, "parent": relation.parent.singular}
    return {
        f"{relation.parent.name}.__{method}__{relation.name}": _operation(
            target, facts, arguments, words
        )
        for method, facts in RELATION_METHODS.items()
    }


def _operation(
    resource: Resource, facts: Facts, arguments: Mapping[str, Json], words: Mapping[str, str]
) -> Operation:
    """Spell out the facts for a resource."""
    return Operation(
        body=_shape(facts.body, resource),
        answer=_shape(facts.answer, resource),
        headers=NEXT_PAGE if facts.answer == "[{}WithRelations]" else {},
        parameters=tuple(_parameters(facts.query, resource)),
        arguments=arguments,
        errors=tuple(_errors(facts, resource)),
        rules=((resource.name, facts.rule),) if facts.rule else (),
        words=words,
    )


def _shape(text: str | None, resource: Resource) -> Json | None:
    """Read the shapes that `Facts` names."""
    if text is None:
        return None
    shapes = [_one_shape(each, resource) for each in text.split(" | ")]
    return shapes[0] if len(shapes) == 1 else {"anyOf": shapes}


def _one_shape(text: str, resource: Resource) -> Json:
    if not text.startswith("["):
        return ref(text.format(model_name(resource)))
    items = {"type": "array", "items": _one_shape(text.strip("[]"), resource)}
    return {**items, "maxItems": resource.largest_create} if "New" in text else items


def _parameters(query: str, resource: Resource) -> Iterator[Json]:
    """Yield the structured parameter; without an example, so that it starts empty."""
    if query:
        name = query.strip("!")
        shape = f"{model_name(resource)}{name.capitalize()}"
        yield {
            "name": name,
            "in": "query",
            "required": query.endswith("!"),
            "description": f"JSON of the schema `{shape}`, or in brackets: `{name}[...]=...`.",
            "content": {"application/json": {"schema": ref(shape)}},
        }


def _errors(facts: Facts, resource: Resource) -> Iterator[HTTPException]:
    if facts.query:
        name = facts.query.strip("!")
        yield InvalidFilter(f"{name} must be an object.")
        yield TooDeep(f"{name} nests deeper than 12 levels.")
    if facts.body:
        required = [
            name for name, each in resource.create_shape.load_fields.items() if each.required
        ]
        yield ValidationError({name: ["can't be blank"] for name in required[:1]})
        yield Conflict("The change conflicts with one made at the same time.")
    if facts.missing:
        yield ModelNotFound(resource.singular, 7)
