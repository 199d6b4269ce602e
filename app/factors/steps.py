"""Second steps of logins, their tickets, and proofs of logged-in users by a second factor."""

from collections.abc import Collection, Mapping
from dataclasses import asdict, replace

from flask import current_app
from sqlalchemy import ColumnElement, delete, exists, insert, literal, select, update
from sqlalchemy.exc import IntegrityError

from app.access.identity import MULTI_FACTOR, LiveToken
from app.access.roles import Role, RoleMapping
from app.audit.entries import Action, record_attempt
from app.database.session import affected_rows, db, transaction
from app.errors import (
    EnrolmentRequired,
    InvalidTicket,
    LoginFailed,
    SecondFactorFailed,
    SecondFactorRequired,
    ValidationError,
)
from app.ids import Id
from app.observability.origin import current_origin
from app.throttles import CREDENTIAL, count, count_failure
from app.users.accounts.credentials import record_credential_change
from app.users.models import TICKET_SCOPE, AccessToken, User, token_digest, user_model
from app.users.sessions.assurance import REAUTHENTICATION, note_authentication
from app.users.sessions.login import MAY_LOG_IN, UNKNOWN_KIND, FirstStep, open_session, require_user
from app.users.sessions.tokens import IssuedToken, delete_sessions, issue, lock, use_up

from . import kinds
from .models import LoginTicket

#: Seconds for the second step of a login.
TICKET_LIFETIME = 300
#: Maximum attempts with a ticket (OWASP ASVS 6.3.1 requires a limit; a throttle also counts by
#: user).
MAX_ATTEMPTS = 5
# Values of SECOND_FACTOR.
REQUIRED = "required"
# The `reason` of a failed login.
WRONG_FACTOR = "second factor"
# The throttle of wrong second factors.
FACTOR_CHECK = "factor_check"


def is_due(user_id: Id, methods: Collection[str]) -> bool:
    """Return True if a user identified by these methods takes a second step.

    A login with several factors, such as by a passkey, takes none.
    """
    if MULTI_FACTOR in methods or not current_app.config["SECOND_FACTOR"]:
        return False
    held, (must,) = kinds.look_up(user_id, _must(user_id))
    return must or kinds.suffice(held)


def take(
    first: FirstStep, proof: Mapping[str, object], *conditions: ColumnElement[bool]
) -> IssuedToken:
    """Finish a login if its first request has a factor, else raise an error with a ticket.

    Raises SecondFactorRequired, EnrolmentRequired for a user who is required to have a factor and
    has none, and the errors of `finish`.
    """
    held, _ = kinds.look_up(first.user_id)
    enrols = not kinds.suffice(held)
    ticket = open_ticket(first, enrols, *conditions)
    if enrols:
        raise EnrolmentRequired(ticket, kinds.enrolment_kinds())
    if proof.get("code") in (None, ""):
        raise SecondFactorRequired(ticket, held)
    return finish(ticket, proof)


def begin_enrolment(ticket: str, kind: str, principal_type: str) -> object:
    """Return a new factor of a user who is required to have one, by the login's ticket.

    The user is one of this model.

    Raises InvalidTicket, also if the user already has a factor, EmailProofRequired, and
    ValidationError for another kind.
    """
    user_id = find_enrolling(ticket, principal_type)
    enrolment = kinds.find_enrolment(kind)
    _require_no_factor(user_id)
    if enrolment is None:
        raise ValidationError(UNKNOWN_KIND)
    return enrolment.begin(user_id)


def find_enrolling(ticket: str, principal_type: str) -> Id:
    """Return the user who adds a factor with this ticket; raise InvalidTicket."""
    _, first, enrols = find_ticket(ticket, principal_type)
    if not enrols:
        raise InvalidTicket()
    return first.user_id


def finish(
    ticket: str, proof: Mapping[str, object], principal_type: str | None = None
) -> IssuedToken:
    """Finish a login with a second factor: open the session that its first step requested.

    With a `principal_type` it must be the login of a user of this model. Raises InvalidTicket,
    SecondFactorFailed, TooManyRequests after too many failures of the user, LoginFailed if the user
    was disabled meanwhile, and ValidationError for an unknown kind.
    """
    digest, first, enrols = find_ticket(ticket, principal_type)
    with count_failure(FACTOR_CHECK, first.user_id):
        count_attempt(digest)
        with transaction():
            if enrols:
                _require_no_factor(first.user_id)
            methods = check(first.user_id, proof, enrols)
            if methods is not None:
                token = _open_session(digest, first, methods)
        if methods is None:
            record_attempt(Action.LOGIN_FAILED, first.user_id, reason=WRONG_FACTOR)
            raise SecondFactorFailed()
    if first.includes_user:
        return replace(token, user=db.session.get(user_model(), first.user_id))
    return token


def reauthenticate(session: LiveToken, proof: Mapping[str, object]) -> None:
    """Record that the user has just proved a second factor; the session becomes a strong one.

    Raises the errors of `prove`, and InvalidToken if the session has ended meanwhile.
    """
    note_authentication(session, [*prove(session.user_id, proof), MULTI_FACTOR])


def confirm_enrolment(session: LiveToken, proof: Mapping[str, object]) -> None:
    """Confirm the factor that a user has created; the session becomes a strong one.

    Raises SecondFactorFailed, and TooManyRequests after too many failures or factors.
    """
    count(CREDENTIAL, session.user_id)
    methods = prove(session.user_id, proof, enrols=True)
    note_authentication(session, [*methods, MULTI_FACTOR])


