"""The page of the API explorer, its static files, and Swagger UI's assets."""

from pathlib import Path

import flask_swagger_ui
from flask import Blueprint, Flask, abort, make_response, render_template, send_from_directory
from flask.typing import ResponseReturnValue

from app.http.responses import policy_of_scripts

# The assets of Swagger UI in the package; the package's own page has inline scripts.
SWAGGER_UI = Path(flask_swagger_ui.__file__).with_name("dist")
FILES = {"swagger-ui-bundle.js", "swagger-ui.css"}
# Swagger UI's icons.
IMAGES = "data:"

bp = Blueprint("explorer", __name__, template_folder="templates", static_folder="static")


def init_app(app: Flask) -> None:
    """Serve the explorer; the OpenAPI document does not depend on it."""
    app.register_blueprint(bp, url_prefix="/explorer")


@bp.get("")
def page() -> ResponseReturnValue:
    """Return the page."""
    response = make_response(render_template("explorer.html"))
    response.headers["Content-Security-Policy"] = policy_of_scripts(IMAGES)
    return response


@bp.get("/swagger-ui/<name>")
def swagger_ui(name: str) -> ResponseReturnValue:
    """Return one of Swagger UI's files."""
    if name not in FILES:
        abort(404)
    return send_from_directory(SWAGGER_UI, name)
