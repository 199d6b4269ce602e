"""Ask for a password reset, and read the mail and the log that follow."""

import email.policy
import re
from email import message_from_bytes
from pathlib import Path

from app import outbox
from app.outbox.delivery import drain

REQUEST_ID = "reset-1"
LINK = re.compile(r"(\S*)/reset-password\?access_token=([A-Za-z0-9]{64})")


def request_reset(api, address="ada@example.com", **options):
    headers = {"X-Request-Id": REQUEST_ID, **options.pop("headers", {})}
    return api("POST", "/users/reset", {"email": address}, headers=headers, **options)


def parse(raw):
    return message_from_bytes(raw, policy=email.policy.default)


def written(api):
    """Return the paths of the mails that are written as files, once none is due."""
    app = api.client.application
    outbox.stop(app)
    drain(app)
    return sorted(Path(app.config["MAIL_FOLDER"]).iterdir())


def log_lines(caplog):
    """Return what the app logged."""
    return [record.getMessage() for record in caplog.records if record.name == "app"]
