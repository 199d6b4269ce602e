"""Endpoints of an account: its address, password and audit log, and what admins do with it."""

from dataclasses import replace
from functools import partial

from flask import Flask, Response, current_app, request
from flask.typing import ResponseReturnValue

from app import errors
from app.access.identity import current_identity
from app.access.rules import AUTHENTICATED, EVERYONE, EXECUTE, OWNER, READ, WRITE
from app.audit.models import AuditRecord
from app.audit.schemas import AuditRecordSchema
from app.database.ids import app_id_form
from app.rest.collection import Collection, served_collections
from app.rest.filters.tree import Order, Place
from app.rest.requests.bodies import Body
from app.rest.requests.parameters import read_parameter
from app.rest.resource import Resource
from app.rest.views.lists import respond_page
from app.settings import Settings
from app.users.accounts import confirmation, credentials, lookup, passwords, removal
from app.users.accounts.removal import keeping_admin
from app.users.models import RESET_SCOPE, User, token_digest
from app.users.names import NOT_AN_EMAIL
from app.users.resource import principal_type_of, session_of, users
from app.users.schemas import (
    ChangeEmailSchema,
    ChangePasswordSchema,
    NewPasswordSchema,
    ResetRequestSchema,
)
from app.users.sessions.assurance import NOT_RECENT, require_factor, require_recent

BAD_NEW_EMAIL = errors.ValidationError({"newEmail": [NOT_AN_EMAIL]})
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
NO_RESET = errors.ValidationError({"id": [passwords.DISABLED]})
BAD_NEW_PASSWORD = errors.ValidationError({"newPassword": [errors.TOO_COMMON]})
LATEST_FIRST = (Order(Place("id"), descending=True),)
audit_log = Resource(
    name="audit",
    singular="auditRecord",
    description="A record of the audit log: who did what, and from where.",
    model=AuditRecord,
    schema=AuditRecordSchema,
    # No rule allows any caller another method.
    rules=lambda _settings: [],
)


def init_app(app: Flask) -> None:
    """Add the resource to the OpenAPI document; it has no endpoints of its own."""
    Collection(audit_log, app.config).add_to(app)


def serves_administration(settings: Settings) -> bool:
    """Return True if the endpoints are served by which others manage an account."""
    return bool(settings["ADMIN_ENABLED"])


@users.endpoint(
    "verify",
    EXECUTE,
    "POST /<id>/verify",
    permits=EVERYONE,
    finds_row=False,
    errors=(errors.TooManyRequests(60),),
    is_served=confirmation.serves_verification,
    summary="Mail a user a link that confirms the address",
    description="The response is the same for unknown ids, and for users with a confirmed address.",
    gets_collection=True,
)
def verify(id: str, collection: Collection) -> None:
    """Mail a user a link that confirms the address."""
    user_id = app_id_form().parse(id)
    confirmation.request_verification(user_id, principal_type_of(collection))


@users.endpoint(
    "confirm",
    READ,
    "GET /confirm",
    permits=EVERYONE,
    parameters=CONFIRMATION,
    redirects=True,
    errors=(errors.InvalidConfirmation(), errors.InvalidRedirect()),
    is_served=confirmation.serves_verification,
    summary="Confirm the address of a user with a mailed token",
    gets_collection=True,
)
def confirm(collection: Collection) -> Response:
    """Confirm the address of a user with a mailed token."""
    target = request.args.get("redirect")
    if target and target not in current_app.config["REDIRECT_URLS"]:
        raise errors.InvalidRedirect()
    uid, digest = request.args.get("uid", ""), token_digest(request.args.get("token", ""))
    confirmation.confirm_own_address(uid, digest, principal_type_of(collection))
    return Response(status=302, headers={"Location": target}) if target else Response(status=204)


@users.endpoint(
    "changeEmail",
    EXECUTE,
    "POST /change-email",
    permits=AUTHENTICATED,
    body=ChangeEmailSchema,
    errors=(
        errors.InvalidPassword(),
        errors.StrongerLoginRequired(["totp"]),
        errors.EmailProofRequired("renamed@example.com"),
        BAD_NEW_EMAIL,
        errors.TooManyRequests(60),
    ),
    hashes=True,
    is_served=confirmation.confirms_changes,
    summary="Mail a link to a new address, which becomes the user's when confirmed",
    description=(
        "The old address is notified. The response is the same for an address that "
        "another user has. An address that was proved by a code is changed at once."
    ),
    gets_collection=True,
)
def change_email(body: Body, collection: Collection) -> None:
    """Mail a link to a new address, which becomes the user's when confirmed."""
    session = session_of(collection)
    require_factor(session)
    confirmation.request_email_change(session.user_id, **body, keep=session.digest)


