"""Calls with an `Idempotency-Key`: sent again, they are answered again, and done once.

The request first claims its call, then runs the view, and stores the answer in the transaction of
the view's writes. The transaction is not begun around the view: hashing a password, counting uses
of throttles and asking for a password must be outside of it, and a view does them before it writes.
It is begun by the first write instead, and held until the answer is known (`held_transaction`).
"""

from collections.abc import Mapping
from functools import wraps

from flask import Flask, request
from werkzeug.exceptions import HTTPException

from app.batch.calls import is_atomic
from app.batch.endpoint import respond as respond_batch
from app.database.purging import purger
from app.database.session import begin_held
from app.rest.collection import Collection, served_collections
from app.rest.endpoint import Endpoint, View, served_endpoints
from app.rest.rows.writer import Writer
from app.rest.views.collection import CollectionViews
from app.rest.views.related import Related

from .errors import (
    IdempotencyKeyInUse,
    IdempotencyKeyReused,
    IdempotencyKeyUnsupported,
    InvalidIdempotencyKey,
)
from .keys import HEADER, MAX_KEY
from .records import IdempotentCall, purge_batch
from .repeating import RepeatableBatch, RepeatableView

PARAMETER = {
    "name": "Idempotency-Key",
    "in": "header",
    "description": "A key of the client's choice, new for each request: sent again with it, the"
    " request is done once, and its answer is repeated with `Idempotency-Replayed: true`.",
    "schema": {"type": "string", "minLength": 1, "maxLength": 2 * MAX_KEY + 2},
}
ERRORS: tuple[HTTPException, ...] = (
    InvalidIdempotencyKey(),
    IdempotencyKeyReused(),
    IdempotencyKeyInUse(1),
)


def init_app(app: Flask) -> None:
    """Let calls be repeated, if IDEMPOTENCY_TTL is set; all endpoints must be registered."""
    # Also answers that were kept before it was switched off.
    purger.of(app).add(IdempotentCall.__tablename__, purge_batch)
    if not app.config["IDEMPOTENCY_TTL"]:
        return
    collections = served_collections.of(app)
    for collection in collections.values():
        _hold_writes(collection.writer)
    served = served_endpoints.of(app)
    for name, endpoint in list(served.items()):
        if all(endpoint.is_safe(route.verb) for route in endpoint.routes):
            continue
        view, errors = app.view_functions[name], endpoint.errors
        if repeatable := _repeatable(view, name, endpoint, collections):
            app.view_functions[name] = repeatable.respond
            parameters = (*endpoint.parameters, PARAMETER)
            of_forms = (IdempotencyKeyUnsupported(),) if endpoint.upload_type else ()
            errors = (*errors, *ERRORS, *of_forms)
            served[name] = endpoint.replace(parameters=parameters, errors=errors)
        else:
            app.view_functions[name] = _unrepeatable(view, endpoint)
            served[name] = endpoint.replace(errors=(*errors, IdempotencyKeyUnsupported()))


def _repeatable(
    view: View, name: str, endpoint: Endpoint, collections: Mapping[str, Collection]
) -> RepeatableView | None:
    """Return the view of an endpoint that only writes rows of the database; None for others."""
    model = name.partition(".")[0]
    target = collections.get(endpoint.subject or model)
    if endpoint.view is respond_batch:
        return RepeatableBatch(view, name, endpoint, None)
    if isinstance(getattr(endpoint.view, "__self__", None), CollectionViews | Related):
        return RepeatableView(view, name, endpoint, target)
    if is_atomic(model, endpoint, collections):
        return RepeatableView(_in_transaction(view), name, endpoint, target)
    return None


def _in_transaction(view: View) -> View:
    """Return a view whose transaction begins with it: one of a project may write in any way."""

    @wraps(view)
    def respond(**arguments: str) -> object:
        begin_held()
        return view(**arguments)

    return respond


def _hold_writes(writer: Writer) -> None:
    """Let each write begin the transaction that is held, if one is."""
    note = writer.before_write

    def before_write() -> None:
        note()
        begin_held()

    writer.before_write = before_write


def _unrepeatable(view: View, endpoint: Endpoint) -> View:
    """Return a view that refuses a key: without an error, a client would send the call again."""

    @wraps(view)
    def respond(**arguments: str) -> object:
        if HEADER in request.environ and not endpoint.is_safe(request.method):
            raise IdempotencyKeyUnsupported()
        return view(**arguments)

    return respond
