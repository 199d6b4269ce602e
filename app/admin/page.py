"""The page at /admin, and its static files."""

from flask import Blueprint, Flask
from flask.typing import ResponseReturnValue

from app.pages.assets import render_client_page

bp = Blueprint("admin_page", __name__, template_folder="templates", static_folder="static")


def init_app(app: Flask) -> None:
    """Serve the page. It is the same for all callers: its content comes from the API."""
    app.register_blueprint(bp, url_prefix="/admin")


@bp.get("")
def page() -> ResponseReturnValue:
    """Return the page."""
    return render_client_page("admin.html")
