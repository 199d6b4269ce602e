"""Errors of calls with an `Idempotency-Key`."""

from typing import Any

from werkzeug.exceptions import BadRequest, Conflict, UnprocessableEntity


class InvalidIdempotencyKey(BadRequest):
    """The header `Idempotency-Key` is not one key of 1 to 255 printable ASCII characters."""

    error_code = "INVALID_IDEMPOTENCY_KEY"
    description = "Idempotency-Key must be one key of 1 to 255 printable ASCII characters."


class IdempotencyKeyUnsupported(BadRequest):
    """The call does not keep its answers, so that sending it again would do it again."""

    error_code = "IDEMPOTENCY_KEY_UNSUPPORTED"
    description = "This call takes no Idempotency-Key: sent again, it would be done again."


class IdempotencyKeyReused(UnprocessableEntity):
    """The caller has sent another request with this key, method and path."""

    error_code = "IDEMPOTENCY_KEY_REUSED"
    description = (
        "Another request was sent with this Idempotency-Key. Each request needs a key of its own."
    )


class IdempotencyKeyInUse(Conflict):
    """A request with this key is being answered; `Retry-After` says when to send it again."""

    error_code = "IDEMPOTENCY_KEY_IN_USE"
    description = "A request with this Idempotency-Key is being answered. Send it again later."

    def __init__(self, seconds: int) -> None:
        super().__init__()
        self.retry_after = seconds

    def get_headers(self, *arguments: Any) -> list[tuple[str, str]]:
        """Return the headers of the response."""
        return [*super().get_headers(*arguments), ("Retry-After", str(self.retry_after))]
