"""Setup of webhooks: what they follow, their calls and their threads."""

from datetime import timedelta
from functools import partial

from flask import Flask

from app import outbox
from app.admin.calls import added_calls
from app.audit.entries import followers
from app.database.purging import purger
from app.encryption import Encryption
from app.mail.delivery import SUBSCRIBER
from app.outbox.service import companions

from .endpoints import calls
from .models import WebhookDelivery
from .recording import RESET, follow_users, send_reset
from .service import DISABLED, NAME, purge_batch, send_notice
from .signing import encryption
from .worker import workers


def init_app(app: Flask) -> None:
    """Send webhooks, and serve their calls if the admin page is; raise ConfigurationError."""
    keys = Encryption("WEBHOOKS", "WEBHOOK_KEYS", app.config["WEBHOOK_KEYS"])
    encryption.set(app, keys)
    added_calls.of(app).extend(calls)
    followers.of(app).append(follow_users)
    outbox.subscribe(app, RESET, NAME, send_reset)
    outbox.subscribe(app, DISABLED, SUBSCRIBER, send_notice)
    keep = timedelta(days=app.config["OUTBOX_DAYS"])
    purger.of(app).add(WebhookDelivery.__tablename__, partial(purge_batch, keep))
    companions.of(app).append(workers.of(app))
