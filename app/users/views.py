"""The endpoints of users and access tokens, in addition to those of every collection."""

from typing import Any

from flask import Flask, Response, jsonify, request

from app import errors
from app.access.identity import current_identity
from app.access.rules import EXECUTE, READ, WRITE
from app.errors import AccessTokenRequired, TooDeep
from app.rest.bodies import parse_json
from app.rest.collection import register_resource

from . import accounts, password_reset, tokens
from . import login as login_service
from .cookies import clear_cookie, set_cookie
from .models import RESET_SCOPE, token_digest
from .resource import THROTTLED, users
from .schemas import (
    AccessTokenSchema,
    ChangePasswordSchema,
    CredentialsSchema,
    LoginSchema,
    LogoutSchema,
    NewPasswordSchema,
    ResetRequestSchema,
    SessionSchema,
)

INCLUDE = {
    "name": "include",
    "in": "query",
    "description": "`user` adds the user to the response.",
    "schema": {"type": "string", "enum": ["user"]},
}
BAD_NEW_PASSWORD = errors.ValidationError({"newPassword": ["is too common"]})


def init_app(app: Flask) -> None:
    """Serve the resource of users with the endpoints declared below."""
    register_resource(app, users)


@users.endpoint(
    "login",
    EXECUTE,
    "POST /login",
    body=CredentialsSchema,
    answer=LoginSchema,
    parameters=(INCLUDE,),
    errors=(
        errors.LoginFailed(),
        errors.UsernameOrEmailRequired(),
        errors.RealmRequired(),
        errors.InvalidEmail(),
        errors.InvalidUsername(),
        errors.InvalidRealm(),
        errors.InvalidTtl(),
        *THROTTLED,
    ),
)
def login(body: dict[str, Any]) -> Response:
    """Log in: exchange credentials for an access token."""
    token = login_service.login(body, include=_requested_includes())
    schema = AccessTokenSchema() if token.user is None else LoginSchema()
    response = jsonify(schema.dump(token))
    set_cookie(response, token.id, token.ttl)
    return response


@users.endpoint(
    "logout",
    EXECUTE,
    *(f"{verb} /logout" for verb in ("POST", "GET", "PUT", "PATCH", "DELETE")),
    body=LogoutSchema,
    token_optional=True,
    errors=(errors.AccessTokenRequired(), errors.InvalidToken()),
)
def logout(body: dict[str, Any]) -> Response:
    """Log out: delete the access token that was presented, or sent as `sid`."""
    tokens.delete_session(_token_to_end(body))
    response = Response(status=204)
    clear_cookie(response)
    return response


@users.endpoint(
    "resetPassword",
    EXECUTE,
    "POST /reset",
    body=ResetRequestSchema,
    answer={"type": "object", "additionalProperties": False},
    errors=(
        errors.EmailRequired(),
        errors.InvalidEmail(),
        errors.InvalidRealm(),
        errors.TooManyRequests(60),
    ),
)
def request_password_reset(body: dict[str, Any]) -> dict[str, Any]:
    """Request a password reset; the response is the same for unknown emails."""
    password_reset.request_password_reset(**body)
    return {}


@users.endpoint(
    "setPassword",
    EXECUTE,
    "POST /reset-password",
    body=NewPasswordSchema,
    scope=RESET_SCOPE,
    errors=(BAD_NEW_PASSWORD, *THROTTLED),
)
def reset_password(body: dict[str, Any]) -> None:
    """Set a new password with a reset token."""
    password_reset.reset_password(current_identity().require_scope(RESET_SCOPE).digest, **body)


@users.endpoint(
    "changePassword",
    EXECUTE,
    "POST /change-password",
    body=ChangePasswordSchema,
    errors=(errors.InvalidPassword(), BAD_NEW_PASSWORD, *THROTTLED),
)
def change_password(body: dict[str, Any]) -> None:
    """Set a new password with the old one; the user's other sessions end."""
    session = current_identity().require_session()
    accounts.change_password(session.user_id, keep=session.digest, **body)


@users.endpoint("__get__accessTokens", READ, "GET /<id>/accessTokens", answer=[SessionSchema])
def sessions(user: Any) -> list[tokens.Session]:
    """List a user's sessions."""
    return tokens.list_sessions(user.id, current_identity().require_session().digest)


@users.endpoint(
    "__destroyById__accessTokens",
    WRITE,
    "DELETE /<id>/accessTokens/<handle>",
    errors=(errors.ModelNotFound("accessToken", "0123456789abcdef"),),
)
def revoke(user: Any, handle: str) -> None:
    """End one of a user's sessions."""
    tokens.revoke_session(user.id, handle)


@users.endpoint("__delete__accessTokens", WRITE, "DELETE /<id>/accessTokens")
def revoke_all(user: Any) -> None:
    """End all of a user's sessions."""
    tokens.destroy_all_tokens(user.id)


def _requested_includes() -> list[Any]:
    """Return the values of `?include=`, which may be repeated or a JSON list."""
    names: list[Any] = []
    for value in request.args.getlist("include"):
        try:
            parsed = parse_json(value)
        except (ValueError, TooDeep):
            parsed = value
        names.extend(parsed if isinstance(parsed, list) else [parsed])
    return names


def _token_to_end(body: dict[str, Any]) -> str:
    """Return the digest of `sid` from the body, or else of the token that was presented."""
    sid = body.get("sid")
    if isinstance(sid, str) and sid:
        return token_digest(sid)
    identity = current_identity()
    if identity.session is None:
        raise identity.error or AccessTokenRequired()
    return identity.session.digest
