"""Personal tokens: for programs, with at most the permissions of their user."""

from flask import Flask

from app.users.sessions import login_methods
from app.users.sessions.transports import identify_personal

from . import service, views

__all__ = ["init_app", "views"]


def init_app(app: Flask) -> None:
    """Accept personal tokens if the settings do."""
    if app.config["PERSONAL_TOKENS"]:
        identify_personal.set(app, service.identify)
        login_methods.register_proved(app, service)
