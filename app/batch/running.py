"""Running the calls of a batch in one transaction, each as if it were sent alone."""

import json
import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from io import BytesIO
from typing import Any

from flask import Flask, Request, Response, abort, request
from flask.globals import request_ctx
from sqlalchemy.exc import DBAPIError
from werkzeug.exceptions import RequestEntityTooLarge

from app.database.faults import is_conflict
from app.database.session import detach_objects, in_transaction, transaction
from app.errors import DatabaseTimeout
from app.http.responses import encode_json
from app.rest.answers import JSON
from app.rest.collection import MAX_VALUES
from app.rest.filters.searches import counting_searches
from app.rest.routing import routed_target
from app.rest.rows.pages import MAX_BYTES
from app.users.sessions.transports import resolver

from .calls import BatchCall, check_body
from .errors import CallPlace, InvalidBatch
from .references import ReferencedValues, fill_argument, fill_body, fill_path

#: How often a batch is run if it meets deadlocks and serialization failures.
ATTEMPTS = 3
#: Maximum seconds before the first repetition, twice that before the second, at random: the other
#: transaction goes on meanwhile, instead of waiting for the same locks again.
LONGEST_PAUSE = 0.1
#: Maximum objects in the answers of a batch together: a thousand rows take 8 ms.
MAX_OBJECTS = 5_000
# The start of an object in JSON. In texts, quotation marks are escaped.
OBJECT = b'{"'
# What a request's environment has of this request alone, and headers that are about one row, a list
# or a repetition.
OF_ONE_REQUEST = {
    *("REQUEST_METHOD", "PATH_INFO", "RAW_URI", "REQUEST_URI", "QUERY_STRING"),
    *("CONTENT_TYPE", "CONTENT_LENGTH", "HTTP_TRANSFER_ENCODING", "wsgi.input", "werkzeug.request"),
    *("HTTP_IF_MATCH", "HTTP_IF_NONE_MATCH", "HTTP_FILTER", "HTTP_WHERE", "HTTP_RANGE"),
    "HTTP_IDEMPOTENCY_KEY",
}
# A function that Flask calls before requests.
Before = Callable[[], Any]


def run(app: Flask, calls: Sequence[BatchCall], place: CallPlace) -> bytes:
    """Run the calls, all or none; return the JSON of their answers.

    After a deadlock or a serialization failure all of them are run again, at most ATTEMPTS times in
    all. Raises the errors of the calls, InvalidBatch for too large answers, and DatabaseTimeout if
    they take longer than one statement may.
    """
    deadline = time.monotonic() + app.config["STATEMENT_TIMEOUT"]
    attempt = 1
    while True:
        try:
            with _atomic(calls):
                answers = _Run(app, calls, place, deadline).answers()
            return b'{"responses":[' + b",".join(answers) + b"]}\n"
        except DBAPIError as error:
            # An outer transaction has failed with it.
            if attempt == ATTEMPTS or in_transaction() or not is_conflict(error):
                raise
        time.sleep(random.uniform(0, LONGEST_PAUSE) * attempt)  # noqa: S311 - not a secret
        attempt += 1


def _atomic(calls: Sequence[BatchCall]) -> AbstractContextManager[None]:
    """Return the context of all calls: a transaction, unless all of them read.

    On SQLite it makes other writers wait.
    """
    writes = any(call.target.written is not None for call in calls)
    return transaction() if writes else nullcontext()


