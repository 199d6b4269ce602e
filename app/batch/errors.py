"""The error of a batch itself, and the place of a call's error in its batch."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from flask import Response, abort, current_app
from werkzeug.exceptions import BadRequest

from app.http.responses import encode_json


class InvalidBatch(BadRequest):
    """The batch is malformed or too large, or has a call that it may not have."""

    error_code = "INVALID_BATCH"


@dataclass
class CallPlace:
    """The call of a batch that is being read, checked or run."""

    # Its position from 0; None before the first and after the last call.
    position: int | None = None
    id: str | None = None

    def enter(self, position: int | None, id: str | None = None) -> None:
        """Go to a call."""
        self.position, self.id = position, id


@contextmanager
def located(place: CallPlace) -> Iterator[None]:
    """Run a block; if it raises, abort with the response to its error, which names the call.

    The app's error handlers make the response. It is a context manager.
    """
    try:
        yield
    except Exception as error:
        # Raises the error again if it has no handler.
        response = current_app.make_response(current_app.handle_user_exception(error))
        if place.position is not None and response.status_code < 500 and response.is_json:
            _add_place(response, place)
        abort(response)


def _add_place(response: Response, place: CallPlace) -> None:
    body = response.get_json()
    if isinstance(body, dict) and isinstance(error := body.get("error"), dict):
        details = {**error.get("details", {}), "request": place.position, "id": place.id}
        response.set_data(encode_json({**body, "error": {**error, "details": details}}))
