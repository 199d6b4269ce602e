"""The page at /account, and its static files."""

from typing import Any

from flask import Blueprint, Flask, current_app, request, url_for
from flask.typing import ResponseReturnValue

from app.access.policy import compiled_rules
from app.pages import render_client_page
from app.users.user_models import FIRST, properties_of, settings_of
from app.users.views.pages import page_of_model

bp = Blueprint("account_page", __name__, template_folder="templates", static_folder="static")


def init_app(app: Flask) -> None:
    """Serve the page, and let links in mails lead to it."""
    app.register_blueprint(bp, url_prefix="/account")


@bp.get("")
def page() -> ResponseReturnValue:
    """Return the page."""
    return render_client_page("account.html", **_features())


def _features() -> dict[str, Any]:
    """Return the settings for the scripts of this page, beside those of all pages."""
    principal_type, of_model = page_of_model()
    config, properties = settings_of(principal_type), properties_of(principal_type)
    is_first = principal_type == FIRST
    return {
        **of_model,
        "document": url_for("openapi.document"),
        "emailChange": config["EMAIL_CHANGE"],
        "asksForConfirmation": config["EMAIL_VERIFICATION"] is not None,
        "passwordMinLength": config["PASSWORD_MIN_LENGTH"],
        "personalTokens": config["PERSONAL_TOKENS"],
        "userProperties": [own.name for own in properties if not own.hidden],
        "requiresProperties": any(own.required and own.default is None for own in properties),
        "models": _models() if config["PERSONAL_TOKENS"] else [],
        # Only users of the first model log in by providers.
        "identities": is_first and bool(config["PROVIDERS"]),
        "providers": _logins() if is_first else [],
    }


def _models() -> list[str]:
    """Return the names of the models that scopes of a personal token may name."""
    rules = compiled_rules.current.items()
    return sorted({model for (model, _), rule in rules if not (rule.session_only or rule.unscoped)})


def _logins() -> list[dict[str, str]]:
    """Return the labels and paths of logins by identity providers."""
    links: Any = current_app.jinja_env.globals.get("login_links", [])
    return [{"label": label, "path": request.script_root + path} for label, path in links]
