"""Endpoints of second factors; without SECOND_FACTOR they are declared but not served."""

from collections.abc import Mapping, Sequence

from flask import Response, request

from app import errors, ids
from app.access.identity import LiveToken, current_identity
from app.access.rules import EVERYONE, EXECUTE, OWNER, READ, WRITE
from app.rest.collection import Collection
from app.rest.requests.bodies import Body
from app.settings import Settings
from app.users.models import User
from app.users.resource import principal_type_of, users
from app.users.sessions import login
from app.users.sessions.assurance import NOT_RECENT, require_recent
from app.users.sessions.cookies import (
    SECOND_STEP_COOKIE,
    clear_login_flow_cookie,
    require_same_site,
)
from app.users.views.sessions import LoginSchema, respond_with_token

from . import recovery, steps
from .models import Factor
from .schemas import (
    CodeSchema,
    CodesLeftSchema,
    EnrolmentSchema,
    FactorNameSchema,
    FactorSchema,
    NewFactorSchema,
    ProofSchema,
    RecoveryCodesSchema,
    SecondStepSchema,
)
from .totp import service as totp

UNKNOWN_KIND = errors.ValidationError(login.UNKNOWN_KIND)
NO_FACTOR = errors.ValidationError(recovery.NO_FACTOR)
TOO_MANY_FACTORS = errors.ValidationError(totp.held.too_many)
UNKNOWN_FACTOR = errors.ModelNotFound("factor", 1)
NOT_PROVED = errors.EmailProofRequired()
THROTTLED = errors.TooManyRequests(60)


def _is_served(settings: Settings) -> bool:
    return bool(settings["SECOND_FACTOR"])


def _has_any_factors(settings: Settings) -> bool:
    return bool(settings["SECOND_FACTOR"] or settings["PASSKEYS"])


@users.endpoint(
    "loginWithFactor",
    EXECUTE,
    "POST /login/factor",
    permits=EVERYONE,
    body=SecondStepSchema,
    answer=LoginSchema,
    errors=(
        errors.SecondFactorFailed(),
        errors.InvalidTicket(),
        errors.LoginFailed(),
        UNKNOWN_KIND,
        THROTTLED,
    ),
    is_served=_is_served,
    summary="Log in: finish the second step of a login with a second factor",
    description="A browser that logs in by a provider has the ticket in a cookie.",
    gets_collection=True,
)
def login_with_factor(body: Body, collection: Collection) -> Response:
    """Log in: finish the second step of a login with a second factor."""
    token = steps.finish(ticket_of(body), body, principal_type_of(collection))
    response = respond_with_token(token, collection)
    clear_login_flow_cookie(response, SECOND_STEP_COOKIE)
    return response


@users.endpoint(
    "enrolAtLogin",
    EXECUTE,
    "POST /login/enrol",
    permits=EVERYONE,
    body=EnrolmentSchema,
    answer=NewFactorSchema,
    errors=(errors.InvalidTicket(), NOT_PROVED, UNKNOWN_KIND),
    is_served=_is_served,
    summary="Add the required second factor during a login; a code of it finishes the login",
    description="The account's address must be proved.",
    gets_collection=True,
)
def enrol_at_login(body: Body, collection: Collection) -> object:
    """Add the required second factor during a login; a code of it finishes the login."""
    principal_type = principal_type_of(collection)
    return steps.begin_enrolment(ticket_of(body), body["kind"], principal_type)


@users.endpoint(
    "__create__factors",
    WRITE,
    "POST /<id>/factors/totp",
    permits=OWNER,
    body=FactorNameSchema,
    answer=NewFactorSchema,
    errors=(NOT_RECENT, NOT_PROVED, TOO_MANY_FACTORS),
    is_served=_is_served,
    summary="Add a second factor, to be confirmed by one of its codes; requires a recent login",
    description="The account's address must be proved.",
)
def enrol(user: User, body: Body) -> totp.NewFactor:
    """Add a second factor, to be confirmed by one of its codes; requires a recent login."""
    require_recent(own_session(user))
    return totp.begin(user.id, body.get("name"))


