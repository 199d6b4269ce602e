"""Login with a code that is mailed to the account's address."""

from flask import Flask

from app import outbox
from app.database.purging import purger
from app.problems import ConfigurationError
from app.signals import login_code_request
from app.users.sessions.cookies import serve_mailed_pages

from . import service, views
from .service import LoginCode

__all__ = ["init_app", "views"]


def init_app(app: Flask) -> None:
    """Enable logins by mail if the settings do; raise ConfigurationError without a key."""
    if app.config["EMAIL_LOGIN"]:
        if not app.config["LOGIN_CODE_KEYS"]:
            raise ConfigurationError(
                "EMAIL_LOGIN needs LOGIN_CODE_KEYS, a list with a secret of at least 32 characters,"
                ' such as the output of `python -c "import secrets; print(secrets.token_hex())"`'
            )
        outbox.define(app, login_code_request.name, service.load)
        serve_mailed_pages(app, views.bp)
        purger.of(app).add(LoginCode.__tablename__, service.purge_batch)
