"""The endpoints of users and access tokens, in addition to those of every collection."""

from typing import Any

from flask import Flask, Response, current_app, jsonify, request
from flask.typing import ResponseReturnValue
from marshmallow import fields

from app import errors
from app.access.identity import current_identity
from app.access.rules import EXECUTE, READ, WRITE
from app.database.ids import app_id_form
from app.database.purging import purger_of
from app.errors import AccessTokenRequired, TooDeep
from app.rest.requests.bodies import parse_json
from app.rest.views.collection import register_resource
from app.settings import is_compatible

from . import accounts, audit, confirmation, email_change, password_reset, tokens, verification
from . import login as login_service
from .cookies import clear_cookie, set_cookie
from .current import users_resource
from .models import RESET_SCOPE, AccessToken, token_digest
from .resource import users, users_of
from .schemas import (
    AccessTokenSchema,
    ChangeEmailSchema,
    ChangePasswordSchema,
    CredentialsSchema,
    LogoutSchema,
    LoopBackSessionSchema,
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
CONFIRMATION = (
    {"name": "uid", "in": "query", "required": True, "schema": {"type": "string"}},
    {"name": "token", "in": "query", "required": True, "schema": {"type": "string"}},
    {
        "name": "redirect",
        "in": "query",
        "description": "One of `REDIRECT_URLS`; without it the answer is 204.",
        "schema": {"type": "string"},
    },
)
UNKNOWN_SESSION = errors.ModelNotFound("accessToken", "0123456789abcdef")


class LoginSchema(AccessTokenSchema):
    """A new access token with its user, who may have properties of this app's own."""

    user = fields.Nested(lambda: users_resource().schema_instance)


BAD_NEW_PASSWORD = errors.ValidationError({"newPassword": ["is too common"]})
BAD_NEW_EMAIL = errors.ValidationError({"newEmail": ["is not an email address"]})


def init_app(app: Flask) -> None:
    """Serve the resource of users with the endpoints declared below."""
    register_resource(app, users_of(app))
    audit.init_app(app)
    purger_of(app).add(AccessToken.__tablename__, tokens.purge_batch)


@users.endpoint(
    "login",
    EXECUTE,
    "POST /login",
    body=CredentialsSchema,
    answer=LoginSchema,
    parameters=(INCLUDE,),
    errors=(
        errors.LoginFailed(),
        errors.EmailNotVerified(1),
        errors.UsernameOrEmailRequired(),
        errors.RealmRequired(),
        errors.InvalidEmail(),
        errors.InvalidUsername(),
        errors.InvalidRealm(),
        errors.InvalidTtl(),
        errors.TooManyRequests(60),
    ),
    hashes=True,
)
def login(body: dict[str, Any]) -> Response:
    """Log in: exchange credentials for an access token."""
    token = login_service.login(body, include=_requested_includes())
    schema = AccessTokenSchema() if token.user is None else LoginSchema()
    answer = schema.dump(token)
    if token.user is not None:
        answer["user"] = users_resource().leave(token.user, answer["user"])
    response = jsonify(answer)
    set_cookie(response, token.id, token.ttl, token.remember_me)
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
    errors=(BAD_NEW_PASSWORD, errors.TooManyRequests(60)),
    hashes=True,
)
def reset_password(body: dict[str, Any]) -> None:
    """Set a new password with a reset token."""
    digest = current_identity().require_scope(RESET_SCOPE).digest
    password_reset.use_reset_token(digest, **body)


@users.endpoint(
    "changePassword",
    EXECUTE,
    "POST /change-password",
    body=ChangePasswordSchema,
    errors=(errors.InvalidPassword(), BAD_NEW_PASSWORD, errors.TooManyRequests(60)),
    hashes=True,
)
def change_password(body: dict[str, Any]) -> None:
    """Set a new password with the old one; the user's other sessions end."""
    session = current_identity().require_session()
    accounts.change_password(session.user_id, keep=session.digest, **body)


