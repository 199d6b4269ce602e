"""The files that pages share, and the response for a page with scripts that use the API."""

from typing import Any

from flask import Blueprint, Flask, Response, current_app, make_response, render_template, request

from app.http.responses import policy_of_scripts

# For QR codes and pictures in rows.
IMAGES = "data: blob:"
#: Seconds without a key or click after which a page logs its user out (OWASP ASVS 7.3.1).
IDLE_SECONDS = 900

bp = Blueprint("page_assets", __name__, template_folder="templates", static_folder="static")


def init_app(app: Flask) -> None:
    """Serve the files that pages share."""
    app.register_blueprint(bp, url_prefix="/ostiary")


def render_client_page(template: str, **features: object) -> Response:
    """Render a page that is a client of the API; its scripts get the settings and features."""
    page = {**_settings(), **features}
    response = make_response(render_template(template, page=page))
    response.headers["Content-Security-Policy"] = policy_of_scripts(IMAGES)
    return response


def _settings() -> dict[str, Any]:
    """Return the settings for the scripts of every page."""
    config = current_app.config
    return {
        "service": config["SERVICE_NAME"],
        # A proxy may serve all of it below a path.
        "root": request.script_root + config["REST_API_ROOT"],
        # As in the OpenAPI document; requests may use any case.
        "users": config["USERS_PATH"].lower(),
        "idleSeconds": IDLE_SECONDS,
        # Whether a login by a provider sets a session cookie.
        "cookies": config["TOKEN_MIDDLEWARE"] is not None and bool(config["PROVIDERS"]),
        "refusedStatus": config["ACL_ERROR_STATUS"],
        "realmRequired": config["REALM_REQUIRED"],
        "registration": config["REGISTRATION_OPEN"],
        "passkeys": config["PASSKEYS"] is not None,
        "mailedCodes": config["EMAIL_LOGIN"],
        "secondFactor": bool(config["SECOND_FACTOR"]),
    }
