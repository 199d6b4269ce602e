"""The endpoints of users and access tokens: load, call, dump."""

import json
from typing import Any

from flask import Blueprint, current_app, g, jsonify, request
from flask.typing import ResponseReturnValue

from app.access.policy import refuse, require_owner, require_token
from app.errors import AccessTokenRequired
from app.rest.body import read_body

from . import service
from .auth import clear_cookie, set_cookie
from .models import RESET_SCOPE, token_digest
from .schemas import (
    AccessTokenSchema,
    ChangePasswordSchema,
    LoginSchema,
    NewPasswordSchema,
    RegistrationSchema,
    SessionSchema,
    UserSchema,
)

bp = Blueprint("users", __name__)

ANY_METHOD = ["GET", "POST", "PUT", "PATCH", "DELETE"]
NO_CONTENT = ("", 204)


@bp.post("")
def create() -> ResponseReturnValue:
    """Register a user."""
    if not current_app.config["REGISTRATION_OPEN"]:
        require_token()
        refuse("user", None)
    user = service.create_user(**RegistrationSchema().load(read_body()))
    return jsonify(UserSchema().dump(user))


@bp.post("/login")
def login() -> ResponseReturnValue:
    """Log in: exchange credentials for an access token."""
    token = service.login(read_body(), include=_included())
    schema = AccessTokenSchema() if token.user is None else LoginSchema()
    response = jsonify(schema.dump(token))
    set_cookie(response, token.id, token.ttl)
    return response


@bp.route("/logout", methods=ANY_METHOD)
def logout() -> ResponseReturnValue:
    """Log out: end the access token that was presented, or named as `sid`."""
    service.end_session(_token_to_end())
    response = current_app.make_response(NO_CONTENT)
    clear_cookie(response)
    return response


@bp.post("/reset")
def request_reset() -> ResponseReturnValue:
    """Ask for a password reset; the answer is the same whether the email is known or not."""
    body = read_body()
    service.request_password_reset(body.get("email"), body.get("realm"))
    return jsonify({})


@bp.post("/reset-password")
def reset_password() -> ResponseReturnValue:
    """Set a new password with a reset token."""
    token = require_token(RESET_SCOPE)
    data = NewPasswordSchema().load(read_body())
    service.reset_password(token.digest, **data)
    return NO_CONTENT


@bp.post("/change-password")
def change_password() -> ResponseReturnValue:
    """Set a new password with the old one; the user's other sessions end."""
    token = require_token()
    data = ChangePasswordSchema().load(read_body())
    service.change_password(token.user_id, keep=token.digest, **data)
    return NO_CONTENT


@bp.get("/<user_id>")
def show(user_id: str) -> ResponseReturnValue:
    """Show the caller's own record."""
    user = service.get_user(require_owner(user_id))
    return jsonify(UserSchema().dump(user))


@bp.patch("/<user_id>")
def change(user_id: str) -> ResponseReturnValue:
    """Change some fields of the caller's own record."""
    return _update(user_id, partial=True)


@bp.put("/<user_id>")
def replace(user_id: str) -> ResponseReturnValue:
    """Replace the caller's own record; fields that are not sent go back to their default."""
    return _update(user_id, partial=False)


@bp.delete("/<user_id>")
def delete(user_id: str) -> ResponseReturnValue:
    """Delete the caller, with all tokens and to-dos."""
    return jsonify({"count": service.delete_user(require_owner(user_id))})


@bp.get("/<user_id>/accessTokens")
def sessions(user_id: str) -> ResponseReturnValue:
    """List the caller's sessions."""
    tokens = service.list_sessions(require_owner(user_id))
    schema = SessionSchema()
    return jsonify(
        [{**schema.dump(each), "current": each.digest == g.access_token.digest} for each in tokens]
    )


@bp.delete("/<user_id>/accessTokens/<handle>")
def revoke(user_id: str, handle: str) -> ResponseReturnValue:
    """End one of the caller's sessions."""
    service.revoke_session(require_owner(user_id), handle)
    return NO_CONTENT


@bp.delete("/<user_id>/accessTokens")
def revoke_all(user_id: str) -> ResponseReturnValue:
    """End all of the caller's sessions, this one too."""
    service.destroy_all_tokens(require_owner(user_id))
    return NO_CONTENT


def _update(user_id: str, partial: bool) -> ResponseReturnValue:
    owner = require_owner(user_id)
    changes = UserSchema().load(read_body(), partial=partial)
    user = service.update_user(owner, changes, keep=g.access_token.digest)
    return jsonify(UserSchema().dump(user))


def _included() -> list[Any]:
    """Return what `?include=` names, which may be repeated or a JSON list."""
    names: list[Any] = []
    for value in request.args.getlist("include"):
        try:
            parsed = json.loads(value)
        except ValueError:
            parsed = value
        names.extend(parsed if isinstance(parsed, list) else [parsed])
    return names


def _token_to_end() -> str:
    """Return the digest of `sid` from the body, or else of the token that was presented."""
    sid = read_body().get("sid")
    if isinstance(sid, str) and sid:
        return token_digest(sid)
    if g.access_token is None or g.access_token.scope is not None:
        raise g.token_error or AccessTokenRequired()
    return str(g.access_token.digest)
