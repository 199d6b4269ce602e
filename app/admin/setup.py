"""The page at /admin with its static files, its calls, and the lists that they read."""

from flask import Blueprint, Flask
from flask.typing import ResponseReturnValue

from app.pages import render_client_page
from app.rest.endpoint import Endpoints, register_endpoints
from app.users.user_models import has_several, settings_of, user_models
from app.users.views.pages import page_of_model

from .calls import MODEL, RULES, added_calls, calls
from .endpoints import records, users

__all__ = ["calls", "init_app"]

bp = Blueprint("admin_page", __name__, template_folder="templates", static_folder="static")


def init_app(app: Flask) -> None:
    """Serve the page and the calls; ACLS may allow others single calls, and deny admins none.

    The page is the same for all callers: its content comes from the API.
    """
    app.register_blueprint(bp, url_prefix="/admin")
    users.init_app(app)
    records.init_app(app)
    register_endpoints(app, Endpoints(MODEL, [*calls, *added_calls.of(app)], (), kept=RULES))


@bp.get("")
def page() -> ResponseReturnValue:
    """Return the page."""
    _, of_model = page_of_model()
    return render_client_page("admin.html", **of_model, userModels=_user_models())


def _user_models() -> dict[str, dict[str, str]]:
    """Return the models of users by `principalType`, if there are several."""
    if not has_several():
        return {}
    return {
        name: {
            "path": settings_of(name)["USERS_PATH"].lower(),
            "resource": model.resource,
            "title": model.name,
        }
        for name, model in user_models.current.items()
    }
