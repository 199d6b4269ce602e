"""The HTTP errors of the service: their classes, and a table of their codes and messages."""

from collections.abc import Sequence
from itertools import islice

from werkzeug import exceptions
from werkzeug.exceptions import HTTPException

from app.ids import Id
from app.settings import HASH_WAIT

FieldErrors = dict[str, list[str]]
# The messages for a value of any type that is missing, null or blank; one that is not unique; an
# unknown property; a read-only property; and a password in the blocklist.
BLANK = "can't be blank"
TAKEN = "already exists"
UNKNOWN_PROPERTY = "is not a property of this model"
READ_ONLY = "is read-only"
TOO_COMMON = "is too common"
# The messages of the 409 for a concurrent change, and for rows to which others refer.
OVERTAKEN = "The change conflicts with one made at the same time."
REFERRED_TO = "Other rows refer to the row, or it refers to a row that is gone."
#: Maximum characters of a request in an error.
MAX_QUOTED = 100
#: Maximum fields in an error.
MAX_FIELD_ERRORS = 50
#: Seconds in `Retry-After` of a 503.
RETRY_AFTER = 5
# The code in `error.details.codes` for each message; all others have the code "invalid".
CODES = {
    BLANK: "presence",
    TAKEN: "uniqueness",
    UNKNOWN_PROPERTY: "unknown",
    READ_ONLY: "absence",
    TOO_COMMON: "common",
}


def quote(value: object) -> str:
    """Return a client's value as text for an error message, cut off after MAX_QUOTED characters."""
    text = str(value)
    return text if len(text) <= MAX_QUOTED else f"{text[:MAX_QUOTED]}…"


class LoginFailed(exceptions.Unauthorized):
    """The credentials are wrong; the error does not say which of them."""


class SecondFactorRequired(exceptions.Unauthorized):
    """The login requires a second factor of one of the `kinds`, with the `ticket` of `details`."""

    def __init__(self, ticket: str, kinds: Sequence[str]) -> None:
        super().__init__()
        self.ticket = ticket
        self.details = {"ticket": ticket, "kinds": [*kinds]}


class EnrolmentRequired(SecondFactorRequired):
    """The user must have a second factor but has none; `details` has a `ticket` to add one.

    `kinds` are those that can be added with it.
    """


class SecondFactorFailed(exceptions.Unauthorized):
    """The second factor is wrong or was already used."""


class InvalidTicket(exceptions.Unauthorized):
    """The ticket of a login is unknown, used or expired: the login must begin anew."""


class EmailNotVerified(exceptions.Unauthorized):
    """The user must confirm the email address first; `details` has the user's id."""

    def __init__(self, user_id: Id) -> None:
        super().__init__()
        self.details = {"userId": user_id}


class UsernameOrEmailRequired(exceptions.BadRequest):
    """Login got neither an email nor a username."""


class RealmRequired(exceptions.BadRequest):
    """The settings require a realm and none was given."""


class InvalidEmail(exceptions.BadRequest):
    """The email is not a string, or not an email address."""


class InvalidUsername(exceptions.BadRequest):
    """The username is not a string."""


class InvalidRealm(exceptions.BadRequest):
    """The realm is not a string."""


class InvalidTtl(exceptions.BadRequest):
    """The ttl is not a positive number of seconds."""


class InvalidPosition(exceptions.BadRequest):
    """The position of a write sent back by a client is not a number."""


class EmailRequired(exceptions.BadRequest):
    """A password reset was requested without an email."""


class InvalidPassword(exceptions.BadRequest):
    """The current password is wrong."""


class AccessTokenRequired(exceptions.Unauthorized):
    """Logout without a token, or with an unknown one."""


class InvalidToken(exceptions.Unauthorized):
    """The token has expired, was used, or was sent where tokens are not accepted."""


class InvalidConfirmation(exceptions.BadRequest):
    """The token that confirms an address is wrong, expired or used."""


class InvalidRedirect(exceptions.BadRequest):
    """The redirect URL is not one of `REDIRECT_URLS`."""


class AccountExists(exceptions.Conflict):
    """The email or identity of a login by a provider belongs to another user."""


class LastCredential(exceptions.BadRequest):
    """The identity is the user's last way to log in, and cannot be removed."""


class LastAdmin(exceptions.UnprocessableEntity):
    """The change would leave nobody with the role `admin` who can log in."""


class AuthorizationRequired(exceptions.Unauthorized):
    """The endpoint requires an access token, or one of another kind."""


class AccessDenied(exceptions.Forbidden):
    """The caller is authenticated but not allowed to call this method."""


