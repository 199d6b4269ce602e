"""Check that the OpenAPI document declares the status of each answer that a test gets."""

from collections.abc import Iterator, Mapping
from typing import Any
from weakref import WeakKeyDictionary

from flask import Flask, Response, request

from app.access.policy import compiled_rules
from app.errors import NotWritten
from app.openapi.operation import SERVICE_ERRORS, EndpointOperation
from app.rest.collection import Collection, served_collections
from app.rest.endpoint import Endpoint, served_endpoints


class DeclaredStatuses:
    """The statuses of the operations of an app, as long as its rules are the same."""

    def __init__(self) -> None:
        # Nothing refers to the app, which would be kept for ever.
        self._rules: Mapping[Any, Any] = {}
        self._statuses: dict[tuple[str, str], set[int]] = {}

    def of(self, app: Flask, endpoint: Endpoint) -> set[int]:
        """Return the statuses of the operation of an app that the current request calls."""
        rules = compiled_rules.of(app)
        if rules != self._rules:
            self._rules, self._statuses = dict(rules), {}
        rule = request.url_rule
        assert rule is not None
        key = (rule.rule, request.method)
        if key not in self._statuses:
            operation = EndpointOperation(app, rule, request.method, endpoint)
            errors = {error.code or 500 for error in (*operation.errors(), *SERVICE_ERRORS)}
            self._statuses[key] = errors | set(_successes(endpoint))
        return self._statuses[key]


_declared = WeakKeyDictionary[Flask, DeclaredStatuses]()


class UndeclaredStatuses:
    """Collects the answers whose status is not declared: `check` receives `request_finished`."""

    def __init__(self) -> None:
        self.found: set[str] = set()

    def check(self, sender: Flask, response: Response, **_more: object) -> None:
        """Note the answer to a request."""
        rule = request.url_rule
        endpoint = served_endpoints.of(sender).get(rule.endpoint) if rule else None
        # The document has no HEAD, and does not know what receivers of hooks raise.
        if endpoint is None or request.method == "HEAD" or _has_hooks(sender, endpoint):
            return
        # Nor that a method of a LoopBack application is not written yet.
        if response.status_code == NotWritten.code:
            return
        declared = _declared.setdefault(sender, DeclaredStatuses())
        if response.status_code not in declared.of(sender, endpoint):
            self.found.add(f"{request.method} {rule}: {response.status}")


def _successes(endpoint: Endpoint) -> Iterator[int]:
    """Yield the statuses of calls that succeed."""
    yield endpoint.success
    if endpoint.redirects:
        yield 302
    if endpoint.sends_file:
        yield 206
    if endpoint.sends_file or (request.method == "GET" and endpoint.answers_row):
        yield 304


def _has_hooks(app: Flask, endpoint: Endpoint) -> bool:
    """Return True if receivers are called where rows of the model, or its target, are written."""
    names = {str(request.blueprint), endpoint.subject}
    collections = [served_collections.of(app).get(str(name)) for name in names]
    return any(_has_receivers(collection) for collection in collections if collection)


def _has_receivers(collection: Collection) -> bool:
    resource = collection.resource
    saving = resource.before_save, resource.after_save
    deleting = resource.before_delete, resource.after_delete
    return any(hook.receivers for hook in (*saving, *deleting))
