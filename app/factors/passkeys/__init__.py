"""Passkeys: logins by WebAuthn, with a key that never leaves the user's devices."""

from importlib import import_module

from flask import Flask

from app.database.purging import purger
from app.factors import kinds
from app.users.schemas import credential_schema
from app.users.sessions import login_methods

from . import service, views
from .models import PasskeyChallenge
from .schemas import AssertionSchema

__all__ = ["init_app", "views"]


def init_app(app: Flask) -> None:
    """Enable logins by passkeys if the settings do.

    Raises ConfigurationError for a URL for which browsers have no passkeys.
    """
    kinds.register_list(app, kinds.PASSKEY, service.held.find_all)
    kinds.register_reset(app, service.held.reset)
    credential_schema.set(app, AssertionSchema)
    if not app.config["PASSKEYS"]:
        return
    ceremonies = import_module("app.factors.passkeys.ceremonies")
    party = ceremonies.read_relying_party(app.config)
    service.ceremonies.set(app, ceremonies.Ceremonies(party))
    kinds.register(app, kinds.PASSKEY, service)
    login_methods.register_proved(app, service)
    purger.of(app).add(PasskeyChallenge.__tablename__, service.purge_batch)
