"""The OpenAPI operation of one verb of one route."""

import inspect
import json
import re
from collections.abc import Iterator

from flask import Flask
from werkzeug.exceptions import Conflict, HTTPException
from werkzeug.routing import Rule

from app.errors import (
    BLANK,
    InvalidFilter,
    ModelNotFound,
    PreconditionFailed,
    TooDeep,
    TooManyHashes,
    ValidationError,
)
from app.rest.collection import Collection, served_collections
from app.rest.endpoint import Endpoint, SchemaSpec
from app.rest.hashing import hashed_property
from app.rest.requests.parameters import MAX_DEPTH
from app.rest.requests.preconditions import IF_MATCH
from app.rest.views.paging import LINK, TOTAL_COUNT

from .responses import body_errors, responses
from .schemas import Json, Schemas, any_of, id_schema, model_name, ref
from .security import Security, find_links
from .tags import NOT_MODIFIED, TAG_HEADER, is_tagged_read, precondition_parameters

BODILESS = ("GET", "DELETE")
ARGUMENT = re.compile(r"<(?:[^<>:]+:)?(\w+)>")
COUNT: Json = {
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
REDIRECT: Json = {
    "description": "Done, with the address that `redirect` asked for.",
    "headers": {"Location": {"schema": {"type": "string"}}},
}


class EndpointOperation:
    """Describes an endpoint at one of its routes."""

    def __init__(self, app: Flask, rule: Rule, verb: str, endpoint: Endpoint) -> None:
        resources = served_collections.of(app)
        self._tag = rule.endpoint.partition(".")[0]
        self._resource = resources.get(self._tag)
        # The resource of the body and the answer: for a relation, its target.
        self._subject = resources.get(endpoint.subject or self._tag)
        self._links = find_links(app, endpoint)
        self._answers = [resources[name] for name in endpoint.answers]
        self._literal = (app.config["TOKEN_MIDDLEWARE"] or {}).get("currentUserLiteral")
        # In the order of the path.
        self._arguments = ARGUMENT.findall(rule.rule)
        self._security = Security(app, rule.endpoint, endpoint, self._is_owner_id())
        self._verb = verb
        self._endpoint = endpoint

    def describe(self, schemas: Schemas, shared: dict[str, Json]) -> Json:
        """Return the operation; adds to `shared` the responses that operations have in common."""
        body = self._body(schemas)
        errors = responses(self._errors(body is not None), shared)
        described = {
            "tags": [self._tag],
            **self._texts(),
            "parameters": [
                *self._path_parameters(),
                *self._query_parameters(schemas),
                *self._endpoint.parameters,
                *precondition_parameters(self._endpoint, self._verb),
            ],
            "responses": {**self._success(schemas), **errors},
            "security": self._security.requirements(),
        }
        return {**described, "requestBody": body} if body else described

    def _is_owner_id(self) -> bool:
        """Tell whether the id in the path is that of a user, so that another user's is denied."""
        is_owner_model = self._resource is not None and self._resource.is_owner_model
        return is_owner_model and "id" in self._arguments

    def _texts(self) -> Json:
        """Return the summary and the description, from the view's docstring and the rules."""
        text = inspect.getdoc(self._endpoint.view) or ""
        for word, resource in (("row", self._subject), ("parent", self._resource)):
            if resource is not None:
                text = re.sub(rf"\b{word}(s?)\b", rf"{resource.singular}\1", text)
        summary, _, more = text.partition("\n")
        sentences = (more.strip(), self._security.description())
        return {
            "summary": summary.rstrip(".").replace("`", ""),
            "description": "\n\n".join(filter(None, sentences)),
        }

    def _path_parameters(self) -> Iterator[Json]:
        for name in self._arguments:
            schema = self._argument(name)
            yield {
                "name": name,
                "in": "path",
                "required": True,
                "schema": {key: value for key, value in schema.items() if key != "examples"},
                **({"example": schema["examples"][0]} if "examples" in schema else {}),
            }

    def _argument(self, name: str) -> Json:
        """Return the schema of an argument in the path: a row's id, or what is declared."""
        if name in self._endpoint.arguments:
            schema: Json = self._endpoint.arguments[name]
            return schema
        if name == "id" and self._resource is not None:
            return id_schema(self._resource, self._literal)
        if name == "fk" and self._subject is not None:
            return id_schema(self._subject, None)
        return {"type": "string"}

    def _query_parameters(self, schemas: Schemas) -> Iterator[Json]:
        """Yield the structured parameter; lists have `count` as well."""
        if self._endpoint.query and self._subject is not None:
            name = self._endpoint.query.strip("!")
            schema = f"{model_name(self._subject)}{name.capitalize()}"
            yield {
                "name": name,
                "in": "query",
                "required": self._endpoint.query.endswith("!"),
                "description": f"JSON of the schema `{schema}`, or in brackets: `{name}[...]=...`.",
                # A string for generators of clients, most of which do not know `content` here.
                "schema": {
                    "type": "string",
                    "contentMediaType": "application/json",
                    "contentSchema": ref(schema),
                },
                "example": json.dumps(schemas.example_of(name, self._subject)),
            }
        if self._endpoint.has_pages:
            yield COUNT

    def _body(self, schemas: Schemas) -> Json | None:
        if self._endpoint.makes_link and self._endpoint.relation:
            schema = schemas.of_link(self._endpoint.relation, self._links)
            return {"required": False, "content": {self._endpoint.body_type: {"schema": schema}}}
        if self._endpoint.body is None or self._verb in BODILESS:
            return None
        schema = schemas.of_body(self._endpoint.body, self._subject)
        return {"required": True, "content": {self._endpoint.body_type: {"schema": schema}}}

    def _success(self, schemas: Schemas) -> dict[str, Json]:
        answer = self._endpoint.answer
        if answer is None:
            done = {"204": {"description": "Done, without content."}}
            return {**done, "302": REDIRECT} if self._endpoint.redirects else done
        schema = self._answer(answer, schemas)
        success: Json = {
            "description": "Done.",
            "content": {self._endpoint.answer_type: {"schema": schema}},
        }
        if self._endpoint.has_pages:
            success["headers"] = PAGE_HEADERS
        if self._endpoint.answers_row:
            success["headers"] = TAG_HEADER
        not_modified = NOT_MODIFIED if is_tagged_read(self._endpoint, self._verb) else {}
        return {"200": success, **not_modified}

    def _answer(self, answer: SchemaSpec, schemas: Schemas) -> Json:
        if not self._endpoint.answers or not isinstance(answer, str):
            return schemas.of_answer(answer, self._subject)
        return any_of(answer.format(model_name(resource)) for resource in self._answers)

    def _errors(self, has_body: bool) -> Iterator[HTTPException]:
        yield from self._endpoint.errors
        if self._subject is not None:
            yield from self._subject.resource.errors.get(self._endpoint.requires, ())
        if hashed_property(self._endpoint, self._subject) is not None:
            yield TooManyHashes()
        if self._endpoint.has_preconditions:
            yield PreconditionFailed(IF_MATCH)
        yield from self._security.errors(self._verb)
        if self._resource is not None:
            yield from self._row_errors(self._resource)
        if has_body and not self._endpoint.max_upload:
            yield from body_errors()

    def _row_errors(self, resource: Collection) -> Iterator[HTTPException]:
        """Yield the errors of the filter, of the body's values and of the row id."""
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
            yield Conflict("The change conflicts with one made at the same time.")
        if self._endpoint.makes_link:
            yield ValidationError({})
            yield Conflict("The change conflicts with one made at the same time.")
        if self._endpoint.finds_row:
            yield ModelNotFound(subject.singular, subject.id_form.example)
