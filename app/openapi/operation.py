"""The OpenAPI operation of one verb of one route."""

import json
import re
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any

import marshmallow
from flask import Flask
from marshmallow.fields import Raw
from werkzeug.exceptions import (
    Conflict,
    HTTPException,
    InternalServerError,
    RequestEntityTooLarge,
    RequestURITooLarge,
    UnsupportedMediaType,
)
from werkzeug.routing import Rule

from app import errors
from app.access.policy import CREATE
from app.access.rules import READ
from app.error_responses import error_body
from app.errors import (
    BLANK,
    OVERTAKEN,
    InvalidFilter,
    ModelNotFound,
    TooDeep,
    TooManyHashes,
    ValidationError,
)
from app.rest.collection import Collection, served_collections
from app.rest.endpoint import Endpoint, SchemaSpec
from app.rest.requests.bodies import MAX_DEPTH as MAX_BODY_DEPTH
from app.rest.requests.parameters import MAX_DEPTH
from app.rest.views.lists import LINK, TOTAL_COUNT
from app.rest.writing import hashed_property

from .common_schemas import any_of, ref
from .examples import examples_of
from .filter_schemas import DocumentPart
from .schemas import Schemas, id_schema, model_name
from .security import Security, find_links
from .tags import NOT_MODIFIED, TAG_HEADER, is_tagged_read, precondition_parameters, tag_errors

RETRY_AFTER = {
    "Retry-After": {
        "description": "Whole seconds until the next attempt.",
        "schema": {"type": "integer", "minimum": 1},
    }
}
# The errors of any operation.
SERVICE_ERRORS = (
    RequestURITooLarge(),
    InternalServerError(),
    errors.TemporarilyUnavailable(),
    errors.DatabaseTimeout(),
)
BODILESS = ("GET", "DELETE")
ARGUMENT = re.compile(r"<(?:[^<>:]+:)?(\w+)>")
COUNT: DocumentPart = {
    "name": "count",
    "in": "query",
    "description": f"Whether the answer has `{TOTAL_COUNT}`, which takes one more query.",
    "schema": {"type": "boolean", "default": False},
}
PAGE_HEADERS = {
    LINK: {
        "description": 'The next page, with `rel="next"`, when rows are left.',
        "schema": {"type": "string"},
    },
    TOTAL_COUNT: {
        "description": "The number of rows of all pages, with `count=true`.",
        "schema": {"type": "integer", "minimum": 0},
    },
}
PART = "The part that `Range` asks for."
UNCHANGED: DocumentPart = {"description": "The client has it already."}
REDIRECT: DocumentPart = {
    "description": "Done, with the address that `redirect` asked for.",
    "headers": {"Location": {"schema": {"type": "string"}}},
}


def body_errors() -> list[HTTPException]:
    """Return the errors of any request body."""
    return [
        errors.MalformedBody("The body must be a JSON object."),
        TooDeep(f"It nests deeper than {MAX_BODY_DEPTH} levels."),
        RequestEntityTooLarge(),
        UnsupportedMediaType("Send the body with Content-Type: application/json."),
    ]


def schema_errors(body: object) -> Iterator[HTTPException]:
    """Yield the error for a body that a schema refuses, unless it accepts any object."""
    if not isinstance(body, type) or not issubclass(body, marshmallow.Schema):
        return
    schema = body()
    fields = [field for field in schema.load_fields.values() if not isinstance(field, Raw)]
    if fields or schema.unknown == marshmallow.RAISE:
        names = [field.data_key or str(field.name) for field in fields] or ["property"]
        yield ValidationError({names[0]: [BLANK]})


def responses(
    errors_: Iterable[HTTPException], shared: dict[str, DocumentPart]
) -> dict[str, DocumentPart]:
    """Return the responses of these errors and of SERVICE_ERRORS, by status.

    Most operations have the same responses, so they are added to `shared` and referred to.
    """
    ranked = sorted([*errors_, *SERVICE_ERRORS], key=_status)
    by_status = {str(status): _response(list(found)) for status, found in groupby(ranked, _status)}
    return {status: _share(status, response, shared) for status, response in by_status.items()}


def _status(error: HTTPException) -> int:
    return error.code or 0


def _share(status: str, response: DocumentPart, shared: dict[str, DocumentPart]) -> DocumentPart:
    codes = response["content"]["application/json"].get("examples", {})
    name = ".".join([status, *codes])
    if shared.setdefault(name, response) != response:
        return response
    return {"$ref": f"#/components/responses/{name}"}


def _response(errors_: list[HTTPException]) -> DocumentPart:
    """Return the response of a status, with the description and an example of each code."""
    bodies: dict[str, Any] = {}
    descriptions: dict[str, str] = {}
    for error in errors_:
        example = error_body(error)
        code = example["error"].get("code", example["error"]["name"])
        bodies.setdefault(code, {"value": example})
        descriptions.setdefault(code, f"`{code}`: {example['message']}")
    is_temporary = all(getattr(error, "retry_after", None) for error in errors_)
    return {
        "description": "  \n".join(descriptions.values()),
        **({"headers": RETRY_AFTER} if is_temporary else {}),
        "content": {"application/json": {"schema": ref("ErrorResponse"), "examples": bodies}},
    }


