"""Switching metrics on: the library that they need is an extra."""

from importlib import import_module
from importlib.util import find_spec

from flask import Flask

from app.config import ConfigurationError

LIBRARY = "prometheus_client"


def init_app(app: Flask) -> None:
    """Prepare the metrics, which gunicorn's hooks open; raise ConfigurationError without a library.

    Commands and other servers count nothing.
    """
    if find_spec(LIBRARY) is None:
        raise ConfigurationError(
            "METRICS_ENABLED needs the extra metrics; install it with "
            ".venv/bin/pip install -c requirements.txt -e '.[metrics]'"
        )
    app.extensions["metrics"] = import_module("app.metrics.exposition").Metrics(app)
