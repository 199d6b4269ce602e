"""Setup of second factors, whose libraries are an extra."""

from importlib import import_module

from flask import Flask

from app.access.policy import factor_kinds
from app.users.sessions import login_methods
from app.users.sessions.login import second_step

from . import email_codes, kinds, recovery, steps, views
from .totp import service as totp

__all__ = ["email_codes", "init_app", "views"]


def init_app(app: Flask) -> None:
    """Enable second factors if the settings do; raise ConfigurationError for invalid settings.

    If only passkeys are enabled, they confirm the user of a session again.
    """
    kinds.register_reset(app, totp.held.reset, recovery.reset)
    if app.config["SECOND_FACTOR"]:
        _add_authenticator_apps(app)
    if app.config["SECOND_FACTOR"] or app.config["PASSKEYS"]:
        factor_kinds.of(app).append(lambda user_id: kinds.look_up(user_id)[0])
        second_step.set(app, steps)


def _add_authenticator_apps(app: Flask) -> None:
    # Imported only now, because their libraries are an extra.
    encryption, codes = map(import_module, ("app.encryption", "app.factors.totp.codes"))
    keys = encryption.Encryption("SECOND_FACTOR", "FACTOR_KEYS", app.config["FACTOR_KEYS"])
    totp.codes.set(app, codes.Codes(keys))
    kinds.register(app, kinds.TOTP, totp, totp)
    kinds.register(app, kinds.RECOVERY, recovery)
    login_methods.register_proved(app, totp)
