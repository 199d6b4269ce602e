"""Throttles: limits on attempts, counted by all processes together.

A throttle is defined for the app and counts uses by a key. A use above the limit is 429
`TOO_MANY_REQUESTS`, with `Retry-After`. Uses cannot be counted in a transaction, and so not in
hooks::

    from ostiary.throttles import (
        allows,
        clear,
        count,
        count_failure,
        count_success,
        current_network,
        define,
    )


    def init_app(app):
        define(app, "searches", limit=30, seconds=60)
        define(app, "pins", limit=3, seconds=3600)
        define(app, "reservations", limit=5, seconds=86400)


    def search(text):
        count("searches", current_network())  # by the address of the client
        return f"books with {text}"


    def check_pin(user_id, pin):
        with count_failure("pins", user_id):
            if pin != "1234":
                raise ValueError("wrong pin")
        clear("pins", user_id)


    def reserve(user_id, book):
        with count_success("reservations", user_id):
            if not book:
                raise LookupError("no such book")


    def may_remind(user_id):
        return allows("reservations", "reminder", user_id)
"""

from app.observability.origin import current_network
from app.throttles import allows, clear, count, count_failure, count_success, define

__all__ = [
    "allows",
    "clear",
    "count",
    "count_failure",
    "count_success",
    "current_network",
    "define",
]