class StrongerLoginRequired(exceptions.Unauthorized):
    """The call requires a more recent login, or one with several factors; `details` says which.

    `kinds` are the user's ways to authenticate again (RFC 9470) with `POST
    /users/{id}/reauthenticate`, and `maxAge` the seconds for which that counts, if it must be
    recent.
    """

    def __init__(self, kinds: Sequence[str], max_age: int | None = None) -> None:
        what = "A second factor is required." if max_age is None else "Authenticate again."
        super().__init__(what)
        self.details: dict[str, object] = {"kinds": [*kinds]}
        asked = 'acr_values="mfa"'
        if max_age is not None:
            self.details |= {"maxAge": max_age}
            asked = f'max_age="{max_age}"'
        self.challenge = f'Bearer error="insufficient_user_authentication", {asked}'


class EmailProofRequired(exceptions.Unauthorized):
    """The user must first prove an address, with a code that is mailed to it.

    The account's address, or the new one in `details`, which are the body for `POST
    /users/email-code`.
    """

    def __init__(self, new_email: str | None = None) -> None:
        which = "the new" if new_email else "your"
        super().__init__(f"Prove {which} email address first, by a code that is mailed to it.")
        self.details = {"email": new_email} if new_email else {}


class InsufficientScope(exceptions.Forbidden):
    """The personal token's scopes do not include the call; `details` has its model and method.

    Without them, personal tokens may never make this call (RFC 6750, 3.1).
    """

    challenge = 'Bearer error="insufficient_scope"'

    def __init__(self, model: str = "", method: str = "") -> None:
        if method:
            super().__init__(f"The token has no scope for {method} of {model}.")
            self.details = {"model": model, "method": method}
        else:
            super().__init__("No personal token may do this; log in.")


class ModelNotFound(exceptions.NotFound):
    """The row does not exist, or the caller may not read it."""

    model = ""
    row_id: object = None

    def __init__(self, model: str, row_id: object) -> None:
        super().__init__(f'Unknown "{model}" id "{quote(row_id)}".')
        self.model, self.row_id = model, row_id


class RelationEmpty(ModelNotFound):
    """A relation to one row leads to no row, or to one that the caller may not read."""

    def __init__(self, relation: str, model: str) -> None:
        exceptions.NotFound.__init__(self, f'The relation "{relation}" leads to no "{model}".')


class PreconditionFailed(exceptions.PreconditionFailed):
    """The row has changed since it was read, or does not match `If-Match` or `If-None-Match`."""

    def __init__(self, header: str) -> None:
        super().__init__(f"The row is not as {header} says. Read it again.")


class MalformedBody(exceptions.BadRequest):
    """The body cannot be parsed, or is not an object."""


class IdFixed(exceptions.BadRequest):
    """A change sets another id; LoopBack 3 has no code for it."""

    def __init__(self, name: str) -> None:
        super().__init__(f"{name} cannot be changed.")


class InvalidFilter(exceptions.BadRequest):
    """A filter is malformed, too large or has unknown names; the message says where."""


class TooManyRows(exceptions.BadRequest):
    """More rows are selected than one request may change, as each must be checked."""

    def __init__(self, most: int) -> None:
        super().__init__(f"At most {most} rows are changed or deleted at once; select fewer.")


class TooManyDependents(exceptions.Conflict):
    """More rows would be deleted with a row than one request may delete."""


class TooDeep(exceptions.BadRequest):
    """A body or a filter has too many levels."""


class NotWritten(exceptions.NotImplemented):
    """The method of a migrated application is not implemented yet."""


class RemoteError(exceptions.BadGateway):
    """The remote service of a data source failed; `details` has its status, if it answered."""

    def __init__(self, status_code: int | None = None) -> None:
        super().__init__()
        if status_code is not None:
            self.description = f"The remote service answered {status_code}."
            self.details = {"statusCode": status_code}


class RemoteTimeout(exceptions.GatewayTimeout):
    """The remote service of a data source did not answer in time."""


class TemporarilyUnavailable(exceptions.ServiceUnavailable):
    """The request may succeed after `seconds`, as stated in `Retry-After`."""

    seconds = RETRY_AFTER

    def __init__(self, reason: str | None = None) -> None:
        super().__init__(reason, retry_after=self.seconds)


class TooManyCalls(TemporarilyUnavailable):
    """The maximum number of concurrent calls of data sources is reached."""


class TooManyUploads(TemporarilyUnavailable):
    """The maximum number of concurrent uploads of a process is reached."""


class TooManyRequests(exceptions.TooManyRequests):
    """Too many attempts, by this client or for this user; `Retry-After` says when to retry."""

    def __init__(self, seconds: int) -> None:
        super().__init__(retry_after=seconds)


class TooManyHashes(TemporarilyUnavailable):
    """The request has waited too long to compute a password hash, or too many are waiting."""

    seconds = round(HASH_WAIT)


class DatabaseTimeout(TemporarilyUnavailable):
    """The database did not answer in time."""


class NotReady(TemporarilyUnavailable):
    """The service is stopping, or its database is unreachable or not migrated (`GET /ready`)."""