def prove(user_id: Id, proof: Mapping[str, object], enrols: bool = False) -> tuple[str, ...]:
    """Return the methods that a proof of a logged-in user shows; use it up.

    Raises SecondFactorFailed for an invalid proof, TooManyRequests after too many of them, and
    ValidationError for an unknown kind.
    """
    with count_failure(FACTOR_CHECK, user_id):
        with transaction():
            methods = check(user_id, proof, enrols)
        if methods is None:
            record_attempt(Action.LOGIN_FAILED, user_id, reason=REAUTHENTICATION)
            raise SecondFactorFailed()
    return methods


def reset_factors(user_id: Id) -> None:
    """Delete all factors of a user who has lost them, and end the sessions.

    The caller is responsible for verifying who requests it.
    """
    with transaction():
        lock(User.id == user_id)
        kinds.reset(user_id)
        delete_sessions([user_id])
        record_credential_change(Action.FACTORS_RESET, user_id)


def open_ticket(first: FirstStep, enrols: bool, *conditions: ColumnElement[bool]) -> str:
    """Store a login after its first step; return its ticket.

    Raises LoginFailed if the user does not exist, is disabled or does not meet the conditions.
    """
    origin = current_origin()
    columns = {"user_agent": origin.user_agent, "address": origin.address}
    try:
        with transaction():
            value, _ = issue(first.user_id, TICKET_LIFETIME, scope=TICKET_SCOPE, **columns)
            require_user(User.id == first.user_id, *MAY_LOG_IN, *conditions)
            values = {
                "digest": token_digest(value),
                "first_step": _first_step_to_json(first),
                "enrols": enrols,
            }
            db.session.execute(insert(LoginTicket).values(values))
    except IntegrityError:
        raise LoginFailed() from None
    return value


def find_ticket(value: str, principal_type: str | None = None) -> tuple[str, FirstStep, bool]:
    """Return a ticket's digest and login, and whether it enrols a factor; raise InvalidTicket.

    With a `principal_type` it must be the login of a user of this model.
    """
    digest = token_digest(value)
    live = AccessToken.digest == digest, AccessToken.is_live(TICKET_SCOPE)
    found = (
        select(LoginTicket.first_step, LoginTicket.enrols, AccessToken.user_id)
        .join(AccessToken, AccessToken.digest == LoginTicket.digest)
        .where(*live)
    )
    if principal_type is not None:
        of_model = User.id == AccessToken.user_id, User.principal_type == principal_type
        found = found.where(exists().where(*of_model))
    row = db.session.execute(found).first()
    if row is None:
        raise InvalidTicket()
    return digest, _first_step_from_json(row.first_step, row.user_id), row.enrols


def count_attempt(digest: str) -> None:
    """Count an attempt with a ticket; delete it and raise InvalidTicket after the last one."""
    left = LoginTicket.digest == digest, LoginTicket.attempts < MAX_ATTEMPTS
    counted = update(LoginTicket).where(*left).values(attempts=LoginTicket.attempts + 1)
    if not affected_rows(counted):
        affected_rows(delete(AccessToken).where(AccessToken.digest == digest))
        raise InvalidTicket()


def check(user_id: Id, proof: Mapping[str, object], enrols: bool = False) -> tuple[str, ...] | None:
    """Return the methods that a user's proof shows, None for an invalid one; use it up.

    Without `kind`, a `credential` belongs to a passkey, a code with letters is a recovery code, and
    any other code is an authenticator app's. Call it in a transaction. Raises ValidationError for
    an unknown kind.
    """
    name = str(proof.get("kind") or (kinds.TOTP if enrols else _kind_of(proof)))
    if enrols:
        enrolment = kinds.find_enrolment(name)
        if enrolment is not None:
            return enrolment.confirm(user_id, proof)
    elif kind := kinds.find_kind(name):
        return kind.verify(user_id, proof)
    raise ValidationError(UNKNOWN_KIND)


def _first_step_to_json(first: FirstStep) -> dict[str, object]:
    values = asdict(first)
    # The token has the id in its own type.
    del values["user_id"]
    return values


def _first_step_from_json(values: dict[str, object], user_id: object) -> FirstStep:
    return FirstStep(user_id, **{**values, "methods": tuple(values["methods"])})  # type: ignore[arg-type]


def _kind_of(proof: Mapping[str, object]) -> str:
    if proof.get("credential") is not None:
        return kinds.PASSKEY
    code = proof.get("code")
    has_letters = isinstance(code, str) and any(map(str.isalpha, code))
    return kinds.RECOVERY if has_letters else kinds.TOTP


def _require_no_factor(user_id: Id) -> None:
    """Raise InvalidTicket if the user has added a second factor since the first step.

    A password alone must not suffice to add another one.
    """
    lock(User.id == user_id)
    if kinds.suffice(kinds.look_up(user_id)[0]):
        raise InvalidTicket()


def _open_session(digest: str, first: FirstStep, methods: tuple[str, ...]) -> IssuedToken:
    """Open the session of a login, in the transaction in which its factor was used."""
    # Only one of concurrent uses of a ticket deletes it.
    if not use_up(digest, TICKET_SCOPE):
        raise InvalidTicket()
    both = (*first.methods, *methods, MULTI_FACTOR)
    return open_session(first.user_id, first.ttl, first.remember_me, methods=both, **first.details)


def _must(user_id: Id) -> ColumnElement[bool]:
    """Return the condition that a user is required to have a second factor."""
    setting = current_app.config["SECOND_FACTOR"]
    if isinstance(setting, str):
        return literal(setting == REQUIRED)
    return (
        exists()
        .where(RoleMapping.user_id == user_id, RoleMapping.role_id == Role.id)
        .where(Role.name.in_(setting))
    )
