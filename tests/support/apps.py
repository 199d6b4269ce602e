"""Apps under test: a test's own, or shared, because creating one takes longer than most tests."""

from pathlib import Path
from typing import Any

from flask import Flask

from app import outbox
from app.database.session import db
from app.factory import create_app
from app.signals import reset_password_request
from app.state import VALUES

# The cheapest that Argon2 allows; the production figures have a test of their own.
CHEAP_HASH = {"time_cost": 1, "memory_cost": 8, "parallelism": 1}


def build(url: str, mail_folder: Path, **settings: Any) -> Flask:
    app = create_app(
        {
            "SQLALCHEMY_DATABASE_URI": url,
            "MAIL_FOLDER": str(mail_folder),
            "PASSWORD_HASH": CHEAP_HASH,
            # Tests make more attempts, and more of them at once, than the defaults allow.
            "PASSWORD_HASHES": 100,
            "THROTTLE_ENABLED": False,
            "TESTING": True,
            **settings,
        }
    )
    # pytest captures the records; as text they would join the output of commands, and those of the
    # outbox's thread at any moment.
    app.logger.handlers.clear()
    return app


def close(app: Flask) -> None:
    outbox.stop(app)
    with app.app_context():
        db.engine.dispose()


class SharedApp:
    """An app that tests use one after the other.

    `reset` undoes what an app keeps in memory from one request to the next, which is the outbox's
    thread with what it has reserved, and values that were made since, such as what is found out
    about the database. Whatever else joins that memory must be undone there too. Pooled connections
    and the OpenAPI document may stay.
    """

    def __init__(self, app: Flask) -> None:
        self.app = app
        self._built = _configuration(app)

    def reset(self) -> None:
        """Forget the last test, and check that it left the app as it was built."""
        outbox.stop(self.app)
        values = self.app.extensions[VALUES]
        for state in values.keys() - self._built["values"]:
            del values[state]
        assert _configuration(self.app) == self._built, "a test that changes an app needs make_app"


def _configuration(app: Flask) -> dict[str, Any]:
    """Return what a test could change in an app, and would change for the tests after it."""
    hooks = [app.before_request_funcs, app.after_request_funcs, app.teardown_request_funcs]
    return {
        "settings": dict(app.config),
        "extensions": set(app.extensions),
        "values": set(app.extensions[VALUES]),
        "views": dict(app.view_functions),
        "hooks": [{name: list(functions) for name, functions in hook.items()} for hook in hooks],
        "receivers": list(reset_password_request.receivers_for(app)),
    }
