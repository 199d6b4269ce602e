"""Webhooks: changes of rows and events of users, sent to addresses that administrators add.

Messages are signed as Standard Webhooks says. Off unless WEBHOOKS is set.
"""

from importlib import import_module

from flask import Flask

from .models import Webhook, WebhookDelivery

__all__ = ["Webhook", "WebhookDelivery", "init_app"]


def init_app(app: Flask) -> None:
    """Send webhooks if WEBHOOKS is set; raise ConfigurationError."""
    if app.config["WEBHOOKS"]:
        # Imported only then: its library is an extra.
        import_module("app.webhooks.setup").init_app(app)
