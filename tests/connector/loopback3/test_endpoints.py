"""The functions of every case as endpoints: what the remote is sent, and the client answered."""

import json
from collections.abc import Iterator, Mapping
from itertools import zip_longest
from typing import Any
from urllib.parse import quote

import pytest
from flask import Flask
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from app.connector import Operation
from app.datasources import data_sources
from app.datasources.endpoints import part_of_request
from app.testing.apps import close
from tests.support.apps import build

from .cases import RECORDED, Call, Case, Outcome, comparable, read_cases
from .differences import AT_ENDPOINTS, IN_THE_LIBRARY, REFUSED
from .remote import Remote, running
from .replay import observe

EVERYONE = {"principalType": "ROLE", "principalId": "$everyone", "permission": "ALLOW"}
# LoopBack 3 sends no request id.
PUBLIC = {"public": True, "acls": [EVERYONE], "requestIdHeader": None}
LISTED_AS_REFUSED = {name for names in REFUSED.values() for name in names}
# Clients neither see hooks nor the methods of a data source.
WITHOUT_CLIENTS = {"headers in hooks", "names of the data source"}
LISTED = {
    call
    for key, calls in [*IN_THE_LIBRARY.items(), *AT_ENDPOINTS.items()]
    for call in calls
    if key not in WITHOUT_CLIENTS
}


@pytest.fixture(scope="module")
def remote() -> Iterator[Remote]:
    with running() as remote:
        yield remote


@pytest.fixture(scope="module")
def cases(remote: Remote) -> dict[str, Case]:
    return {
        name: case
        for name, case in read_cases(remote).items()
        if case.loads and name not in LISTED_AS_REFUSED and _exposed(case)
    }


@pytest.fixture(scope="module")
def exposing_app(
    cases: dict[str, Case], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Flask]:
    """One app that serves the functions of every case to everyone."""
    folder = tmp_path_factory.mktemp("endpoints")
    sources = {name: {**case.loopback_settings, **PUBLIC} for name, case in cases.items()}
    # An exception is an outcome, too. Nothing needs the database, which has no tables.
    settings = {"DATA_SOURCES": sources, "AUDIT_DAYS": None, "PROPAGATE_EXCEPTIONS": False}
    app = build(f"sqlite:///{folder}/unused.sqlite", folder / "mail", **settings)
    for name, case in cases.items():
        for hook in case.hooks:
            data_sources.of(app)[name].observe(hook["event"], observe(hook, []))
    yield app
    close(app)


def _exposed(case: Case) -> list[Call]:
    """Return the calls of functions; those with a callback are the same without one."""
    calls = [call for call in case.calls if "function" in call.given]
    return [call for call in calls if not call.given.get("callback")]


def _can_be_requested(operation: Operation, call: Call) -> bool:
    """Tell whether a client can make a call.

    It gives all of the path; a header is one line; `Authorization` is the client's own.
    """
    given = call.given.get("arguments", [])
    places = [part_of_request(argument) for argument in operation.accepts]
    pairs = list(zip_longest(given, places))
    is_whole = all(value not in (None, "") for value, place in pairs if place == "path")
    is_one_line = all("\n" not in str(value) for value, place in pairs if place == "header")
    is_own = any(argument["arg"] == "authorization" for argument in operation.accepts)
    return is_whole and is_one_line and not is_own


@pytest.mark.parametrize("name", RECORDED)
def test_endpoints_are_as_equivalent_as_the_library(
    name: str, cases: dict[str, Case], exposing_app: Flask, remote: Remote
) -> None:
    if name not in cases:
        return
    remote.answers = cases[name].answers
    operations = data_sources.of(exposing_app)[name].operations
    calls = _requestable(cases[name], operations)
    differences = {}
    for call in calls:
        operation = operations[call.given["function"]]
        outcome = _outcome(exposing_app.test_client(), name, operation, call, remote)
        if outcome != _expected(call.recorded, operation.method):
            differences[call.id] = {"LoopBack 3": call.recorded, "Ostiary": outcome}
    assert differences.keys() == {call.id for call in calls} & LISTED, differences


def test_most_functions_are_equivalent(cases: dict[str, Case], exposing_app: Flask) -> None:
    calls = [
        call
        for name, case in cases.items()
        if not case.is_probe
        for call in _requestable(case, data_sources.of(exposing_app)[name].operations)
    ]
    functions = {call.function for call in calls}
    assert len(functions) >= 200
    assert len({call.function for call in calls if call.id in LISTED}) / len(functions) <= 0.05


def _requestable(case: Case, operations: Mapping[str, Operation]) -> list[Call]:
    return [
        call
        for call in _exposed(case)
        if _can_be_requested(operations[call.given["function"]], call)
    ]


def _outcome(
    client: FlaskClient, source: str, operation: Operation, call: Call, remote: Remote
) -> Outcome:
    remote.sent.clear()
    response = client.open(**_request(source, operation, call.given.get("arguments", [])))
    return comparable({"sent": list(remote.sent), **_result(response)})


def _request(source: str, operation: Operation, given: list[Any]) -> dict[str, Any]:
    """Return the client's request with each argument where the metadata says."""
    values: dict[str, dict[str, Any]] = {}
    for parameter, value in zip(operation.accepts, given, strict=False):
        if value is not None:
            values.setdefault(part_of_request(parameter), {})[parameter["arg"]] = value
    path = "".join(f"/{quote(str(value), safe='')}" for value in values.get("path", {}).values())
    body = {**values.get("body", {}), **values.get("form", {})}
    return {
        "method": operation.method if operation.method.isalpha() else "POST",
        "path": f"/api/{source}/{operation.name}{path}",
        "query_string": {name: _text(value) for name, value in values.get("query", {}).items()},
        "headers": {name: _text(value) for name, value in values.get("header", {}).items()},
        **({"json": body} if body else {}),
    }


def _text(value: Any) -> Any:
    if isinstance(value, list):
        return [_text(item) for item in value]
    return value if isinstance(value, str) else json.dumps(value)


def _result(response: TestResponse) -> Outcome:
    if response.status_code == 200:
        return {"returned": response.json if response.data else None}
    error = (response.json or {}).get("error", {})
    if response.status_code == 502:
        return {"error": _remote_error(error.get("details", {}))}
    return {"error": {"kind": "refused", "status": response.status_code}}


def _remote_error(details: Mapping[str, Any]) -> dict[str, Any]:
    if "statusCode" in details:
        return {"kind": "status", "status": details["statusCode"]}
    return {"kind": "transport"}


def _expected(recorded: Outcome, method: str) -> Outcome:
    """Return LoopBack's outcome as a client sees it: neither headers nor the caller's error."""
    expected = {key: recorded[key] for key in ("sent", "returned", "error") if key in recorded}
    returned = recorded.get("returned")
    if isinstance(returned, dict) and "statusCode" in returned:
        expected["returned"] = {key: returned[key] for key in ("statusCode", "body")}
    if method == "HEAD":
        expected["returned"] = None
    if recorded.get("error", {}).get("kind") == "thrown":
        expected["error"] = {"kind": "refused", "status": 422}
    return expected
