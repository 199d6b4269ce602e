"""The outbox: work after a commit that is not lost if a process or another service fails.

An event is recorded in the transaction of its cause. A thread of the service delivers it to each
subscriber, and tries again until it succeeds or its lifetime ends::

    from typing import Any

    import requests

    from ostiary.outbox import (
        Attempt,
        DeliveryError,
        UndeliverableError,
        cancel,
        define,
        record,
        subscribe,
    )


    def init_app(app):
        subscribe(app, "bookLent", "statistics", count_loan)
        # Only needed because more is delivered than was recorded.
        define(app, "bookLent", add_attempt)


    def add_attempt(data: dict[str, Any], attempt: Attempt) -> dict[str, Any]:
        return {**data, "attempt": attempt.number}


    def count_loan(app, info) -> str:
        '''Notify another service; the returned text is for the log.'''
        answer = requests.post("http://127.0.0.1:8099/loans", json=info, timeout=10)
        if answer.status_code == 503:
            raise DeliveryError("statistics are closed")  # retried later
        if answer.status_code == 400:
            raise UndeliverableError("statistics refuse it")  # given up
        return "counted"


    def lend(book_id):
        record("bookLent", {"book": book_id}, lifetime=3600)

An event may be recorded for later. One with a key replaces the one that has it, and can be
cancelled::

    from datetime import datetime


    def remind(loan_id, book_id, time: datetime):
        record("bookDue", {"book": book_id}, 3600, not_before=time, key=str(loan_id))


    def give_back(loan_id) -> bool:
        '''Return True if there was a reminder to cancel.'''
        return cancel("bookDue", str(loan_id))
"""

from app.outbox import Attempt, DeliveryError, UndeliverableError, cancel, define, record, subscribe

__all__ = [
    "Attempt",
    "DeliveryError",
    "UndeliverableError",
    "cancel",
    "define",
    "record",
    "subscribe",
]
