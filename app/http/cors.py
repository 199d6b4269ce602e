"""Cross-origin resource sharing (CORS): pages of other origins that may call the API."""

import re

from flask import Flask
from flask_cors import CORS

# Response headers that a page may read, besides those that are always readable.
EXPOSED = (
    *("ETag", "Link", "Retry-After"),
    *("Idempotency-Replayed", "X-Database-Position", "X-Request-Id", "X-Total-Count"),
)
# Seconds for which a browser caches the response to a preflight; Chromium's maximum is 7200.
MAX_AGE = 600


def init_app(app: Flask) -> None:
    """Allow CORS_ORIGINS to call the API; with cookies, if a token middleware reads cookies."""
    origins = app.config["CORS_ORIGINS"]
    with_cookies = bool(app.config["TOKEN_MIDDLEWARE"])
    CORS(
        app,
        resources=re.compile(f"{re.escape(app.config['REST_API_ROOT'])}(/.*)?$"),
        # Patterns, because Flask-CORS takes a text with brackets, such as an IPv6 address, for one.
        origins="*"
        if "*" in origins
        else [re.compile(rf"{re.escape(origin)}\Z") for origin in origins],
        send_wildcard=not with_cookies,
        supports_credentials=with_cookies,
        expose_headers=EXPOSED,
        max_age=MAX_AGE,
        always_send=False,
    )
