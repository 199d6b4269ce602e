"""The page for setting a new password, to which the reset mail links; without JavaScript."""

from secrets import token_urlsafe

from flask import Blueprint, Response, make_response, render_template, request
from flask.typing import ResponseReturnValue

from app.errors import InvalidToken, TooManyHashes, TooManyRequests, ValidationError
from app.rest.bodies import read_body

from .models import token_digest
from .password_reset import check_reset_token, reset_password

bp = Blueprint("pages", __name__)


@bp.get("/reset-password")
def show() -> ResponseReturnValue:
    """Show the form; does not use up the token, because mail scanners follow links too."""
    token = request.args.get("access_token", "")
    try:
        check_reset_token(token_digest(token))
    except InvalidToken:
        return _page(401, expired=True)
    return _page(200, token=token)


@bp.post("/reset-password")
def submit() -> ResponseReturnValue:
    """Set the password, or show the form again with an error."""
    form = {name: str(value) for name, value in read_body().items()}
    token = form.get("access_token", "")
    try:
        reset_password(token_digest(token), form.get("newPassword", ""))
    except InvalidToken:
        return _page(401, expired=True)
    except ValidationError as error:
        problem = error.details["messages"]["newPassword"][0]
        return _page(422, token=token, problem=f"The password {problem}.")
    except (TooManyHashes, TooManyRequests) as error:
        response = _page(error.code, token=token, problem=error.description)
        response.headers["Retry-After"] = str(error.retry_after)
        return response
    return _page(200, done=True)


def _page(status: int, **context: object) -> Response:
    """Render the page with a policy that forbids scripts, external resources and framing."""
    nonce = token_urlsafe(16)
    response = make_response(render_template("reset_password.html", nonce=nonce, **context), status)
    response.headers["Content-Security-Policy"] = (
        f"default-src 'none'; style-src 'nonce-{nonce}'; form-action 'self'; base-uri 'none'; "
        "frame-ancestors 'none'"
    )
    return response
