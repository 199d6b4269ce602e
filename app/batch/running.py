"""Running the calls of a batch in one transaction, each as if it were sent alone."""

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from io import BytesIO
from typing import Any

from flask import Response, abort, current_app, request
from flask.globals import request_ctx
from sqlalchemy.exc import DBAPIError
from werkzeug.exceptions import RequestEntityTooLarge

from app.database.faults import is_conflict
from app.database.session import detach_objects, in_transaction, transaction
from app.errors import DatabaseTimeout
from app.http.responses import encode_json
from app.rest.collection import MAX_VALUES
from app.rest.endpoint import JSON
from app.rest.routing import routed_target
from app.rest.rows.pages import MAX_BYTES
from app.users.sessions.transports import resolver

from .calls import Call, check_body, referred_calls
from .errors import InvalidBatch, Place
from .references import Values, fill_argument, fill_body, fill_path

#: How often a batch is run if it meets deadlocks and serialization failures.
ATTEMPTS = 3
# What a request's environment has of the request itself, and its headers that are about one row, a
# list or a repetition.
OF_ONE_REQUEST = (
    *("REQUEST_METHOD", "PATH_INFO", "RAW_URI", "REQUEST_URI", "QUERY_STRING"),
    *("CONTENT_TYPE", "CONTENT_LENGTH", "HTTP_TRANSFER_ENCODING", "wsgi.input", "werkzeug.request"),
    *("HTTP_IF_MATCH", "HTTP_IF_NONE_MATCH", "HTTP_FILTER", "HTTP_WHERE", "HTTP_RANGE"),
    *("HTTP_IDEMPOTENCY_KEY", "HTTP_X_DATABASE_POSITION"),
)


def run(calls: Sequence[Call], place: Place) -> bytes:
    """Run the calls, all or none; return the JSON of their answers.

    All of them again after a deadlock or a serialization failure, at most ATTEMPTS times. Raises
    the errors of the calls, InvalidBatch for too large answers, and DatabaseTimeout if they take
    longer than one statement may.
    """
    deadline = time.monotonic() + current_app.config["STATEMENT_TIMEOUT"]
    for attempt in range(1, ATTEMPTS + 1):
        try:
            with transaction():
                answers = _Run(calls, place, deadline).answers()
                place.enter(None)
            return b'{"responses":[' + b",".join(answers) + b"]}\n"
        except DBAPIError as error:
            # An outer transaction has failed with it.
            if attempt == ATTEMPTS or in_transaction() or not is_conflict(error):
                raise
    raise AssertionError


class _Run:
    """One attempt to run the calls of a batch."""

    def __init__(self, calls: Sequence[Call], place: Place, deadline: float) -> None:
        self._calls, self._place, self._deadline = calls, place, deadline
        self._referred = referred_calls(calls)
        self._values = Values(current_app.config["MAX_CONTENT_LENGTH"])
        outer = request.environ
        self._environ = {key: outer[key] for key in outer.keys() - set(OF_ONE_REQUEST)}
        # What arrays may still create, as in one request, and the answers may still have.
        self._values_left, self._bytes_left = MAX_VALUES, MAX_BYTES

    def answers(self) -> list[bytes]:
        """Run the calls; return the JSON of each answer."""
        return [self._answer(call) for call in self._calls]

    def _answer(self, call: Call) -> bytes:
        self._place.enter(call.position, call.id)
        if time.monotonic() > self._deadline:
            raise DatabaseTimeout()
        response = _respond(self._request(call), call)
        if response.status_code >= 400:
            abort(response)
        # The next one begins without objects, as a request does.
        detach_objects()
        content = response.get_data().strip() if response.mimetype == JSON else b""
        self._bytes_left -= len(content)
        if self._bytes_left < 0:
            raise InvalidBatch(f"The answers have more than {MAX_BYTES} bytes together.")
        if call.id in self._referred:
            self._values.results[call.id] = json.loads(content or b"null")
        return _answer_json(call, response, content or b"null")

    def _request(self, call: Call) -> Any:
        """Return the request of a call, with values in place of references."""
        path, arguments, body = call.path, call.arguments, call.body
        if call.in_path:
            path = fill_path(path, self._values.of_path)
            arguments = {
                name: fill_argument(text, self._values.of_path) for name, text in arguments.items()
            }
        if call.in_body:
            body = fill_body(body, self._values.of_body)
            if call.subject is not None:
                check_body(call.subject, body)
        self._count_values(call, body)
        made = current_app.request_class(self._environ_of(call, path, body))
        made.url_rule, made.view_args = call.rule, dict(arguments)
        return made

    def _count_values(self, call: Call, body: object) -> None:
        """Raise InvalidBatch if arrays create more than those of one request may."""
        if isinstance(body, list) and call.subject is not None:
            self._values_left -= len(body) * call.subject.new_values_cost
            if self._values_left < 0:
                raise InvalidBatch("The arrays have more rows than one request may create.")

    def _environ_of(self, call: Call, path: str, body: object) -> dict[str, Any]:
        root = current_app.config["REST_API_ROOT"]
        content = b"" if body is None else encode_json(body)
        if len(content) > current_app.config["MAX_CONTENT_LENGTH"]:
            raise RequestEntityTooLarge()
        environ = {
            **self._environ,
            "REQUEST_METHOD": call.verb,
            "PATH_INFO": routed_target(f"{root}{path}", root),
            "RAW_URI": f"{root}{path}?{call.query}" if call.query else f"{root}{path}",
            "QUERY_STRING": call.query,
            "CONTENT_TYPE": JSON,
            "CONTENT_LENGTH": str(len(content)),
            "wsgi.input": BytesIO(content),
        }
        if call.if_match is not None:
            environ["HTTP_IF_MATCH"] = call.if_match
        return environ


def _respond(made: Any, call: Call) -> Response:
    """Return the response to a request: of a function before requests, or else of its view."""
    with _current(made):
        for function in _before(made.blueprints):
            answer = current_app.ensure_sync(function)()
            if answer is not None:
                return current_app.make_response(answer)
        view = current_app.ensure_sync(current_app.view_functions[call.rule.endpoint])
        answer = view(**made.view_args)
        return current_app.make_response(answer)


def _before(blueprints: Sequence[str]) -> Iterator[Any]:
    """Yield the functions of the app and its blueprints before requests, as Flask calls them.

    Except the one that resolves the token: the caller is the batch's.
    """
    functions: Mapping[str | None, Sequence[Any]] = current_app.before_request_funcs
    for name in (None, *reversed(blueprints)):
        yield from (each for each in functions.get(name, ()) if each is not resolver.current)


@contextmanager
def _current(made: Any) -> Iterator[None]:
    """Let a request be the current one, in the context of the batch's request.

    The caller, the transaction and the session therefore are the batch's.
    """
    context = request_ctx._get_current_object()  # type: ignore[attr-defined]
    outer, context.request = context.request, made
    try:
        yield
    finally:
        context.request = outer


def _answer_json(call: Call, response: Response, content: bytes) -> bytes:
    known = {"id": call.id, "status": response.status_code, "etag": response.headers.get("ETag")}
    return encode_json(known).rstrip(b"}\n") + b',"body":' + content + b"}"
