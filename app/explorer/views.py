"""The explorer's page, its own files, and those of Swagger UI that it needs."""

from pathlib import Path

import flask_swagger_ui
from flask import Blueprint, Flask, abort, make_response, render_template, send_from_directory
from flask.typing import ResponseReturnValue

# Where the package keeps Swagger UI as it is built; its own page has inline scripts.
SWAGGER_UI = Path(flask_swagger_ui.__file__).with_name("dist")
FILES = {"swagger-ui-bundle.js", "swagger-ui.css"}

# Nothing from elsewhere, nothing inline; Swagger UI needs no more than its icons as data: URLs.
# Forms are sent by script alone, so that no password can end up in an address.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'"
)

bp = Blueprint("explorer", __name__, template_folder="templates", static_folder="static")


def init_app(app: Flask) -> None:
    """Serve the explorer, unless it is switched off; the OpenAPI document stays either way."""
    if app.config["EXPLORER_ENABLED"]:
        app.register_blueprint(bp, url_prefix="/explorer")


@bp.get("")
def page() -> ResponseReturnValue:
    """Show the page."""
    response = make_response(render_template("explorer.html"))
    response.headers["Content-Security-Policy"] = POLICY
    return response


@bp.get("/swagger-ui/<name>")
def swagger_ui(name: str) -> ResponseReturnValue:
    """Send one of Swagger UI's files."""
    if name not in FILES:
        abort(404)
    return send_from_directory(SWAGGER_UI, name)
