"""The OpenAPI document, built from the declared endpoints, the rules and the schemas."""

from collections import defaultdict
from importlib.metadata import version
from posixpath import relpath
from typing import cast

from apispec import APISpec
from apispec.ext.marshmallow import MarshmallowPlugin
from apispec.ext.marshmallow.openapi import OpenAPIConverter
from flask import Flask

from app.access.rules import READ
from app.rest.collection import Collection, served_collections
from app.rest.endpoint import Endpoint, described_by, served_endpoints, switched_off
from app.rest.routing import served_path

from . import login_paths
from .filter_schemas import DocumentPart
from .operation import ARGUMENT, EndpointOperation
from .schemas import Schemas, model_name
from .security import security_schemes
from .tags import add_components

# The name of the view that shows the document.
DOCUMENT = "openapi.document"
# What the routes do that belong to no model, by the names of their views.
SUMMARIES = {
    DOCUMENT: "Describe the service",
    "api_status.status": "Return the start time and uptime of the process, as LoopBack 3 does",
}
# Verbs in the order of the document; the first of an endpoint's gets its name as operation id.
VERBS = ("POST", "GET", "PUT", "PATCH", "DELETE")

INTRODUCTION = """\
Users, access tokens, and every model that is served here.

Register (`users.create`), log in (`users.login`), and send the answer's `id` as the
`Authorization` header. Bodies are JSON; a form is accepted wherever a flat object is.
Every `GET` answers `HEAD` as well, without a body; for one row, that needs the permission to call
`exists`.
Every error has one shape, and its `error.code` is stable.
"""


def build(app: Flask) -> tuple[DocumentPart, list[str]]:
    """Return the document of an app without `servers`, and what it cannot describe.

    Needs a request context.
    """
    plugin = MarshmallowPlugin()
    spec = APISpec(
        title=app.config["SERVICE_NAME"],
        version=version("ostiary"),
        openapi_version="3.1.0",
        plugins=[plugin],
        info={"description": INTRODUCTION},
    )
    for collection in _tagged(app):
        tag = {"name": collection.name, "description": collection.resource.description}
        model = model_name(collection)
        spec.tag({**tag, "x-model": model, "x-path": f"/{served_path(collection.path)}"})
    add_components(spec)
    schemas = Schemas(cast("OpenAPIConverter", plugin.converter), app)
    shared = dict[str, DocumentPart]()
    for path, operations in _paths(app, schemas, shared).items():
        spec.path(path=path, operations=operations)
    for name, response in sorted(shared.items()):
        spec.components.response(name, response)
    for name, schema in sorted(schemas.named.items()):
        spec.components.schema(name, schema)
    for name, scheme in security_schemes(app).items():
        spec.components.security_scheme(name, scheme)
    document: DocumentPart = spec.to_dict()
    if paths := login_paths.of(app):
        # From the base path, as a service may be below the path of a proxy.
        root = app.config["REST_API_ROOT"]
        relative = {name: relpath(path, root) for name, path in sorted(paths.items())}
        document["x-login-paths"] = relative
    return document, schemas.problems


def _tagged(app: Flask) -> list[Collection]:
    """Return the served collections, users last: readers look for the models of the project."""
    served = {name.partition(".")[0] for name in served_endpoints.of(app)}
    collections = [model for model in served_collections.of(app).values() if model.name in served]
    return sorted(collections, key=lambda model: model.is_owner_model)


def _paths(
    app: Flask, schemas: Schemas, shared: dict[str, DocumentPart]
) -> dict[str, DocumentPart]:
    """Return each path with its operations by verb; adds common responses to `shared`."""
    root, declared = app.config["REST_API_ROOT"], served_endpoints.of(app)
    paths: dict[str, DocumentPart] = defaultdict(dict)
    names: set[str] = set()
    for rule in app.url_map.iter_rules():
        if not rule.rule.startswith(f"{root}/") or _is_off(app, rule.endpoint):
            continue
        path = ARGUMENT.sub(r"{\1}", rule.rule.removeprefix(root))
        for verb in VERBS:
            if verb in (rule.methods or ()):
                endpoint = declared.get(rule.endpoint) or _undeclared(app, rule.endpoint)
                operation = EndpointOperation(app, rule, verb, endpoint)
                with schemas.tolerant(rule.endpoint):
                    responses = dict(shared)
                    described = operation.describe(schemas, responses)
                    # What it adds must be possible to write.
                    app.json.dumps(
                        [described, *(responses[key] for key in responses.keys() - shared.keys())]
                    )
                    shared |= responses
                    name = _unique(rule.endpoint, verb, names)
                    paths[path][verb.lower()] = {"operationId": name, **described}
    return paths


def _is_off(app: Flask, name: str) -> bool:
    """Return True if a route belongs to a method that is switched off."""
    model, _, method = name.partition(".")
    return method in switched_off.of(app).get(model, ())


def _undeclared(app: Flask, name: str) -> Endpoint:
    """Return an endpoint for a route without one; those of a project have a docstring."""
    view = app.view_functions[name]
    texts = {"summary": SUMMARIES[name]} if name in SUMMARIES else described_by(view)
    return Endpoint(
        method=name,
        access=READ,
        routes=(),
        view=view,
        answer={},
        is_conditional=name == DOCUMENT,
        **texts,
    )


def _unique(endpoint: str, verb: str, taken: set[str]) -> str:
    """Return the operation id: the endpoint's name, followed by the verb if it has several."""
    name = f"{endpoint}__{verb.lower()}" if endpoint in taken else endpoint
    taken.add(name)
    return name