class _Run:
    """One attempt to run the calls of a batch."""

    def __init__(
        self, app: Flask, calls: Sequence[BatchCall], place: CallPlace, deadline: float
    ) -> None:
        self._app, self._calls, self._place, self._deadline = app, calls, place, deadline
        self._root = app.config["REST_API_ROOT"]
        self._most_body: int = app.config["MAX_CONTENT_LENGTH"]
        self._values = ReferencedValues(self._most_body)
        self._referred = {each.call for call in calls for each in (*call.in_path, *call.in_body)}
        self._environ = {
            key: value for key, value in request.environ.items() if key not in OF_ONE_REQUEST
        }
        # What arrays may still create, as in one request, and what the answers may still have.
        self._values_left, self._bytes_left, self._objects_left = MAX_VALUES, MAX_BYTES, MAX_OBJECTS

    def answers(self) -> list[bytes]:
        """Run the calls; return the JSON of each answer."""
        answers = []
        with _replacing_request() as replace, counting_searches() as searches:
            for call in self._calls:
                self._place.enter(call.position, call.id)
                searches.enter_call()
                if time.monotonic() > self._deadline:
                    raise DatabaseTimeout()
                made = self._request(call)
                replace(made)
                answers.append(self._read_answer(call, self._respond(made)))
                # The next one begins without objects, as a request does.
                detach_objects()
        self._place.enter(None)
        return answers

    def _respond(self, made: Request) -> Response:
        """Return the response of a function before requests, or else of the view."""
        app, name = self._app, str(made.endpoint)
        for function in _before(app, name):
            answer = app.ensure_sync(function)()
            if answer is not None:
                return app.make_response(answer)
        view = app.ensure_sync(app.view_functions[name])
        return app.make_response(view(**made.view_args or {}))

    def _read_answer(self, call: BatchCall, response: Response) -> bytes:
        """Return the JSON of an answer; abort with the response of a call that has failed."""
        if response.status_code >= 400:
            abort(response)
        content = response.get_data().strip() if response.mimetype == JSON else b""
        self._count_answer(content)
        content = content or b"null"
        if call.id in self._referred:
            self._values.results[call.id] = json.loads(content)
        tag = response.headers.get("ETag")
        known = {"id": call.id, "status": response.status_code, "etag": tag}
        return encode_json(known)[:-2] + b',"body":' + content + b"}"

    def _request(self, call: BatchCall) -> Request:
        """Return the request of a call, with values in place of references."""
        path, arguments = call.path, call.target.arguments
        if call.in_path:
            value_of = self._values.of_path
            path = fill_path(path, value_of)
            arguments = {name: fill_argument(text, value_of) for name, text in arguments.items()}
        body, content = call.body, call.content
        if call.in_body:
            body = fill_body(body, self._values.of_body)
            content = encode_json(body)
            if len(content) > self._most_body:
                raise RequestEntityTooLarge()
        if (written := call.target.written) is not None:
            check_body(written, body)
            if isinstance(body, list):
                self._count_values(len(body) * written.new_values_cost)
        made = self._app.request_class(self._environ_of(call, path, content))
        made.url_rule, made.view_args = call.target.rule, dict(arguments)
        return made

    def _count_values(self, values: int) -> None:
        """Raise InvalidBatch if arrays have more rows than those of one request may have."""
        self._values_left -= values
        if self._values_left < 0:
            raise InvalidBatch("The arrays have more rows than one request may create.")

    def _count_answer(self, content: bytes) -> None:
        """Raise InvalidBatch if the answers are too large together."""
        self._bytes_left -= len(content)
        self._objects_left -= content.count(OBJECT)
        if self._bytes_left < 0 or self._objects_left < 0:
            most = f"{MAX_BYTES} bytes or {MAX_OBJECTS} objects"
            raise InvalidBatch(f"The answers have more than {most} together.")

    def _environ_of(self, call: BatchCall, path: str, content: bytes) -> dict[str, Any]:
        target = f"{self._root}{path}"
        environ = {
            **self._environ,
            "REQUEST_METHOD": call.verb,
            "PATH_INFO": routed_target(target, self._root),
            "RAW_URI": f"{target}?{call.query}" if call.query else target,
            "QUERY_STRING": call.query,
            "CONTENT_TYPE": JSON,
            "CONTENT_LENGTH": str(len(content)),
            "wsgi.input": BytesIO(content),
        }
        if call.if_match is not None:
            environ["HTTP_IF_MATCH"] = call.if_match
        return environ


def _before(app: Flask, name: str) -> Iterator[Before]:
    """Yield the functions of the app, and of a view's blueprint, before requests.

    Except the one that resolves the token: the caller is the batch's.
    """
    resolves = resolver.of(app)
    functions: Mapping[str | None, Sequence[Before]] = app.before_request_funcs
    for blueprint in (None, name.partition(".")[0]):
        for function in functions.get(blueprint, ()):
            if function is not resolves:
                yield function


@contextmanager
def _replacing_request() -> Iterator[Callable[[Request], None]]:
    """Yield a function that makes a request the current one; restore the batch's afterwards.

    The context stays that of the batch, and with it the caller, the transaction and the session. It
    is a context manager.
    """
    context = request_ctx._get_current_object()  # type: ignore[attr-defined]
    outer = context.request

    def replace(made: Request) -> None:
        context.request = made

    try:
        yield replace
    finally:
        context.request = outer
