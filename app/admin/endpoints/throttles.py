"""Keys that throttles have locked."""

from collections.abc import Sequence

from app import errors
from app.access.rules import READ, WRITE
from app.admin.calls import call
from app.admin.schemas import LockSchema
from app.throttles.throttles import Lock, find_locks, release

UNKNOWN_LOCK = errors.ModelNotFound("throttle", "login_identity/0123456789abcdef")


@call("findThrottles", READ, "GET /throttles", answer=[LockSchema])
def find_throttles() -> Sequence[Lock]:
    """List at most 1000 locked keys, those that stay locked longest first."""
    return find_locks()


@call("releaseThrottle", WRITE, "DELETE /throttles/<throttle>/<key>", errors=(UNKNOWN_LOCK,))
def release_throttle(throttle: str, key: str) -> None:
    """Reset a throttle's counter for a key, so that it is not locked any more."""
    release(throttle, key)
