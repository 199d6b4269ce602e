"""The HTTP errors of the service, and the handlers that render every error as JSON."""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

import marshmallow
from flask import Flask, Response, current_app, jsonify, request
from sqlalchemy.exc import DataError, SQLAlchemyError
from werkzeug import exceptions
from werkzeug.exceptions import HTTPException

from app.database.faults import error_code, is_timeout
from app.ids import Id
from app.settings import HASH_WAIT

FieldErrors = dict[str, list[str]]
# The message for a value of any type that is missing, null or blank.
BLANK = "can't be blank"
# The messages for a value that is not unique, an unknown property, a read-only property, and a
# password in the blocklist.
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


def quote(value: object) -> str:
    """Return a client's value as text for an error message, cut off after MAX_QUOTED characters."""
    text = str(value)
    return text if len(text) <= MAX_QUOTED else f"{text[:MAX_QUOTED]}…"


class LoginFailed(exceptions.Unauthorized):
    """The credentials are wrong; the error does not say which of them."""

    error_code = "LOGIN_FAILED"
    description = "login failed"


class SecondFactorRequired(exceptions.Unauthorized):
    """The login requires a second factor of one of the `kinds`, with the `ticket` of `details`."""

    error_code = "SECOND_FACTOR_REQUIRED"
    description = "A second factor is required."

    def __init__(self, ticket: str, kinds: Sequence[str]) -> None:
        super().__init__()
        self.ticket = ticket
        self.details = {"ticket": ticket, "kinds": [*kinds]}


class EnrolmentRequired(SecondFactorRequired):
    """The user must have a second factor but has none; `details` has a `ticket` to add one.

    `kinds` are those that can be added with it.
    """

    error_code = "SECOND_FACTOR_ENROLMENT_REQUIRED"
    description = "A second factor must be added first."


class SecondFactorFailed(exceptions.Unauthorized):
    """The second factor is wrong or was already used."""

    error_code = "SECOND_FACTOR_FAILED"
    description = "The second factor is wrong."


class InvalidTicket(exceptions.Unauthorized):
    """The ticket of a login is unknown, used or expired: the login must begin anew."""

    error_code = "INVALID_TICKET"
    description = "The login has ended; begin it again."


class EmailNotVerified(exceptions.Unauthorized):
    """The user must confirm the email address first; `details` has the user's id."""

    error_code = "LOGIN_FAILED_EMAIL_NOT_VERIFIED"
    description = "login failed as the email has not been verified"

    def __init__(self, user_id: Id) -> None:
        super().__init__()
        self.details = {"userId": user_id}


class UsernameOrEmailRequired(exceptions.BadRequest):
    """Login got neither an email nor a username."""

    error_code = "USERNAME_EMAIL_REQUIRED"
    description = "username or email is required"


class RealmRequired(exceptions.BadRequest):
    """The settings require a realm and none was given."""

    error_code = "REALM_REQUIRED"
    description = "realm is required"


class InvalidEmail(exceptions.BadRequest):
    """The email is not a string, or not an email address."""

    error_code = "INVALID_EMAIL"
    description = "Invalid email"


class InvalidUsername(exceptions.BadRequest):
    """The username is not a string."""

    error_code = "INVALID_USERNAME"
    description = "Invalid username"


class InvalidRealm(exceptions.BadRequest):
    """The realm is not a string."""

    error_code = "INVALID_REALM"
    description = "Invalid realm"


class InvalidTtl(exceptions.BadRequest):
    """The ttl is not a positive number of seconds."""

    error_code = "INVALID_TTL"
    description = "ttl must be a positive number of seconds"


class InvalidPosition(exceptions.BadRequest):
    """The position of a write sent back by a client is not a number."""

    error_code = "INVALID_POSITION"
    description = "X-Database-Position must be the number that the answer to a write had."


class EmailRequired(exceptions.BadRequest):
    """A password reset was requested without an email."""

    error_code = "EMAIL_REQUIRED"
    description = "Email is required"