class ValidationError(exceptions.UnprocessableEntity):
    """Fields of the body are invalid; `details` says why for each of the first 50."""

    error_name = "ValidationError"

    def __init__(self, messages: FieldErrors) -> None:
        first = islice(messages.items(), MAX_FIELD_ERRORS)
        messages = {quote(field): texts for field, texts in first}
        found = [(field, text.rstrip(".")) for field, texts in messages.items() for text in texts]
        self.sentences = "; ".join(f"`{field}` {text}" for field, text in found)
        super().__init__(f"The request is not valid: {self.sentences}.")
        codes = {
            field: [CODES.get(text, "invalid") for text in texts]
            for field, texts in messages.items()
        }
        self.details = {"messages": messages, "codes": codes}


# The code of each error, and its message; empty if the error states one itself.
STATED: dict[type[HTTPException], tuple[str, str]] = {
    LoginFailed: ("LOGIN_FAILED", "login failed"),
    SecondFactorRequired: ("SECOND_FACTOR_REQUIRED", "A second factor is required."),
    EnrolmentRequired: ("SECOND_FACTOR_ENROLMENT_REQUIRED", "A second factor must be added first."),
    SecondFactorFailed: ("SECOND_FACTOR_FAILED", "The second factor is wrong."),
    InvalidTicket: ("INVALID_TICKET", "The login has ended; begin it again."),
    EmailNotVerified: (
        "LOGIN_FAILED_EMAIL_NOT_VERIFIED",
        "login failed as the email has not been verified",
    ),
    UsernameOrEmailRequired: ("USERNAME_EMAIL_REQUIRED", "username or email is required"),
    RealmRequired: ("REALM_REQUIRED", "realm is required"),
    InvalidEmail: ("INVALID_EMAIL", "Invalid email"),
    InvalidUsername: ("INVALID_USERNAME", "Invalid username"),
    InvalidRealm: ("INVALID_REALM", "Invalid realm"),
    InvalidTtl: ("INVALID_TTL", "ttl must be a positive number of seconds"),
    InvalidPosition: (
        "INVALID_POSITION",
        "X-Database-Position must be the number that the answer to a write had.",
    ),
    EmailRequired: ("EMAIL_REQUIRED", "Email is required"),
    InvalidPassword: ("INVALID_PASSWORD", "Invalid current password"),
    AccessTokenRequired: ("ACCESS_TOKEN_REQUIRED", "accessToken is required to logout"),
    InvalidToken: ("INVALID_TOKEN", "Invalid Access Token"),
    InvalidConfirmation: ("INVALID_TOKEN", "Invalid token"),
    InvalidRedirect: ("INVALID_REDIRECT", "The redirect is not an allowed address."),
    AccountExists: (
        "ACCOUNT_EXISTS",
        "There is an account already. Log in to it and link the provider.",
    ),
    LastCredential: (
        "LAST_CREDENTIAL",
        "This is the last way to log in. Set a password, or link another provider, first.",
    ),
    LastAdmin: (
        "LAST_ADMIN",
        "This is the last admin who can log in. Make somebody else an admin first.",
    ),
    AuthorizationRequired: ("AUTHORIZATION_REQUIRED", "Authorization Required"),
    AccessDenied: ("ACCESS_DENIED", "Access Denied"),
    StrongerLoginRequired: ("STRONGER_LOGIN_REQUIRED", ""),
    EmailProofRequired: ("EMAIL_PROOF_REQUIRED", ""),
    InsufficientScope: ("INSUFFICIENT_SCOPE", ""),
    ModelNotFound: ("MODEL_NOT_FOUND", ""),
    PreconditionFailed: ("PRECONDITION_FAILED", ""),
    MalformedBody: ("MALFORMED_JSON", ""),
    IdFixed: ("INVALID_ID", ""),
    InvalidFilter: ("INVALID_FILTER", ""),
    TooManyRows: ("TOO_MANY_ROWS", ""),
    TooManyDependents: (
        "TOO_MANY_DEPENDENTS",
        "Too many rows would be deleted with this one; delete some of them first.",
    ),
    TooDeep: ("QUERY_TOO_DEEP", ""),
    NotWritten: ("NOT_WRITTEN", "This method is not written yet."),
    RemoteError: ("REMOTE_ERROR", "The remote service failed."),
    RemoteTimeout: ("REMOTE_TIMEOUT", "The remote service did not answer in time."),
    TooManyCalls: ("TOO_MANY_CALLS", "Too many calls of remote services are under way."),
    TooManyUploads: ("TOO_MANY_UPLOADS", "Too many uploads are under way."),
    TooManyRequests: ("TOO_MANY_REQUESTS", "Too many attempts. Try again later."),
    TooManyHashes: ("TOO_MANY_HASHES", "Too many passwords are being checked. Try again."),
    DatabaseTimeout: ("DATABASE_TIMEOUT", "The database did not answer in time."),
    NotReady: ("NOT_READY", ""),
    ValidationError: ("VALIDATION_ERROR", ""),
}
for _kind, (_code, _message) in STATED.items():
    _kind.error_code = _code  # type: ignore[attr-defined]
    if _message:
        _kind.description = _message
del _kind, _code, _message
