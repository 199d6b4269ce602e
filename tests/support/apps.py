"""Apps under test."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from flask import Flask

from app.factory import create_app
from app.features import FEATURES, Feature
from app.testing.apps import CHEAP_HASH


def build(
    url: str, mail_folder: Path, features: Iterable[Feature] = FEATURES, **settings: Any
) -> Flask:
    app = create_app(
        {
            "SQLALCHEMY_DATABASE_URI": url,
            "MAIL_FOLDER": str(mail_folder),
            "PASSWORD_HASH": CHEAP_HASH,
            # Tests make more attempts, and more of them at once, than the defaults allow.
            "PASSWORD_HASHES": 100,
            "THROTTLE_ENABLED": False,
            "TESTING": True,
            **settings,
        },
        features,
    )
    # pytest captures the records; as text they would join the output of commands, and those of the
    # outbox's thread at any moment.
    app.logger.handlers.clear()
    return app