class InvalidPassword(exceptions.BadRequest):
    """The current password is wrong."""

    error_code = "INVALID_PASSWORD"
    description = "Invalid current password"


class AccessTokenRequired(exceptions.Unauthorized):
    """Logout without a token, or with an unknown one."""

    error_code = "ACCESS_TOKEN_REQUIRED"
    description = "accessToken is required to logout"


class InvalidToken(exceptions.Unauthorized):
    """The token has expired, was used, or was sent where tokens are not accepted."""

    error_code = "INVALID_TOKEN"
    description = "Invalid Access Token"


class InvalidConfirmation(exceptions.BadRequest):
    """The token that confirms an address is wrong, expired or used."""

    error_code = "INVALID_TOKEN"
    description = "Invalid token"


class InvalidRedirect(exceptions.BadRequest):
    """The redirect URL is not one of `REDIRECT_URLS`."""

    error_code = "INVALID_REDIRECT"
    description = "The redirect is not an allowed address."


class AccountExists(exceptions.Conflict):
    """The email or identity of a login by a provider belongs to another user."""

    error_code = "ACCOUNT_EXISTS"
    description = "There is an account already. Log in to it and link the provider."


class LastCredential(exceptions.BadRequest):
    """The identity is the user's last way to log in, and cannot be removed."""

    error_code = "LAST_CREDENTIAL"
    description = "This is the last way to log in. Set a password, or link another provider, first."


class LastAdmin(exceptions.UnprocessableEntity):
    """The change would leave nobody with the role `admin` who can log in."""

    error_code = "LAST_ADMIN"
    description = "This is the last admin who can log in. Make somebody else an admin first."


class AuthorizationRequired(exceptions.Unauthorized):
    """The endpoint requires an access token, or one of another kind."""

    error_code = "AUTHORIZATION_REQUIRED"
    description = "Authorization Required"


class AccessDenied(exceptions.Forbidden):
    """The caller is authenticated but not allowed to call this method."""

    error_code = "ACCESS_DENIED"
    description = "Access Denied"


class StrongerLoginRequired(exceptions.Unauthorized):
    """The call requires a more recent login, or one with several factors; `details` says which.

    `kinds` are the user's ways to authenticate again (RFC 9470) with `POST
    /users/{id}/reauthenticate`, and `maxAge` the seconds for which that counts, if it must be
    recent.
    """

    error_code = "STRONGER_LOGIN_REQUIRED"

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

    error_code = "EMAIL_PROOF_REQUIRED"

    def __init__(self, new_email: str | None = None) -> None:
        which = "the new" if new_email else "your"
        super().__init__(f"Prove {which} email address first, by a code that is mailed to it.")
        self.details = {"email": new_email} if new_email else {}


class InsufficientScope(exceptions.Forbidden):
    """The personal token's scopes do not include the call; `details` has its model and method.

    Without them, personal tokens may never make this call (RFC 6750, 3.1).
    """

    error_code = "INSUFFICIENT_SCOPE"
    challenge = 'Bearer error="insufficient_scope"'

    def __init__(self, model: str = "", method: str = "") -> None:
        if method:
            super().__init__(f"The token has no scope for {method} of {model}.")
            self.details = {"model": model, "method": method}
        else:
            super().__init__("No personal token may do this; log in.")


class ModelNotFound(exceptions.NotFound):
    """The row does not exist, or the caller may not read it."""

    error_code = "MODEL_NOT_FOUND"
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

    error_code = "PRECONDITION_FAILED"

    def __init__(self, header: str) -> None:
        super().__init__(f"The row is not as {header} says. Read it again.")


class MalformedBody(exceptions.BadRequest):
    """The body cannot be parsed, or is not an object."""

    error_code = "MALFORMED_JSON"


class IdFixed(exceptions.BadRequest):
    """A change sets another id; LoopBack 3 has no code for it."""

    error_code = "INVALID_ID"

    def __init__(self, name: str) -> None:
        super().__init__(f"{name} cannot be changed.")


