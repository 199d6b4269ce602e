"""Views of calls that are done once, and whose answers are kept and repeated."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from flask import Request, Response, current_app, request
from flask.typing import ResponseReturnValue

from app.access.policy import authorize, related_method
from app.batch.endpoint import check_calls
from app.database.session import held_transaction
from app.http.responses import encode_json
from app.rest.answers import JSON
from app.rest.collection import Collection
from app.rest.endpoint import Endpoint, View
from app.rest.writing import hashed_property

from .errors import IdempotencyKeyUnsupported
from .keys import HEADER, read_call
from .records import Answer, Claim, claim, keep, release

#: Maximum bytes of an answer that is kept completely; of a longer one, status and ids are kept.
MAX_KEPT = 64 * 1024
# The headers of an answer; others are those of a response.
KEPT_HEADERS = ("Content-Type", "ETag", "Location")
REPLAYED = "Idempotency-Replayed"
# The first status of an error.
FIRST_ERROR = 400


@dataclass(frozen=True)
class RepeatableView:
    """The view of an endpoint that writes rows; its name is `model.method`."""

    view: View
    name: str
    endpoint: Endpoint
    # The collection of the rows, if they are of one.
    target: Collection | None

    def respond(self, **arguments: str) -> ResponseReturnValue:
        """Call the view, if the request has no key, or it is the first one with it.

        Else repeat its answer. This requires the permission for the method, as the first call did,
        but neither reads nor checks the row.
        """
        # The object behind the proxy, since every use of a proxy costs several calls.
        current: Request = request._get_current_object()  # type: ignore[attr-defined]
        if HEADER not in current.environ:
            return self.view(**arguments)  # type: ignore[no-any-return]
        if self.endpoint.upload_type and current.mimetype == self.endpoint.upload_type:
            # Its files are stored before the transaction that would keep the answer.
            raise IdempotencyKeyUnsupported()
        model, _, method = self.name.partition(".")
        authorize(model, method, arguments.get("id"))
        found = claim(read_call(current, hashed_property(self.endpoint, self.target)))
        if isinstance(found, Answer):
            self._authorize_repetition()
            return Response(found.body, found.status, {**found.headers, REPLAYED: "true"})
        return self._answer(found, arguments)

    def _answer(self, claimed: Claim, arguments: Mapping[str, str]) -> Response:
        """Return the answer of the view, and keep it unless it is an error."""
        try:
            with held_transaction():
                response = current_app.make_response(self.view(**arguments))
                is_kept = response.status_code < FIRST_ERROR
                if is_kept:
                    keep(claimed, self._kept(response, claimed.call.user_id is None))
        except BaseException:
            release(claimed)
            raise
        if not is_kept:
            release(claimed)
        return response

    def _authorize_repetition(self) -> None:
        """Raise the access error unless the caller may call what a relation calls of its target."""
        required, target = self.endpoint.requires, self.target
        if required and target:
            method = required if target.is_owner_model else related_method(required)
            _, _, relation = self.endpoint.method.split("__", 2)
            target.related_grant(method, relation)

    def _kept(self, response: Response, is_anonymous: bool) -> Answer:
        """Return the part of a response to keep: all of it, or the ids in it if it is long.

        Of an account that an anonymous caller has registered, nothing but the status; nor of what
        no column holds.
        """
        status, content, target = response.status_code, response.get_data(), self.target
        found = {name: response.headers.get(name) for name in KEPT_HEADERS}
        if response.is_json and is_anonymous and target and target.is_owner_model:
            found, content = {"Content-Type": JSON}, _reduced(response, "")
        elif response.is_json and len(content) > MAX_KEPT:
            found, content = {"Content-Type": JSON}, self._shortened(response)
        text = _text(content)
        if text is None:
            return Answer(status, {}, "")
        return Answer(status, {name: value for name, value in found.items() if value}, text)

    def _shortened(self, response: Response) -> bytes:
        """Return the part of a long answer to keep."""
        return _reduced(response, self.target.id_name if self.target else "")


class RepeatableBatch(RepeatableView):
    """The view of batches."""

    def _authorize_repetition(self) -> None:
        """Raise the error of a call that the caller may not make."""
        check_calls()

    def _shortened(self, response: Response) -> bytes:
        """Return the answer with the ids of its calls' objects only."""
        answers = response.get_json()["responses"]
        kept = [{**answer, "body": _only("id", answer["body"])} for answer in answers]
        return encode_json({"responses": kept})


def _reduced(response: Response, id_name: str) -> bytes:
    """Return an answer with the id of its object, or with that of each object of its array."""
    shown = response.get_json()
    is_array = isinstance(shown, list)
    return encode_json(
        [_only(id_name, each) for each in shown] if is_array else _only(id_name, shown)
    )


def _text(content: bytes) -> str | None:
    """Return the text of an answer; None for one that is too long, or that no column holds."""
    if len(content) > MAX_KEPT or b"\0" in content:
        return None
    try:
        return content.decode()
    except UnicodeDecodeError:
        return None


def _only(name: str, shown: Any) -> Mapping[str, object]:
    """Return an object with one of its properties, if it has it."""
    return {name: shown[name]} if isinstance(shown, dict) and name in shown else {}