@users.endpoint(
    "confirmFactor",
    EXECUTE,
    "POST /<id>/factors/totp/confirm",
    permits=OWNER,
    body=CodeSchema,
    errors=(errors.SecondFactorFailed(), NOT_RECENT, NOT_PROVED, THROTTLED),
    is_served=_is_served,
    summary="Confirm a second factor with a code; logins require one from then on",
)
def confirm(user: User, body: Body) -> None:
    """Confirm a second factor with a code; logins require one from then on."""
    session = own_session(user)
    require_recent(session)
    steps.confirm_enrolment(session, body)


@users.endpoint(
    "__get__factors",
    READ,
    "GET /<id>/factors",
    permits=OWNER,
    answer=[FactorSchema],
    is_served=_is_served,
    summary="List a user's second factors",
)
def list_(user: User) -> Sequence[Factor]:
    """List a user's second factors."""
    return totp.held.find_all(user.id)


@users.endpoint(
    "__destroyById__factors",
    WRITE,
    "DELETE /<id>/factors/<fk>",
    permits=OWNER,
    body=ProofSchema,
    errors=(
        errors.SecondFactorFailed(),
        UNKNOWN_FACTOR,
        UNKNOWN_KIND,
        NOT_RECENT,
        THROTTLED,
    ),
    is_served=_is_served,
    summary="Remove a second factor; requires a recent login and a code of any of the factors",
)
def remove(user: User, fk: str, body: Body) -> None:
    """Remove a second factor; requires a recent login and a code of any of the factors."""
    require_recent(own_session(user))
    totp.remove(totp.held.find(user.id, ids.INTEGER.parse(fk), fk), body)


@users.endpoint(
    "__delete__factors",
    WRITE,
    "DELETE /<id>/factors",
    is_served=_has_any_factors,
    summary="Remove all factors and passkeys of a user who has lost them, and end the sessions",
)
def reset(user: User) -> None:
    """Remove all factors and passkeys of a user who has lost them, and end the sessions."""
    steps.reset_factors(user.id)


@users.endpoint(
    "__create__recoveryCodes",
    WRITE,
    "POST /<id>/recoveryCodes",
    permits=OWNER,
    answer=RecoveryCodesSchema,
    errors=(NOT_RECENT, NO_FACTOR, THROTTLED),
    is_served=_is_served,
    summary="Replace a user's recovery codes; requires a recent login. Only this response has them",
)
def renew_recovery_codes(user: User) -> Mapping[str, object]:
    """Replace a user's recovery codes; requires a recent login. Only this response has them."""
    require_recent(own_session(user))
    return {"codes": recovery.renew(user.id)}


@users.endpoint(
    "__get__recoveryCodes",
    READ,
    "GET /<id>/recoveryCodes",
    permits=OWNER,
    answer=CodesLeftSchema,
    is_served=_is_served,
    summary="Return the number of a user's unused recovery codes",
)
def recovery_codes(user: User) -> Mapping[str, object]:
    """Return the number of a user's unused recovery codes."""
    return {"left": recovery.count_codes(user.id)}


def ticket_of(body: Body) -> str:
    """Return the ticket of a request; raise ValidationError without one."""
    if ticket := body.get("ticket"):
        return str(ticket)
    if ticket := request.cookies.get(SECOND_STEP_COOKIE):
        require_same_site()
        return ticket
    raise errors.ValidationError({"ticket": ["is missing"]})


def own_session(user: User) -> LiveToken:
    """Return the session of the caller; raise AccessDenied unless it belongs to the user."""
    session = current_identity().require_session()
    if session.user_id != user.id:
        raise errors.AccessDenied("Only the user changes the credentials of the account.")
    return session