class InvalidFilter(exceptions.BadRequest):
    """A filter is malformed, too large or has unknown names; the message says where."""

    error_code = "INVALID_FILTER"


class TooManyRows(exceptions.BadRequest):
    """More rows are selected than one request may change, as each must be checked."""

    error_code = "TOO_MANY_ROWS"

    def __init__(self, most: int) -> None:
        super().__init__(f"At most {most} rows are changed or deleted at once; select fewer.")


class TooManyDependents(exceptions.Conflict):
    """More rows would be deleted with a row than one request may delete."""

    error_code = "TOO_MANY_DEPENDENTS"
    description = "Too many rows would be deleted with this one; delete some of them first."


class TooDeep(exceptions.BadRequest):
    """A body or a filter has too many levels."""

    error_code = "QUERY_TOO_DEEP"


class NotWritten(exceptions.NotImplemented):
    """The method of a migrated application is not implemented yet."""

    error_code = "NOT_WRITTEN"
    description = "This method is not written yet."


class RemoteError(exceptions.BadGateway):
    """The remote service of a data source failed; `details` has its status, if it answered."""

    error_code = "REMOTE_ERROR"
    description = "The remote service failed."

    def __init__(self, status_code: int | None = None) -> None:
        super().__init__()
        if status_code is not None:
            self.description = f"The remote service answered {status_code}."
            self.details = {"statusCode": status_code}


class RemoteTimeout(exceptions.GatewayTimeout):
    """The remote service of a data source did not answer in time."""

    error_code = "REMOTE_TIMEOUT"
    description = "The remote service did not answer in time."


class TemporarilyUnavailable(exceptions.ServiceUnavailable):
    """The request may succeed after `seconds`, as stated in `Retry-After`."""

    seconds = RETRY_AFTER

    def __init__(self, reason: str | None = None) -> None:
        super().__init__(reason, retry_after=self.seconds)


class TooManyCalls(TemporarilyUnavailable):
    """The maximum number of concurrent calls of data sources is reached."""

    error_code = "TOO_MANY_CALLS"
    description = "Too many calls of remote services are under way."


class TooManyUploads(TemporarilyUnavailable):
    """The maximum number of concurrent uploads of a process is reached."""

    error_code = "TOO_MANY_UPLOADS"
    description = "Too many uploads are under way."


class TooManyRequests(exceptions.TooManyRequests):
    """Too many attempts, by this client or for this user; `Retry-After` says when to retry."""

    error_code = "TOO_MANY_REQUESTS"
    description = "Too many attempts. Try again later."

    def __init__(self, seconds: int) -> None:
        super().__init__(retry_after=seconds)


class TooManyHashes(TemporarilyUnavailable):
    """The request has waited too long to compute a password hash, or too many are waiting."""

    error_code = "TOO_MANY_HASHES"
    description = "Too many passwords are being checked. Try again."
    seconds = round(HASH_WAIT)


class DatabaseTimeout(TemporarilyUnavailable):
    """The database did not answer in time."""

    error_code = "DATABASE_TIMEOUT"
    description = "The database did not answer in time."


class NotReady(TemporarilyUnavailable):
    """The service is stopping, or its database is unreachable or not migrated (`GET /ready`)."""

    error_code = "NOT_READY"


class ValidationError(exceptions.UnprocessableEntity):
    """Fields of the body are invalid; `details` says why for each of the first 50."""

    error_code = "VALIDATION_ERROR"
    error_name = "ValidationError"

    def __init__(self, messages: FieldErrors) -> None:
        messages = {
            quote(field): texts for field, texts in islice(messages.items(), MAX_FIELD_ERRORS)
        }
        sentences = [f"`{field}` {text}" for field, texts in messages.items() for text in texts]
        self.sentences = "; ".join(sentences)
        super().__init__(f"The request is not valid: {self.sentences}.")
        self.details = {
            "messages": messages,
            "codes": {
                field: [CODES.get(text, "invalid") for text in texts]
                for field, texts in messages.items()
            },
        }


