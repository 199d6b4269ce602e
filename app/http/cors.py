"""Cross-origin resource sharing (CORS): which pages of other origins may call the API."""

import re

from flask import Flask
from flask_cors import CORS

# The headers of responses that a page may read, beside those that every page may.
EXPOSED = (
    *("ETag", "Link", "Retry-After"),
    *("X-Database-Position", "X-Request-Id", "X-Total-Count"),
)
# Seconds for which a browser remembers the answer to a preflight; Chromium takes up to 7200.
MAX_AGE = 600


def init_app(app: Flask) -> None:
    """Let pages of CORS_ORIGINS call the API; with cookies, if the token middleware has some."""
    origins = app.config["CORS_ORIGINS"]
    with_cookies = bool(app.config["TOKEN_MIDDLEWARE"])
    CORS(
        app,
        resources=re.compile(f"{re.escape(app.config['REST_API_ROOT'])}(/.*)?$"),
        # Patterns, because Flask-CORS takes a text with brackets, as of an IPv6 address, for one.
        origins="*"
        if "*" in origins
        else [re.compile(rf"{re.escape(origin)}\Z") for origin in origins],
        send_wildcard=not with_cookies,
        supports_credentials=with_cookies,
        expose_headers=EXPOSED,
        max_age=MAX_AGE,
        always_send=False,
    )
