"""Signals that the service sends, by blinker.

The sender is the app. A receiver must be a function of a module, because signals refer to it
weakly. Its errors are logged and do not change the response::

    from blinker import signal

    from ostiary.signals import (
        account_claimed,
        audited,
        delivery_attempted,
        email_change_request,
        email_changed,
        email_code_request,
        email_verified,
        emit,
        emit_after_commit,
        identity_linked,
        identity_login,
        identity_unlinked,
        login_code_request,
        password_reset,
        reset_password_request,
        verification_request,
    )

    EVENTS_OF_USERS = [
        account_claimed,
        email_change_request,
        email_changed,
        email_code_request,
        email_verified,
        identity_linked,
        identity_login,
        identity_unlinked,
        login_code_request,
        password_reset,
        reset_password_request,
        verification_request,
    ]


    def note_event(app, info):
        app.logger.info("an event of the user %s", info["user"].id)


    for event in EVENTS_OF_USERS:
        event.connect(note_event)


    @audited.connect
    def note_action(app, action, details):
        app.logger.info("%s %s", action, details)


    @delivery_attempted.connect
    def note_delivery(app, subscriber, outcome):
        app.logger.info("delivery to %s: %s", subscriber, outcome)

A project's own signals are sent in the same way, at once or after the commit::

    book_lent = signal("bookLent")


    @book_lent.connect
    def note_loan(app, info):
        app.logger.info("book %s was lent", info["book"])


    def lend(book_id):
        emit(book_lent, info={"book": book_id})
        emit_after_commit(book_lent, info={"book": book_id})
"""

from app.signals import (
    account_claimed,
    audited,
    delivery_attempted,
    email_change_request,
    email_changed,
    email_code_request,
    email_verified,
    emit,
    emit_after_commit,
    identity_linked,
    identity_login,
    identity_unlinked,
    login_code_request,
    password_reset,
    reset_password_request,
    verification_request,
)

__all__ = [
    "account_claimed",
    "audited",
    "delivery_attempted",
    "email_change_request",
    "email_changed",
    "email_code_request",
    "email_verified",
    "emit",
    "emit_after_commit",
    "identity_linked",
    "identity_login",
    "identity_unlinked",
    "login_code_request",
    "password_reset",
    "reset_password_request",
    "verification_request",
]
