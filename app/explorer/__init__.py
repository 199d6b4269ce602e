"""The page of the API explorer, its static files, and Swagger UI's assets."""

from pathlib import Path

import flask_swagger_ui
from flask import (
    Blueprint,
    Flask,
    abort,
    current_app,
    make_response,
    render_template,
    send_from_directory,
    url_for,
)
from flask.typing import ResponseReturnValue

from app.http.responses import policy_of_scripts

# The assets of Swagger UI in the package; the package's own page has inline scripts.
SWAGGER_UI = Path(flask_swagger_ui.__file__).with_name("dist")
FILES = {"swagger-ui-bundle.js", "swagger-ui.css"}
# Swagger UI's icons.
IMAGES = "data:"
# The calls of users that the page makes; a project may serve some of them, or none.
CALLS = {"register": "users.create", "login": "users.login", "logout": "users.logout"}

bp = Blueprint("explorer", __name__, template_folder="templates", static_folder="static")


def init_app(app: Flask) -> None:
    """Serve the explorer; the OpenAPI document does not depend on it."""
    app.register_blueprint(bp, url_prefix="/explorer")


@bp.get("")
def page() -> ResponseReturnValue:
    """Return the page."""
    response = make_response(render_template("explorer.html", addresses=_addresses()))
    response.headers["Content-Security-Policy"] = policy_of_scripts(IMAGES)
    return response


def _addresses() -> dict[str, str]:
    """Return the addresses of those calls of users that are served."""
    served = current_app.view_functions
    return {name: url_for(view) for name, view in CALLS.items() if view in served}


@bp.get("/swagger-ui/<name>")
def swagger_ui(name: str) -> ResponseReturnValue:
    """Return one of Swagger UI's files."""
    if name not in FILES:
        abort(404)
    return send_from_directory(SWAGGER_UI, name)