# The code in `error.details.codes` for each message; all others have the code "invalid".
CODES = {
    BLANK: "presence",
    TAKEN: "uniqueness",
    UNKNOWN_PROPERTY: "unknown",
    READ_ONLY: "absence",
    TOO_COMMON: "common",
}

# Codes that differ from the name of the status.
STATUS_CODES = {413: "PAYLOAD_TOO_LARGE"}


def init_app(app: Flask) -> None:
    """Register the error handlers."""
    app.log_exception = _log_exception  # type: ignore[method-assign]
    app.register_error_handler(HTTPException, error_response)
    app.register_error_handler(marshmallow.ValidationError, _handle_validation_error)
    app.register_error_handler(DataError, _handle_data_error)
    app.register_error_handler(SQLAlchemyError, _handle_database_error)


def error_response(error: HTTPException) -> Response:
    """Answer with `{"status", "message", "error": {...}}`, and keep the error's own headers."""
    response = jsonify(error_body(error))
    response.status_code = error.code or 500
    response.headers.extend(error_headers(error))
    challenge = getattr(error, "challenge", "Bearer" if response.status_code == 401 else None)
    if challenge:
        response.headers["WWW-Authenticate"] = challenge
    return response


def error_headers(error: HTTPException) -> dict[str, str]:
    """Return the headers of an error itself, such as `Retry-After`."""
    return {name: value for name, value in error.get_headers() if name != "Content-Type"}


def error_body(error: HTTPException) -> dict[str, Any]:
    """Return the JSON object of an error."""
    status = error.code or 500
    message = _message(error, status)
    inner = {
        "statusCode": status,
        "name": getattr(error, "error_name", error.name.replace(" ", "")),
        "code": _code(error, status),
        "message": message,
        "details": getattr(error, "details", None),
    }
    inner = {name: value for name, value in inner.items() if value is not None}
    return {"status": status, "message": message, "error": inner}


def _code(error: HTTPException, status: int) -> str | None:
    """Return the error's own code, else its status's name; other 5xx have none."""
    if code := getattr(error, "error_code", None):
        return str(code)
    if status >= 500:
        return None
    return STATUS_CODES.get(status, error.name.upper().replace(" ", "_"))


def _message(error: HTTPException, status: int) -> str:
    if status >= 500 and not hasattr(error, "error_code"):
        return error.name
    return error.description or error.name


def to_validation_error(error: marshmallow.ValidationError) -> ValidationError:
    """Return the service's ValidationError for marshmallow's."""
    return ValidationError(dict(_flatten(error.messages_dict)))


def _handle_validation_error(error: marshmallow.ValidationError) -> Response:
    return error_response(to_validation_error(error))


def _flatten(messages: Any, path: str = "") -> Iterator[tuple[str, list[str]]]:
    """Yield the messages of each field with its path: `title`, or `2.title` in an array."""
    if isinstance(messages, dict):
        for step, inner in messages.items():
            yield from _flatten(inner, f"{path}.{step}" if path else str(step))
    else:
        yield path, list(messages)


def _handle_data_error(error: DataError) -> Response:
    """Answer 400: a value is valid for its schema but out of range for its column."""
    return error_response(exceptions.BadRequest("A value is outside of what its column holds."))


def _log_exception(exc_info: Any) -> None:
    """Log an unexpected error without the request's path, which may contain a token."""
    current_app.logger.error("failed to answer %s", request.endpoint, exc_info=exc_info)


def _handle_database_error(error: SQLAlchemyError) -> Response:
    """Log only the type and code of the error, because its text may quote values; answer 503."""
    name, code = type(error).__name__, error_code(error) or ""
    current_app.logger.error("the database failed: %s %s", name, code)
    return error_response(DatabaseTimeout() if is_timeout(error) else TemporarilyUnavailable())
