"""Setup of metrics, whose library is an extra."""

from importlib import import_module

from flask import Flask

from app.config import require_extra

from .hooks import metrics


def init_app(app: Flask) -> None:
    """Prepare the metrics that gunicorn's hooks open; raise ConfigurationError without the library.

    Commands and other servers count nothing.
    """
    require_extra("METRICS_ENABLED", "metrics", "prometheus_client")
    metrics.set(app, import_module("app.metrics.exposition").Metrics(app))
