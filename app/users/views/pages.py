"""Pages without JavaScript that mails link to: to set a password, and to confirm an address."""

from functools import partial

from flask import Blueprint, Flask, request
from flask.typing import ResponseReturnValue
from werkzeug.exceptions import NotFound

from app import errors
from app.http.templates import languages_of, preferred_languages, render_page
from app.observability.origin import current_languages
from app.rest.endpoint import computes_hash
from app.rest.requests.bodies import read_body
from app.users.accounts.confirmation import (
    asks_for_verification,
    confirm_email,
    confirms_changes,
    find_confirmation,
)
from app.users.accounts.passwords import check_reset_token, reset_password
from app.users.models import token_digest
from app.users.sessions import login_methods
from app.users.sessions.cookies import serve_mailed_pages
from app.users.sessions.tokens import count_sessions
from app.users.user_models import FIRST, find_principal_type, settings_of, user_models

bp = Blueprint("user_pages", __name__)
confirmation_bp = Blueprint("confirmation", __name__)


def init_app(app: Flask) -> None:
    """Serve the pages; the one that confirms an address only if the settings require it."""
    serve_mailed_pages(app, bp)
    own = [model.settings for model in user_models.of(app).values() if model.settings]
    if confirms_changes(app.config) or any(map(asks_for_verification, [app.config, *own])):
        serve_mailed_pages(app, confirmation_bp)


@bp.get("/reset-password")
def show() -> ResponseReturnValue:
    """Show the form; does not use up the token, because mail scanners open links, too."""
    token = request.args.get("access_token", "")
    try:
        user = check_reset_token(token_digest(token))
    except errors.InvalidToken:
        return render_page("reset_password.html", 401, current_languages(), expired=True)
    return render_page("reset_password.html", 200, preferred_languages(user), token=token)


@bp.post("/reset-password")
@computes_hash
def submit() -> ResponseReturnValue:
    """Set the password, or show the form again with an error."""
    form = _read_form()
    token, page = form.get("access_token", ""), partial(render_page, "reset_password.html")
    languages = languages_of(form)
    try:
        reset_password(token, form.get("newPassword", ""))
    except errors.InvalidToken:
        return page(401, languages, expired=True)
    except errors.ValidationError as error:
        problem = error.details["messages"]["newPassword"][0]
        return page(422, languages, token=token, problem=f"The password {problem}.")
    except (errors.TooManyHashes, errors.TooManyRequests) as error:
        response = page(error.code, languages, token=token, problem=error.description)
        response.headers["Retry-After"] = str(error.retry_after)
        return response
    return page(200, languages, done=True)


@confirmation_bp.get("/confirm-email")
def ask() -> ResponseReturnValue:
    """Show the address, the account's login methods and a button; does not use up the token."""
    token = request.args.get("token", "")
    try:
        confirmation = find_confirmation(token_digest(token))
    except errors.InvalidConfirmation:
        return render_page("confirm_email.html", 400, current_languages(), expired=True)
    user = confirmation.user
    return render_page(
        "confirm_email.html",
        200,
        preferred_languages(user),
        token=token,
        confirmation=confirmation,
        logins=login_methods.find_unproven(user, confirmation.email),
        sessions=0 if confirmation.is_new else count_sessions(user.id),
    )


@confirmation_bp.post("/confirm-email")
def submit_confirmation() -> ResponseReturnValue:
    """Confirm the address, and remove the login methods that are not ticked."""
    form, page = _read_form(), partial(render_page, "confirm_email.html")
    token, languages = form.get("token", ""), languages_of(form)
    try:
        confirmation = confirm_email(token, kept=form, end_sessions="endSessions" in form)
    except errors.InvalidConfirmation:
        return page(400, languages, expired=True)
    except errors.ValidationError:
        return page(422, languages, taken=True)
    return page(200, languages, done=True, confirmation=confirmation)


def page_of_model() -> tuple[str, dict[str, object]]:
    """Return the model of users whom a page serves, and the settings of its scripts for them.

    It is the model that `?model=` names, by default the first one; raises NotFound.
    """
    try:
        principal_type = find_principal_type(request.args.get("model"))
    except LookupError:
        raise NotFound() from None
    if principal_type == FIRST:
        return FIRST, {}
    settings = settings_of(principal_type)
    return principal_type, {
        "users": settings["USERS_PATH"].lower(),
        "realmRequired": settings["REALM_REQUIRED"],
        # Only users of the first model log in by a mailed code.
        "mailedCodes": False,
    }


def _read_form() -> dict[str, str]:
    return {name: str(value) for name, value in read_body().items()}