class EndpointOperation:
    """Describes one of an endpoint's routes."""

    def __init__(self, app: Flask, rule: Rule, verb: str, endpoint: Endpoint) -> None:
        resources = served_collections.of(app)
        self._tag = rule.endpoint.partition(".")[0]
        self._resource = resources.get(self._tag)
        # The resource of the body and the response; a relation's target.
        self._subject = resources.get(endpoint.subject or self._tag)
        self._links = find_links(app, endpoint)
        self._answers = [resources[name] for name in endpoint.answers]
        self._literal = (app.config["TOKEN_MIDDLEWARE"] or {}).get("currentUserLiteral")
        # In the order of the path.
        self._arguments = ARGUMENT.findall(rule.rule)
        takes_literal = bool(self._literal) and self._is_owner_id()
        self._security = Security(app, rule.endpoint, endpoint, self._is_owner_id(), takes_literal)
        self._verb = verb
        self._endpoint = endpoint

    def describe(self, schemas: Schemas, shared: dict[str, DocumentPart]) -> DocumentPart:
        """Return the operation; add common responses to `shared`."""
        body, failures = self._body(schemas), responses(self.errors(), shared)
        described = {
            "tags": [self._tag],
            **self._texts(),
            "parameters": [
                *self._path_parameters(),
                *self._query_parameters(schemas),
                *self._endpoint.parameters,
                *precondition_parameters(self._endpoint, self._verb),
            ],
            "responses": {**self._success(schemas), **failures},
            "security": self._security.requirements(),
        }
        if keys := self._keys_set_by_path():
            described["x-set-by-path"] = keys
        return {**described, "requestBody": body} if body else described

    def _keys_set_by_path(self) -> list[str]:
        """Return the properties of a new row that the relation in the path sets."""
        relation = self._endpoint.relation
        if relation is None or relation.through or self._endpoint.requires != CREATE:
            return []
        columns = self._subject.properties.items() if self._subject else ()
        return [name for name, column in columns if column.key in relation.attributes]

    def _checks_row(self) -> bool:
        """Return True if callers get another error for rows that they may read but not change."""
        own = self._resource.resource.own_endpoints if self._resource else ()
        is_own = any(self._endpoint.method == endpoint.method for endpoint in own)
        return self._endpoint.finds_row and (is_own or self._endpoint.access != READ)

    def _is_owner_id(self) -> bool:
        """Return True if the id in the path is a user's, so that other users are denied."""
        is_owner_model = self._resource is not None and self._resource.is_owner_model
        return is_owner_model and "id" in self._arguments

    def _texts(self) -> DocumentPart:
        """Return summary and description, as declared and from the rules."""
        sentences = (self._named(self._endpoint.description), self._security.description())
        return {
            "summary": self._named(self._endpoint.summary),
            "description": "\n\n".join(filter(None, sentences)),
        }

    def _named(self, text: str) -> str:
        """Return a declared text with the names of the rows that it is about."""
        for word, resource in (("{row}", self._subject), ("{parent}", self._resource)):
            name = resource.singular if resource else "row"
            if name[0] in "aeioAEIO":
                # "a user", but "an order".
                text = re.sub(rf"\ba {re.escape(word)}", f"an {word}", text)
            text = text.replace(word, name)
        return text

    def _path_parameters(self) -> Iterator[DocumentPart]:
        for name in self._arguments:
            schema = self._argument(name)
            yield {
                "name": name,
                "in": "path",
                "required": True,
                "schema": {key: value for key, value in schema.items() if key != "examples"},
                **({"example": schema["examples"][0]} if "examples" in schema else {}),
            }

    def _argument(self, name: str) -> DocumentPart:
        """Return the schema of a path argument: a row's id, or the declared one."""
        if name in self._endpoint.arguments:
            schema: DocumentPart = self._endpoint.arguments[name]
            return schema
        if name == "id" and self._resource is not None:
            return id_schema(self._resource, self._literal)
        if name == "fk" and self._subject is not None:
            return id_schema(self._subject, None)
        return {"type": "string"}

    def _query_parameters(self, schemas: Schemas) -> Iterator[DocumentPart]:
        """Yield the structured parameter, and `count` for lists."""
        if self._endpoint.query and self._subject is not None:
            name = self._endpoint.query.strip("!")
            form = self._endpoint.query_form or name
            resources = self._answers or [self._subject]
            names = [f"{model_name(each)}{form.capitalize()}" for each in resources]
            new_row = schemas.named[f"New{model_name(resources[0])}"]["examples"][0]
            quoted = " or ".join(f"`{each}`" for each in names)
            required = self._endpoint.query.endswith("!")
            # Not a separate parameter: generated clients would rename both.
            header = "" if required else f" Without it, the header `{name}` may have the JSON."
            yield {
                "name": name,
                "in": "query",
                "required": required,
                "description": f"JSON of the schema {quoted}, or in brackets: `{name}[...]=...`."
                + header,
                # A string, because most client generators do not support `content` here.
                "schema": {
                    "type": "string",
                    "contentMediaType": "application/json",
                    "contentSchema": any_of(names),
                },
                "examples": {
                    example: {"value": json.dumps(value)}
                    for example, value in examples_of(form, resources[0], new_row).items()
                },
            }
        if self._endpoint.has_pages:
            yield COUNT

    @property
    def _has_body(self) -> bool:
        return self._endpoint.body is not None and self._verb not in BODILESS

    def _body(self, schemas: Schemas) -> DocumentPart | None:
        if self._endpoint.makes_link and self._endpoint.relation:
            schema = schemas.of_link(self._endpoint.relation, self._links)
            return {"required": False, "content": {self._endpoint.body_type: {"schema": schema}}}
        if not self._has_body:
            return None
        schema = schemas.of_body(self._endpoint.body, self._subject)
        content = {self._endpoint.body_type: {"schema": schema}}
        if self._endpoint.upload_type and self._subject:
            content[self._endpoint.upload_type] = {"schema": schemas.of_form(self._subject)}
        return {"required": True, "content": content}

    def _success(self, schemas: Schemas) -> dict[str, DocumentPart]:
        answer = self._endpoint.answer
        if not self._endpoint.has_content:
            if self._endpoint.is_deferred:
                return {"202": {"description": "Accepted: it is done after this response."}}
            done = {"204": {"description": "Done, without content."}}
            return {**done, "302": REDIRECT} if self._endpoint.redirects else done
        schema = self._answer(answer, schemas)
        success: DocumentPart = {
            "description": "Done.",
            "content": {self._endpoint.answer_type: {"schema": schema}},
        }
        if self._endpoint.has_pages:
            success["headers"] = PAGE_HEADERS
        if self._endpoint.answers_row:
            success["headers"] = TAG_HEADER
        if self._endpoint.sends_file:
            return {"200": success, "206": {**success, "description": PART}, "304": UNCHANGED}
        if self._endpoint.is_conditional:
            return {"200": success, "304": UNCHANGED}
        not_modified = NOT_MODIFIED if is_tagged_read(self._endpoint, self._verb) else {}
        return {"200": success, **not_modified}

    def _answer(self, answer: SchemaSpec, schemas: Schemas) -> DocumentPart:
        if answer is None:
            return {"type": "string"}
        if not self._endpoint.answers or not isinstance(answer, str):
            return schemas.of_answer(answer, self._subject)
        return any_of(answer.format(model_name(resource)) for resource in self._answers)

    def errors(self) -> Iterator[HTTPException]:
        """Yield the errors of the endpoint, besides those of any operation."""
        yield from self._endpoint.errors
        if self._subject is not None:
            yield from self._subject.resource.errors.get(self._endpoint.requires, ())
        if hashed_property(self._endpoint, self._subject) is not None:
            yield TooManyHashes()
        yield from tag_errors(self._endpoint, self._verb)
        yield from self._security.errors(self._verb, self._checks_row())
        if self._resource is not None:
            yield from self._row_errors(self._resource)
        # Logout reads a body for every verb.
        takes_body = self._endpoint.body is not None or self._endpoint.makes_link
        if takes_body and (self._endpoint.upload_type or not self._endpoint.max_upload):
            yield from body_errors()
            yield from schema_errors(self._endpoint.body)

    def _row_errors(self, resource: Collection) -> Iterator[HTTPException]:
        """Yield the errors of the filter, the body's values and the row id."""
        subject = self._subject or resource
        if self._endpoint.query:
            name = self._endpoint.query.strip("!")
            yield InvalidFilter(f"{name} must be an object.")
            yield TooDeep(f"{name} nests deeper than {MAX_DEPTH} levels.")
        if isinstance(self._endpoint.body, str):
            required = [
                name for name, field in subject.create_schema.load_fields.items() if field.required
            ]
            yield ValidationError({name: [BLANK] for name in required[:1]})
            yield Conflict(OVERTAKEN)
            yield from _limit_errors(subject)
        if self._endpoint.makes_link:
            yield ValidationError({})
            yield Conflict(OVERTAKEN)
            yield from _limit_errors(self._links)
        if self._endpoint.finds_row:
            yield ModelNotFound(subject.singular, subject.id_form.example)


def _limit_errors(written: Collection | None) -> Iterable[HTTPException]:
    """Return the errors of the limits of a model whose rows an endpoint writes."""
    return written.limits.examples() if written and written.limits else ()
