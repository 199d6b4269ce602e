"""Build the OpenAPI document from the routes, rules and schemas, and from what features add."""

import inspect
import re
from collections import defaultdict
from collections.abc import Iterator
from importlib.metadata import version
from typing import cast

from apispec import APISpec
from apispec.ext.marshmallow import MarshmallowPlugin
from apispec.ext.marshmallow.openapi import OpenAPIConverter
from flask import Flask
from werkzeug.exceptions import HTTPException
from werkzeug.routing import Rule

from . import Operation
from .operations import describe_collections
from .responses import Access, body_errors, responses, security_schemes
from .schemas import Json, Shapes

# The order in which the verbs of one route are told; the first one bears the endpoint's name.
VERBS = ("POST", "GET", "PUT", "PATCH", "DELETE")
BODILESS = ("GET", "DELETE")
ARGUMENT = re.compile(r"<(?:[^<>:]+:)?(\w+)>")
NOTHING_KNOWN = Operation(answer={})

INTRODUCTION = """\
Users, access tokens, to-dos, and every other model that is served here.

Register (`users.create`), log in (`users.login`), and send the answer's `id` as the
`Authorization` header. Bodies are JSON; a form is accepted wherever a flat object is.
Every `GET` answers `HEAD` as well, without a body.
Every error has one shape, and its `error.code` is stable.
"""


def build(app: Flask) -> Json:
    """Return the document of an app, without the address of its server; needs a request."""
    plugin = MarshmallowPlugin()
    spec = APISpec(
        title="Ostiary",
        version=version("ostiary"),
        openapi_version="3.1.0",
        plugins=[plugin],
        info={"description": INTRODUCTION},
    )
    resources = app.extensions["resources"].values()
    for resource in resources:
        spec.tag({"name": resource.name, "description": resource.model.__doc__})
    shapes, shared = Shapes(cast("OpenAPIConverter", plugin.converter), app), dict[str, Json]()
    for path, operations in _paths(app, shapes, shared).items():
        spec.path(path=path, operations=operations)
    for name, response in sorted(shared.items()):
        spec.components.response(name, response)
    for name, schema in sorted(shapes.schemas.items()):
        spec.components.schema(name, schema)
    for name, scheme in security_schemes(app).items():
        spec.components.security_scheme(name, scheme)
    document: Json = spec.to_dict()
    return document


def _paths(app: Flask, shapes: Shapes, shared: dict[str, Json]) -> dict[str, Json]:
    """Return each path with its operations by verb; `shared` receives common responses."""
    common = describe_collections(app)
    described = dict(common)
    for describer in app.extensions.get("describers", ()):
        described |= describer(app)
    root = app.config["REST_API_ROOT"]
    paths: dict[str, Json] = defaultdict(dict)
    names: set[str] = set()
    # What only one model has comes before what all have.
    rules = sorted(app.url_map.iter_rules(), key=lambda rule: rule.endpoint in common)
    for rule in rules:
        if rule.rule.startswith(f"{root}/"):
            path = ARGUMENT.sub(r"{\1}", rule.rule.removeprefix(root))
            for verb in VERBS:
                if verb in (rule.methods or ()):
                    call = Call(app, rule, verb, described.get(rule.endpoint, NOTHING_KNOWN))
                    paths[path][verb.lower()] = {
                        "operationId": _unique(rule.endpoint, verb, names),
                        **call.document(shapes, shared),
                    }
    return paths


def _unique(endpoint: str, verb: str, taken: set[str]) -> str:
    """Name an operation after its endpoint, and with its verb where that has several."""
    name = f"{endpoint}__{verb.lower()}" if endpoint in taken else endpoint
    taken.add(name)
    return name


class Call:
    """One verb of one route."""

    def __init__(self, app: Flask, rule: Rule, verb: str, operation: Operation) -> None:
        self._tag = rule.endpoint.partition(".")[0]
        resource = app.extensions["resources"].get(self._tag)
        owned = resource is not None and resource.owns_itself and "id" in rule.arguments
        self._access = Access(app, rule.endpoint, operation, owned)
        self._view = app.view_functions[rule.endpoint]
        # In the order of the path.
        self._arguments = ARGUMENT.findall(rule.rule)
        self._verb = verb
        self._operation = operation

    def document(self, shapes: Shapes, shared: dict[str, Json]) -> Json:
        """Describe it as OpenAPI does."""
        body = self._body(shapes)
        refused = responses(self._errors(body is not None), shared)
        described = {
            "tags": [self._tag],
            **self._words(),
            "parameters": [*self._path_parameters(), *self._operation.parameters],
            "responses": {**self._success(shapes), **refused},
            "security": self._access.security(),
        }
        return {**described, "requestBody": body} if body else described

    def _words(self) -> Json:
        """Return the summary and the description, from the view's docstring and the rules."""
        text = inspect.getdoc(getattr(self._view, "func", self._view)) or ""
        for word, meaning in self._operation.words.items():
            text = re.sub(rf"\b{word}(s?)\b", rf"{meaning}\1", text)
        summary, _, more = text.partition("\n")
        sentences = (more.strip(), self._access.sentence())
        return {
            "summary": summary.rstrip(".").replace("`", ""),
            "description": "\n\n".join(filter(None, sentences)),
        }

    def _path_parameters(self) -> Iterator[Json]:
        for name in self._arguments:
            schema = self._operation.arguments.get(name, {"type": "string"})
            yield {
                "name": name,
                "in": "path",
                "required": True,
                "schema": {key: value for key, value in schema.items() if key != "examples"},
                **({"example": schema["examples"][0]} if "examples" in schema else {}),
            }

    def _body(self, shapes: Shapes) -> Json | None:
        if self._operation.body is None or self._verb in BODILESS:
            return None
        schema = shapes.of_body(self._operation.body)
        return {"required": True, "content": {"application/json": {"schema": schema}}}

    def _success(self, shapes: Shapes) -> dict[str, Json]:
        if self._operation.answer is None:
            return {"204": {"description": "Done; nothing to say."}}
        schema = shapes.of_answer(self._operation.answer)
        success: Json = {
            "description": "Done.",
            "content": {"application/json": {"schema": schema}},
        }
        if self._operation.headers:
            success["headers"] = dict(self._operation.headers)
        return {"200": success}

    def _errors(self, has_body: bool) -> Iterator[HTTPException]:
        yield from self._operation.errors
        yield from self._access.errors(self._verb)
        if has_body:
            yield from body_errors()
