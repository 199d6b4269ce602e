"""The operations of the OpenAPI document of the new service that only read."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from app.problems import ConfigurationError

from .calls import Call
from .documented import Context

_LINK = "/rel/{fk}"
_METHODS = re.compile(r"find|findById|findOne|count|exists|__(get|count|findById)__.+")
_RELATION = re.compile(r"__[A-Za-z]+__")
_OWN_ROWS = ("find", "findOne", "count")
# The name of users in the document, whatever their path is, and those of the schemas of roles.
_USERS = "users"
_ROLES = {"Role", "RoleMapping"}
# The end of the names of schemas of rows that may have related rows.
_WITH_RELATIONS = "WithRelations"
_REFERENCE = "#/components/schemas/"
# The end of the description of an operation that only administrators may call, and that of one that
# owners may call, too.
_ONLY_ADMINS = "For the role `admin`."
_ADMINS = (_ONLY_ADMINS, "For the owner and the role `admin`.")
# Methods that LoopBack 3 does not have.
_ADDED_METHODS = {"__get__audit"}
Schema = Mapping[str, Any]


@dataclass(frozen=True)
class Operation:
    """A GET operation of the document."""

    path: str
    model: str
    method: str
    # Whether the rules allow it for the caller's own rows.
    is_owners: bool
    # Whether it is one of a model of users, and the rules allow it for administrators.
    is_admins: bool
    # The name of the schema of its filters: that of the model that it reads.
    schema: str
    properties: Mapping[str, Schema]
    relations: Sequence[str]
    # The names of the schemas of the rows in its answer, and the property with their ids.
    answers: frozenset[str]
    id_name: str

    @property
    def name(self) -> str:
        """The name of the method, without that of its relation."""
        relation = _RELATION.match(self.method)
        return relation[0] if relation else self.method

    @property
    def relation(self) -> str | None:
        """The name of the relation whose row or rows it reads, or None."""
        return self.method.removeprefix("__get__") if self.name == "__get__" else None


class Document:
    """The operations of an OpenAPI document that only read."""

    def __init__(self, document: object) -> None:
        """Raise ConfigurationError if it is not a document of Ostiary."""
        try:
            self.operations = list(_operations(document))
        except (AttributeError, KeyError, TypeError, ValueError):
            raise ConfigurationError("the new service's openapi.json is not Ostiary's") from None
        lists = [entry for entry in self.operations if entry.method == "find"]
        # The path of the list of the rows of a schema.
        self.lists = {entry.schema: entry.path for entry in lists}
        models = set(_users_models(document))
        of_users = [entry for entry in lists if entry.model in models]
        self._users = frozenset[str]().union(*(entry.answers for entry in of_users))
        leading = list(_leading(document))
        self._context = Context(
            id_names=sorted({entry.id_name for entry in self.operations} - {"id"}),
            users_paths=[entry.path for entry in of_users],
            admins_path=_admins_path(document),
            user_relations=frozenset(name for name, schemas in leading if schemas & self._users),
            role_relations=frozenset(name for name, schemas in leading if _ROLES & schemas),
            linked=frozenset(_linked(document)),
        )
        self._by_segments = [(_segments(entry.path), entry) for entry in self.operations]

    def operation(self, path: str) -> Operation | None:
        """Return the operation that a path calls, if there is one: words precede arguments."""
        segments = _segments(path)
        matching = [
            (sum(part.startswith("{") for part in pattern), entry)
            for pattern, entry in self._by_segments
            if len(pattern) == len(segments) and all(map(_matches, pattern, segments))
        ]
        return min(matching, key=lambda each: each[0])[1] if matching else None

    def context(self, call: Call) -> Context:
        """Return the facts about a call."""
        entry = self.operation(call.path)
        if entry is None:
            return self._context
        is_existence = entry.method == "exists" or (call.verb, entry.method) == ("HEAD", "findById")
        return self._context._replace(
            is_own_rows=entry.is_owners and entry.method in _OWN_ROWS,
            is_own_record=entry.model == _USERS and is_existence,
            is_admins=entry.is_admins,
            is_first=entry.method == "findOne",
            is_list=entry.method == "find",
            is_users=bool(entry.answers & self._users),
            id_name=entry.id_name,
            relations=frozenset(entry.relations),
            list_path=self.lists.get(entry.schema),
        )


def _segments(path: str) -> list[str]:
    return path.strip("/").split("/")


def _matches(pattern: str, segment: str) -> bool:
    return pattern.startswith("{") or pattern.lower() == segment.lower()


def _operations(document: Any) -> Iterator[Operation]:
    schemas = document["components"]["schemas"]
    id_names = dict(_id_names(document))
    users = set(_users_models(document))
    for path, item in document["paths"].items():
        described = item.get("get")
        if described is None:
            continue
        model, _, name = described["operationId"].partition(".")
        method = name.removesuffix("__get") or name
        if not _METHODS.fullmatch(method) or method in _ADDED_METHODS:
            continue
        parameters = _own_parameters(described)
        schema, where, relations = _filter_schemas(parameters, schemas)
        if method.startswith("__get__") and not any(each["name"] == "count" for each in parameters):
            # LoopBack 3 has no filter for a relation to one row.
            relations = []
        who = described.get("description", "")
        answers = _schemas_of(described["responses"].get("200", {}))
        yield Operation(
            path,
            model,
            method,
            is_owners="For the owner" in who,
            is_admins=model in users and who.endswith(_ADMINS),
            schema=schema,
            properties=where,
            relations=relations,
            answers=answers,
            id_name=next((id_names[name] for name in answers if name in id_names), "id"),
        )


def _admins_path(document: Any) -> str | None:
    """Return a path without arguments that only administrators may call, if there is one."""
    for path, item in document["paths"].items():
        who = item.get("get", {}).get("description", "")
        if "{" not in path and who.endswith(_ONLY_ADMINS):
            return str(path)
    return None


def _users_models(document: Any) -> Iterator[str]:
    """Yield the names of the models of users: those with a login."""
    for item in document["paths"].values():
        model, _, method = item.get("post", {}).get("operationId", "").partition(".")
        if method == "login":
            yield model


def _own_parameters(described: Schema) -> list[Schema]:
    """Return the parameters of an operation, except the headers that operations share."""
    return [each for each in described.get("parameters", ()) if "$ref" not in each]


def _schemas_of(described: object) -> frozenset[str]:
    """Return the names of the schemas of rows that a response, or a property, refers to."""
    text = json.dumps(described)
    return frozenset(
        name.removesuffix(_WITH_RELATIONS) for name in re.findall(rf'"{_REFERENCE}(\w+)"', text)
    )


def _leading(document: Any) -> Iterator[tuple[str, frozenset[str]]]:
    """Yield the names of relations, each with the names of the schemas of its rows."""
    for name, schema in document["components"]["schemas"].items():
        if name.endswith(_WITH_RELATIONS):
            for relation, described in schema["properties"].items():
                yield relation, _schemas_of(described)


def _id_names(document: Any) -> Iterator[tuple[str, str]]:
    """Yield the names of schemas of rows, each with that of the property that has the id."""
    schemas = document["components"]["schemas"]
    for item in document["paths"].values():
        described = item.get("get", {})
        if not described.get("operationId", "").endswith(".findById"):
            continue
        parameters = _own_parameters(described)
        [id_schema] = [each["schema"] for each in parameters if each["in"] == "path"]
        for name in _schemas_of(described["responses"]["200"]):
            properties = schemas[name]["properties"]
            if "id" not in properties:
                found = [key for key in properties if _is_id(properties[key], id_schema)]
                yield name, found[0] if len(found) == 1 else "id"


def _is_id(schema: Schema, id_schema: Schema) -> bool:
    """Return True if the schema of a property is that of the ids in paths."""
    plain = {key: value for key, value in schema.items() if key not in ("readOnly", "examples")}
    return schema.get("readOnly", False) and plain == id_schema


def _linked(document: Any) -> Iterator[str]:
    """Yield the names of relations through a third model."""
    for path in document["paths"]:
        if path.endswith(_LINK):
            yield path.removesuffix(_LINK).rpartition("/")[2]


def _filter_schemas(parameters: Sequence[Schema], schemas: Schema) -> tuple[str, Schema, list[str]]:
    """Return the name of the schema, the properties of `where`, the relations of `include`."""
    for parameter in parameters:
        reference = parameter["schema"].get("contentSchema", {}).get("$ref")
        if reference:
            name = reference.rpartition("/")[2]
            schema = schemas[name]
            if parameter["name"] == "where":
                return name, schema["properties"], []
            where = schemas[schema["properties"]["where"]["$ref"].rpartition("/")[2]]
            return name, where["properties"], _relations(schema["properties"]["include"])
    return "", {}, []


def _relations(include: Schema) -> list[str]:
    for choice in include["items"].get("anyOf", ()):
        if "enum" in choice:
            return list(choice["enum"])
    return []
