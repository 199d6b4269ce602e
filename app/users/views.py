"""The endpoints of users and access tokens: load, call, dump."""

from typing import Any

from flask import current_app, g, jsonify, request
from flask.typing import ResponseReturnValue

from app.access.policy import authorize, require_scope, require_session, session_token
from app.errors import AccessTokenRequired, TooDeep
from app.rest.bodies import parse_json, read_body
from app.rest.collection import collection

from . import service
from .auth import clear_cookie, set_cookie
from .models import RESET_SCOPE, token_digest
from .resource import users
from .schemas import (
    AccessTokenSchema,
    ChangePasswordSchema,
    LoginSchema,
    NewPasswordSchema,
    SessionSchema,
)

bp = collection(users)

ANY_METHOD = ["GET", "POST", "PUT", "PATCH", "DELETE"]
NO_CONTENT = ("", 204)


@bp.post("/login")
def login() -> ResponseReturnValue:
    """Log in: exchange credentials for an access token."""
    authorize(users.name, "login")
    token = service.login(read_body(), include=_included())
    schema = AccessTokenSchema() if token.user is None else LoginSchema()
    response = jsonify(schema.dump(token))
    set_cookie(response, token.id, token.ttl)
    return response


@bp.route("/logout", methods=ANY_METHOD)
def logout() -> ResponseReturnValue:
    """Log out: end the access token that was presented, or named as `sid`."""
    authorize(users.name, "logout")
    service.end_session(_token_to_end())
    response = current_app.make_response(NO_CONTENT)
    clear_cookie(response)
    return response


@bp.post("/reset", endpoint="resetPassword")
def request_reset() -> ResponseReturnValue:
    """Ask for a password reset; the answer is the same whether the email is known or not."""
    authorize(users.name, "resetPassword")
    body = read_body()
    service.request_password_reset(body.get("email"), body.get("realm"))
    return jsonify({})


@bp.post("/reset-password", endpoint="setPassword")
def reset_password() -> ResponseReturnValue:
    """Set a new password with a reset token."""
    authorize(users.name, "setPassword")
    token = require_scope(RESET_SCOPE)
    data = NewPasswordSchema().load(read_body())
    service.reset_password(token.digest, **data)
    return NO_CONTENT


@bp.post("/change-password", endpoint="changePassword")
def change_password() -> ResponseReturnValue:
    """Set a new password with the old one; the user's other sessions end."""
    authorize(users.name, "changePassword")
    token = require_session()
    data = ChangePasswordSchema().load(read_body())
    service.change_password(token.user_id, keep=token.digest, **data)
    return NO_CONTENT


@bp.get("/<id>/accessTokens", endpoint="__get__accessTokens")
def sessions(id: str) -> ResponseReturnValue:
    """List a user's sessions."""
    user_id = users.reach("__get__accessTokens", id)[0]
    dump, mine = SessionSchema().dump, require_session().digest
    tokens = service.list_sessions(user_id)
    return jsonify([{**dump(each), "current": each.digest == mine} for each in tokens])


@bp.delete("/<id>/accessTokens/<handle>", endpoint="__destroyById__accessTokens")
def revoke(id: str, handle: str) -> ResponseReturnValue:
    """End one of a user's sessions."""
    service.revoke_session(users.reach("__destroyById__accessTokens", id)[0], handle)
    return NO_CONTENT


@bp.delete("/<id>/accessTokens", endpoint="__delete__accessTokens")
def revoke_all(id: str) -> ResponseReturnValue:
    """End all of a user's sessions."""
    service.destroy_all_tokens(users.reach("__delete__accessTokens", id)[0])
    return NO_CONTENT


def _included() -> list[Any]:
    """Return what `?include=` names, which may be repeated or a JSON list."""
    names: list[Any] = []
    for value in request.args.getlist("include"):
        try:
            parsed = parse_json(value)
        except (ValueError, TooDeep):
            parsed = value
        names.extend(parsed if isinstance(parsed, list) else [parsed])
    return names


def _token_to_end() -> str:
    """Return the digest of `sid` from the body, or else of the token that was presented."""
    sid = read_body().get("sid")
    if isinstance(sid, str) and sid:
        return token_digest(sid)
    if (token := session_token()) is None:
        raise g.token_error or AccessTokenRequired()
    return str(token.digest)
