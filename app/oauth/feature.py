"""Switching logins by providers on: the libraries that they need are an extra."""

from importlib import import_module
from importlib.util import find_spec

from flask import Flask

from app.config import ConfigurationError
from app.ops.purging import purger_of

LIBRARIES = ("authlib", "joserfc")


def init_app(app: Flask) -> None:
    """Serve the configured providers; raise ConfigurationError if their libraries are missing."""
    if not all(map(find_spec, LIBRARIES)):
        raise ConfigurationError(
            "PROVIDERS needs the extra oidc; install it with "
            ".venv/bin/pip install -c requirements.txt -e '.[oidc]'"
        )
    import_module("app.oauth.views").init_app(app)
    flows = import_module("app.oauth.flows")
    purger_of(app).add("login_flows", flows.purge_batch)