@users.endpoint(
    "disable",
    WRITE,
    "POST /<id>/disable",
    errors=(NOT_RECENT, errors.LastAdmin()),
    is_served=serves_administration,
    summary=(
        "Bar a user from logging in and end all sessions; requires a recent login of the caller"
    ),
)
def disable(user: User) -> None:
    """Bar a user from logging in and end all sessions; requires a recent login of the caller."""
    require_recent(current_identity().require_session())
    with keeping_admin():
        removal.disable_user(user.id)


@users.endpoint(
    "enable",
    WRITE,
    "POST /<id>/enable",
    errors=(NOT_RECENT,),
    is_served=serves_administration,
    summary="Let a disabled user log in again; requires a recent login of the caller",
)
def enable(user: User) -> None:
    """Let a disabled user log in again; requires a recent login of the caller."""
    require_recent(current_identity().require_session())
    removal.enable_user(user.id)


@users.endpoint(
    "sendReset",
    WRITE,
    "POST /<id>/sendReset",
    errors=(NO_RESET, errors.TooManyRequests(60)),
    is_served=serves_administration,
    summary="Mail a user a link to set a new password",
)
def send_reset(user: User) -> None:
    """Mail a user a link to set a new password."""
    passwords.send_reset(user.id)


@users.endpoint(
    "markVerified",
    WRITE,
    "POST /<id>/markVerified",
    errors=(NOT_RECENT,),
    is_served=serves_administration,
    summary="Mark a user's email as verified without a mail; requires a recent login of the caller",
)
def mark_verified(user: User) -> None:
    """Mark a user's email as verified without a mail; requires a recent login of the caller."""
    require_recent(current_identity().require_session())
    credentials.vouch_for(lookup.get_user(user.id))


@users.endpoint(
    "__get__audit",
    READ,
    "GET /<id>/audit",
    permits=OWNER,
    query="filter",
    answer="[{}WithRelations]",
    has_pages=True,
    subject="audit",
    summary="List the records of the audit log about a user, newest first",
)
def audit_records(user: User) -> ResponseReturnValue:
    """List the records of the audit log about a user, newest first."""
    collection = served_collections.current[audit_log.name]
    filter_ = collection.parse(read_parameter("filter"))
    ordered = replace(filter_, order=filter_.order or LATEST_FIRST)
    conditions = [AuditRecord.user_id == user.id]
    page = collection.rows.find(conditions, ordered)
    count = partial(collection.rows.count, conditions, ordered)
    return respond_page(collection, page, count, ordered)


@users.endpoint(
    "resetPassword",
    EXECUTE,
    "POST /reset",
    permits=EVERYONE,
    body=ResetRequestSchema,
    answer={"type": "object", "additionalProperties": False},
    errors=(
        errors.EmailRequired(),
        errors.InvalidEmail(),
        errors.InvalidRealm(),
        errors.TooManyRequests(60),
    ),
    summary="Request a password reset; the response is the same for unknown emails",
    gets_collection=True,
)
def request_password_reset(body: Body, collection: Collection) -> dict[str, object]:
    """Request a password reset; the response is the same for unknown emails."""
    passwords.request_password_reset(**body, principal_type=principal_type_of(collection))
    return {}


@users.endpoint(
    "setPassword",
    EXECUTE,
    "POST /reset-password",
    permits=EVERYONE,
    body=NewPasswordSchema,
    scope=RESET_SCOPE,
    errors=(BAD_NEW_PASSWORD, errors.TooManyRequests(60)),
    hashes=True,
    summary="Set a new password with a reset token",
    gets_collection=True,
)
def reset_password(body: Body, collection: Collection) -> None:
    """Set a new password with a reset token."""
    digest = current_identity().require_scope(RESET_SCOPE).digest
    passwords.use_reset_token(digest, **body, principal_type=principal_type_of(collection))


@users.endpoint(
    "changePassword",
    EXECUTE,
    "POST /change-password",
    permits=AUTHENTICATED,
    body=ChangePasswordSchema,
    errors=(
        errors.AuthorizationRequired(),
        errors.InvalidPassword(),
        BAD_NEW_PASSWORD,
        errors.TooManyRequests(60),
    ),
    hashes=True,
    summary="Change the password with the old one; ends the user's other sessions",
    gets_collection=True,
)
def change_password(body: Body, collection: Collection) -> None:
    """Change the password with the old one; ends the user's other sessions."""
    session = session_of(collection)
    passwords.change_password(session.user_id, keep=session.digest, **body)