@users.endpoint(
    "verify",
    EXECUTE,
    "POST /<id>/verify",
    finds_row=False,
    errors=(errors.TooManyRequests(60),),
    is_served=verification.is_served,
)
def verify(id: str) -> None:
    """Mail a user a link that confirms the address.

    The response is the same for unknown ids, and for users whose address is confirmed.
    """
    verification.request_verification(app_id_form().parse(id))


@users.endpoint(
    "confirm",
    READ,
    "GET /confirm",
    parameters=CONFIRMATION,
    redirects=True,
    errors=(errors.InvalidConfirmation(), errors.InvalidRedirect()),
    is_served=verification.is_served,
)
def confirm() -> Response:
    """Confirm the address of a user with the token that was mailed."""
    target = request.args.get("redirect")
    if target and target not in current_app.config["REDIRECT_URLS"]:
        raise errors.InvalidRedirect()
    digest = token_digest(request.args.get("token", ""))
    confirmation.confirm_own_address(request.args.get("uid", ""), digest)
    return Response(status=302, headers={"Location": target}) if target else Response(status=204)


@users.endpoint(
    "changeEmail",
    EXECUTE,
    "POST /change-email",
    body=ChangeEmailSchema,
    errors=(errors.InvalidPassword(), BAD_NEW_EMAIL, errors.TooManyRequests(60)),
    hashes=True,
    is_served=email_change.is_enabled,
)
def change_email(body: dict[str, Any]) -> None:
    """Mail a link to a new address, which becomes the user's when it is confirmed.

    The old address is told. The response is the same for an address that another user has.
    """
    session = current_identity().require_session()
    email_change.request_email_change(session.user_id, **body)


@users.endpoint(
    "__get__accessTokens",
    READ,
    "GET /<id>/accessTokens",
    answer=[LoopBackSessionSchema],
    is_served=is_compatible,
)
@users.endpoint(
    "__get__accessTokens",
    READ,
    "GET /<id>/accessTokens",
    answer=[SessionSchema],
    is_served=lambda settings: not is_compatible(settings),
)
def sessions(user: Any) -> list[tokens.Session]:
    """List a user's sessions."""
    return tokens.list_sessions(user.id, current_identity().require_session().digest)


@users.endpoint(
    "__count__accessTokens",
    READ,
    "GET /<id>/accessTokens/count",
    answer="Count",
    errors=(errors.InvalidFilter("where cannot be used here."),),
    is_served=is_compatible,
)
def count_sessions(user: Any) -> dict[str, int]:
    """Count a user's sessions."""
    if any(name.partition("[")[0] == "where" for name in request.args):
        raise errors.InvalidFilter("where cannot be used here.")
    return {"count": tokens.count_sessions(user.id)}


@users.endpoint(
    "__findById__accessTokens",
    READ,
    "GET /<id>/accessTokens/<handle>",
    answer=LoopBackSessionSchema,
    errors=(UNKNOWN_SESSION,),
    is_served=is_compatible,
)
def session(user: Any, handle: str) -> tokens.Session:
    """Show one of a user's sessions, by its handle."""
    return tokens.find_session(user.id, handle, current_identity().require_session().digest)


@users.endpoint(
    "__destroyById__accessTokens",
    WRITE,
    "DELETE /<id>/accessTokens/<handle>",
    errors=(UNKNOWN_SESSION,),
)
def revoke(user: Any, handle: str) -> None:
    """End one of a user's sessions."""
    tokens.revoke_session(user.id, handle)


@users.endpoint("__delete__accessTokens", WRITE, "DELETE /<id>/accessTokens")
def revoke_all(user: Any) -> None:
    """End all of a user's sessions."""
    tokens.destroy_all_tokens(user.id)


@users.endpoint(
    "__get__audit",
    READ,
    "GET /<id>/audit",
    query="filter",
    answer="[{}WithRelations]",
    subject="audit",
)
def audit_records(user: Any) -> ResponseReturnValue:
    """List the records of the audit log about a user, the newest first."""
    return audit.respond_records(user.id)


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
