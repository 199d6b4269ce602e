"""HTTP errors for responses, and the errors that functions of the service raise.

They are HTTP errors with a code, which clients find in `error.code`, except for
`ConfigurationError`, which prevents the start. An error raised by a hook or an own endpoint is the
response, and nothing is stored::

    from werkzeug.exceptions import Conflict

    from ostiary.errors import AccessDenied, AuthorizationRequired, ValidationError


    class BookIsLent(Conflict):
        '''An error of one's own has the status of its base, and a code.'''

        error_code = "BOOK_IS_LENT"
        description = "Somebody else has the book."


    def check_loan(resource, event):
        if event.caller.user_id is None:
            raise AuthorizationRequired()
        if "suspended" in event.caller.roles:
            raise AccessDenied("You may not borrow books.")
        if event.values["days"] > 28:
            raise ValidationError({"days": ["must be at most 28"]})
        if event.values["book_id"] in (1, 2):
            raise BookIsLent()

`LimitReached` is raised for one row too many, by a limit of a `Resource` or a model in JSON. An own
endpoint may do something else then::

    from ostiary.errors import LimitReached


    def borrow(loans, requests, item):
        try:
            return loans.insert([item])
        except LimitReached as error:
            print(error.description, error.details)  # At most 5 loans for this reader.
            return requests.insert([item])

A project's own pages to log in and to reset passwords should handle these::

    from ostiary.errors import (
        AccessTokenRequired,
        EmailNotVerified,
        EmailRequired,
        InvalidConfirmation,
        InvalidEmail,
        InvalidPassword,
        InvalidRealm,
        InvalidToken,
        InvalidTtl,
        InvalidUsername,
        LoginFailed,
        RealmRequired,
        TooManyHashes,
        TooManyRequests,
        UsernameOrEmailRequired,
    )
    from ostiary.users import login

    MALFORMED = (
        UsernameOrEmailRequired,
        EmailRequired,
        RealmRequired,
        InvalidEmail,
        InvalidUsername,
        InvalidRealm,
        InvalidTtl,
    )
    NO_LONGER_VALID = (InvalidToken, InvalidConfirmation, AccessTokenRequired)


    def sign_in(form):
        '''Return an access token, or what to tell the user.'''
        try:
            return login(form).id
        except MALFORMED as error:
            return error.description
        except (LoginFailed, InvalidPassword):
            return "This is not your password."
        except EmailNotVerified:
            return "Confirm your address first: we have sent you a mail."
        except NO_LONGER_VALID:
            return "The link has expired."
        except (TooManyRequests, TooManyHashes) as error:
            return f"Try again in {error.retry_after} seconds."

Code that calls other services should raise one of these; `TemporarilyUnavailable` and its
subclasses set `Retry-After`::

    from ostiary.connector import CallTimeoutError, ConnectorError, TooManyCallsError
    from ostiary.datasources import data_source
    from ostiary.errors import (
        ConfigurationError,
        ModelNotFound,
        RemoteError,
        RemoteTimeout,
        TemporarilyUnavailable,
        TooManyCalls,
        TooManyRows,
    )


    def check_settings(app):
        if "SHELVES" not in app.config["DATA_SOURCES"]:
            raise ConfigurationError("DATA_SOURCES has no SHELVES, which the library needs")


    def find_shelf(book):
        try:
            found = data_source("SHELVES").find(book.id)
        except CallTimeoutError:
            raise RemoteTimeout() from None
        except TooManyCallsError:
            raise TooManyCalls() from None
        except ConnectorError as error:
            raise RemoteError(getattr(error, "status_code", None)) from None
        if not found:
            raise ModelNotFound("shelf", book.id)
        if found.get("closed"):
            raise TemporarilyUnavailable("The shelf is being counted.")
        return found


    def rename_all(books, title):
        try:
            books.update([], {"title": title})
        except TooManyRows as error:
            print(error.description)  # at most 500 rows where a hook is called
"""

from app.errors import (
    AccessDenied,
    AccessTokenRequired,
    AuthorizationRequired,
    EmailNotVerified,
    EmailRequired,
    InvalidConfirmation,
    InvalidEmail,
    InvalidPassword,
    InvalidRealm,
    InvalidToken,
    InvalidTtl,
    InvalidUsername,
    LoginFailed,
    ModelNotFound,
    RealmRequired,
    RemoteError,
    RemoteTimeout,
    TemporarilyUnavailable,
    TooManyCalls,
    TooManyHashes,
    TooManyRequests,
    TooManyRows,
    UsernameOrEmailRequired,
    ValidationError,
)
from app.problems import ConfigurationError
from app.rest.rows.limits import LimitReached

__all__ = [
    "AccessDenied",
    "AccessTokenRequired",
    "AuthorizationRequired",
    "ConfigurationError",
    "EmailNotVerified",
    "EmailRequired",
    "InvalidConfirmation",
    "InvalidEmail",
    "InvalidPassword",
    "InvalidRealm",
    "InvalidToken",
    "InvalidTtl",
    "InvalidUsername",
    "LimitReached",
    "LoginFailed",
    "ModelNotFound",
    "RealmRequired",
    "RemoteError",
    "RemoteTimeout",
    "TemporarilyUnavailable",
    "TooManyCalls",
    "TooManyHashes",
    "TooManyRequests",
    "TooManyRows",
    "UsernameOrEmailRequired",
    "ValidationError",
]
