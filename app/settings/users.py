"""Settings of users, their passwords and addresses."""

from functools import partial

from marshmallow import Schema, ValidationError, fields, validate

from .fields import group, is_address, lifetime, positive, setting
from .throttles import ThrottlesSchema

#: Default seconds that requests wait to compute a password hash, and `Retry-After` of the 503 after
#: that: by then all others are finished or refused. Browsers and proxies wait for 30 and more.
HASH_WAIT = 10.0


def check_redirect_url(value: str) -> None:
    """Raise ValidationError for a value that is neither a path nor a URL."""
    is_path = value.startswith("/") and not value.startswith(("//", "/\\"))
    plain = value.isascii() and value.isprintable() and " " not in value
    if not plain or not (is_path or is_address(value, "http", "https")):
        raise ValidationError("must be an http or https address, or a path such as /welcome")


class PasswordHashSchema(Schema):
    """Entries of PASSWORD_HASH; the defaults are OWASP's second choice for Argon2id."""

    time_cost = setting(fields.Integer, 2, "Passes over the memory.", validate=positive)
    memory_cost = setting(fields.Integer, 19456, "Memory in KiB.", validate=positive)
    parallelism = setting(fields.Integer, 1, "Parallel lanes.", validate=positive)


class UserSettings(Schema):
    """Names, passwords, throttles, registration and addresses of users."""

    REALM_REQUIRED = setting(fields.Boolean, False, "`true`: a login requires a realm.")
    REALM_DELIMITER = setting(
        fields.String,
        None,
        "Text between realm and name, such as `:`. A login may then name both as"
        " `realm:name`, and requires a realm.",
        validate=validate.Length(min=1),
    )
    EMAIL_CASE_SENSITIVE = setting(
        fields.Boolean, False, "`false`: addresses are stored and compared in lower case."
    )
    PASSWORD_MIN_LENGTH = setting(
        fields.Integer,
        8,
        "Minimum characters of a new password. At most `PASSWORD_MAX_LENGTH`.",
        validate=positive,
    )
    PASSWORD_MAX_LENGTH = setting(
        fields.Integer, 256, "Maximum characters of a new password.", validate=positive
    )
    PASSWORD_BLOCKLIST = setting(
        fields.Boolean, True, "`true`: the most common passwords are refused as new passwords."
    )
    PASSWORD_HASH = group(PasswordHashSchema, "Cost of Argon2id; its entries are below.")
    PASSWORD_HASHES = setting(
        fields.Integer,
        None,
        "Maximum threads of one process for requests that compute a password hash; further ones"
        " wait in a queue without a thread. By default half of `THREADS`.",
        validate=positive,
    )
    PASSWORD_HASH_WAIT = setting(
        fields.Float,
        HASH_WAIT,
        "Seconds that such a request waits in the queue before it is refused with 503"
        " `TOO_MANY_HASHES`.",
        validate=validate.Range(min=0),
    )
    THROTTLE_ENABLED = setting(
        fields.Boolean, True, "`false`: nothing is counted, and passwords may be guessed."
    )
    THROTTLES = group(ThrottlesSchema, "Limits on attempts; its entries are below.")
    USERS_PATH = setting(
        fields.String,
        "users",
        "The segment of the path below `REST_API_ROOT` at which users are served, such as"
        " `Accounts`. Requests may write it in any case.",
        validate=validate.Regexp(
            r"[A-Za-z][A-Za-z0-9_-]{0,63}\Z",
            error="must begin with a letter, followed by at most 63 letters, digits, _ and -",
        ),
    )
    USER_PROPERTIES = setting(
        fields.Dict,
        dict,
        "Further properties of users by name, in LoopBack 3's form, such as"
        ' `{"company": {"type": "string", "required": true}}`; see [own-users.md](own-users.md).',
        keys=fields.String(),
    )
    REGISTRATION_OPEN = setting(
        fields.Boolean, True, "`false`: only admins and the command line create users."
    )
    EMAIL_VERIFICATION = setting(
        fields.String,
        None,
        "Whether users are asked by mail to confirm their address: `optional`, or `required`,"
        " which refuses a login until then.",
        validate=validate.OneOf(["optional", "required"]),
    )
    VERIFY_TOKEN_TTL = setting(
        fields.Integer,
        172800,
        "Lifetime in seconds of a token that confirms an address.",
        validate=lifetime,
    )
    EMAIL_LOGIN = setting(
        fields.Boolean,
        False,
        "`true`: users may log in by a code that is mailed to them:"
        " [identity.md](identity.md#login-by-mail). It needs `LOGIN_CODE_KEYS`.",
    )
    LOGIN_CODE_KEYS = setting(
        partial(fields.List, fields.String(validate=validate.Length(32, 4096))),
        list,
        "Secrets of at least 32 characters; codes that are mailed to log in are derived from the"
        " first one. To replace it, put another before it, and remove the old one ten minutes"
        " later.",
        is_secret=True,
    )
    EMAIL_CHANGE = setting(
        fields.String,
        "direct",
        "How users change their address: `direct`, as any other property, or `confirmed`, by"
        " `POST /users/change-email` and a link that is mailed to the new address.",
        validate=validate.OneOf(["direct", "confirmed"]),
    )
    REDIRECT_URLS = setting(
        partial(fields.List, fields.String(validate=check_redirect_url)),
        list,
        "Addresses to which `GET /users/confirm` may redirect, each exactly as it is requested,"
        " and to which a login by an identity provider may.",
        error_messages={"invalid": 'must be a list, such as ["/welcome"]'},
    )
