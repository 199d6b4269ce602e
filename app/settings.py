"""The settings: every one with its type, default and description."""

import re
from collections.abc import Callable, Mapping
from email.utils import parseaddr
from functools import partial
from typing import Any, TypeVar
from urllib.parse import unquote, urlsplit

from marshmallow import Schema, ValidationError, fields, pre_load, validate, validates_schema

DEFAULT_PORTS = {"http": 80, "https": 443}
ORIGIN = re.compile(
    r"https?://([a-z0-9.-]+|\[[0-9a-f:.]+\])(:[0-9]{1,5})?", re.IGNORECASE | re.ASCII
)

DOMAIN = re.compile(r"[a-z0-9-]+(\.[a-z0-9-]+)*", re.ASCII)
# The origin of an Android app: the SHA-256 of its certificate in base64url.
ANDROID_ORIGIN = re.compile(r"android:apk-key-hash:[A-Za-z0-9_-]{43}", re.ASCII)

#: Default seconds that requests wait to compute a password hash, and `Retry-After` of the 503 after
#: that: by then all others are finished or refused. Browsers and proxies wait for 30 and more.
HASH_WAIT = 10.0
# The default sender of mails, which cannot be answered.
NO_REPLY = "no-reply@localhost"
#: Maximum characters of `SERVICE_NAME`, which is in headers of mails.
MAX_SERVICE_NAME = 64
#: Maximum `THREADS`, each with a connection: PostgreSQL's default maximum for all processes. Python
#: runs one thread of a process at a time; the others are waiting.
MAX_THREADS = 100

# Scripts, WebAssembly and calls of the own origin only; styles also in elements, as frameworks use
# them; pictures and fonts also in the code, as bundlers do.
FRONT_END_POLICY = (
    "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self' 'unsafe-inline';"
    " img-src 'self' data: blob:; font-src 'self' data:; object-src 'none'; base-uri 'self';"
    " form-action 'self'; frame-ancestors 'self'"
)

positive = validate.Range(min=1)
more_than_zero = validate.Range(min=0, min_inclusive=False)
# Seconds; a hundred years is longer than anything needs to last.
lifetime = validate.Range(min=1, max=100 * 31556926)


def is_address(value: str, *schemes: str) -> bool:
    """Return True if a URL has one of the schemes, a host, and a valid port, if any."""
    try:
        parts = urlsplit(value)
        return parts.scheme in schemes and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


# The valid queries of MAIL_URL, and whether they require STARTTLS.
STARTTLS = {"": False, "starttls=0": False, "starttls=1": True, "starttls=true": True}


def _check_mail_url(value: str) -> None:
    if not is_address(value, "smtp", "smtps") or urlsplit(value).path not in ("", "/"):
        raise ValidationError(
            "must look like smtp://user:password@host:587?starttls=1, with %40 for an @ in the"
            " password, and so on"
        )
    parts = urlsplit(value)
    try:
        unquote(parts.netloc, errors="strict").encode()
    except UnicodeError:
        raise ValidationError("must have its user and password in UTF-8") from None
    # Any other query could be meant to require it.
    if parts.query not in STARTTLS or parts.fragment:
        raise ValidationError("may have ?starttls=1 behind the host, and nothing else")
    if STARTTLS[parts.query] and parts.scheme == "smtps":
        raise ValidationError("must not have starttls=1 with smtps://, which is TLS already")


def _check_database_url(value: str) -> None:
    """Raise ValidationError for a URL whose password would be taken for its host, and shown."""
    if not value.startswith("sqlite") and value.count("@") > 1:
        raise ValidationError("an @ in a user name, password or option must be written %40")
    if re.search(r"@[^/?]*:[^/?]*,", value):
        raise ValidationError("several hosts are written @/database?host=a:5432&host=b:5432")


def check_redirect_url(value: str) -> None:
    """Raise ValidationError for a value that is neither a path nor a URL."""
    is_path = value.startswith("/") and not value.startswith(("//", "/\\"))
    plain = value.isascii() and value.isprintable() and " " not in value
    if not plain or not (is_path or is_address(value, "http", "https")):
        raise ValidationError("must be an http or https address, or a path such as /welcome")


def _check_sender(value: str) -> None:
    if not value.isprintable() or "@" not in parseaddr(value)[1]:
        raise ValidationError("must look like Ostiary <no-reply@example.com>")


def _check_name(value: str) -> None:
    if not (value.strip() and value.isprintable() and len(value) <= MAX_SERVICE_NAME):
        raise ValidationError(f"must have 1 to {MAX_SERVICE_NAME} characters, all printable")


def _as_browsers_write(url: str) -> str:
    """Return a URL with its host in lower case and without a default port (RFC 6454, 4)."""
    parts = urlsplit(url)
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
    port = "" if parts.port in (None, DEFAULT_PORTS[parts.scheme]) else f":{parts.port}"
    return parts._replace(netloc=f"{host}{port}").geturl()


class PublicUrl(fields.String):
    """A URL as browsers write it."""

    def _deserialize(self, value: Any, *args: Any, **kwargs: Any) -> str:
        url: str = super()._deserialize(value, *args, **kwargs)
        if not is_address(url, "http", "https") or url.endswith("/") or not url.isascii():
            raise ValidationError(
                "must be an http or https address without a trailing slash,"
                " an international name in its ASCII form (xn--...)"
            )
        return _as_browsers_write(url)


class OriginField(fields.String):
    """An origin as browsers send it, such as `https://app.example.com`, or `*`."""

    def _deserialize(self, value: Any, *args: Any, **kwargs: Any) -> str:
        origin: str = super()._deserialize(value, *args, **kwargs)
        if origin == "*":
            return origin
        if not ORIGIN.fullmatch(origin) or not is_address(origin, "http", "https"):
            raise ValidationError("must be an origin such as https://app.example.com, or *")
        return _as_browsers_write(origin)


class PasskeyOrigin(OriginField):
    """An origin that may use passkeys: of pages with https, or of an Android app."""

    def _deserialize(self, value: Any, *args: Any, **kwargs: Any) -> str:
        if isinstance(value, str) and ANDROID_ORIGIN.fullmatch(value):
            return value
        try:
            origin = super()._deserialize(value, *args, **kwargs)
        except ValidationError:
            origin = "*"
        parts = urlsplit(origin)
        if parts.scheme != "https" and parts.hostname != "localhost":
            raise ValidationError(
                "must be an origin such as https://app.example.com, http://localhost with a port,"
                " or android:apk-key-hash: with the digest of an app's certificate"
            )
        return origin


class SecondFactorField(fields.Field[Any]):
    """`optional`, `required`, or the roles that require a second factor."""

    def _deserialize(self, value: Any, *args: Any, **kwargs: Any) -> str | list[str]:
        is_list = isinstance(value, list) and all(isinstance(name, str) for name in value)
        if (is_list and value) or value in ("optional", "required"):
            found: str | list[str] = value
            return found
        raise ValidationError('must be "optional", "required" or a list of roles')


FieldType = TypeVar("FieldType", bound=fields.Field[Any])

# The loaded settings by name; `SettingsSchema` has their types.
Settings = Mapping[str, Any]

# The value of COMPATIBILITY, and the defaults that it changes.
LOOPBACK3 = "loopback3"
COMPATIBLE_DEFAULTS = {"ACL_ERROR_STATUS": 401}


# The values of DEFAULT_PERMISSION.
DENY, ALLOW = "deny", "allow"
# The values of RELATION_PERMISSIONS.
BOTH, PARENT = "both", "parent"


def is_compatible(settings: Settings) -> bool:
    """Return True if COMPATIBILITY is set, for clients of LoopBack 3."""
    return bool(settings["COMPATIBILITY"] == LOOPBACK3)


# The key in the metadata of settings that are secret as a whole.
SECRET = "secret"  # noqa: S105 a name


def _setting(
    kind: Callable[..., FieldType],
    default: object,
    meaning: str,
    is_secret: bool = False,
    **options: object,
) -> FieldType:
    """Return a setting's field; `meaning` is its Markdown text in docs/configuration.md.

    Secret settings are never shown. In others, entries with the name of a secret, and passwords in
    URLs, are masked.
    """
    if kind is fields.Integer:
        options.setdefault("strict", True)
    metadata = {"description": meaning, **({SECRET: True} if is_secret else {})}
    return kind(load_default=default, metadata=metadata, **options)


def _group(schema: type[Schema], meaning: str) -> fields.Nested:
    """Return the setting of an object whose entries all have defaults."""
    entries = schema()
    return _setting(partial(fields.Nested, schema), lambda: entries.load({}), meaning)


class TokenMiddlewareSchema(Schema):
    """Entries of TOKEN_MIDDLEWARE."""

    cookies = _setting(
        partial(fields.List, fields.String()),
        lambda: ["access_token"],
        "Cookies that may hold a token; login sets the first one.",
        validate=validate.Length(min=1),
    )
    headers = _setting(
        partial(fields.List, fields.String()), list, "Further headers that may hold a token."
    )
    params = _setting(
        partial(fields.List, fields.String()),
        list,
        "Further query parameters that may hold a token.",
    )
    currentUserLiteral = _setting(  # noqa: N815 the interface's name
        fields.String,
        None,
        "A word, such as `me`, that can be used in place of the caller's own id in paths.",
    )


class PersonalTokensSchema(Schema):
    """Entries of PERSONAL_TOKENS."""

    ttl = _setting(
        fields.Integer,
        2592000,
        "Lifetime in seconds of a token that is made without an end. At most `max_ttl`.",
        validate=lifetime,
    )
    max_ttl = _setting(
        fields.Integer,
        31556926,
        "Longest lifetime in seconds that a token may be made with.",
        validate=lifetime,
    )

    @validates_schema
    def _compare_limits(self, settings: dict[str, Any], **_options: Any) -> None:
        if settings["ttl"] > settings["max_ttl"]:
            message = f"{settings['ttl']} is more than max_ttl, which is {settings['max_ttl']}"
            raise ValidationError(message, "ttl")


class PasskeysSchema(Schema):
    """Entries of PASSKEYS."""

    rp_id = _setting(
        fields.String,
        None,
        "The domain that passkeys are for, on whose subdomains they work, too: by default the host"
        " of `PUBLIC_URL`. With another one, passkeys made before are of no use.",
        validate=validate.Regexp(DOMAIN),
    )
    origins = _setting(
        partial(fields.List, PasskeyOrigin()),
        list,
        "Further origins than that of `PUBLIC_URL` that log in by passkeys, such as"
        " `https://app.example.com`, or `android:apk-key-hash:` with the SHA-256 of an app's"
        " certificate in base64url.",
    )


class PasswordHashSchema(Schema):
    """Entries of PASSWORD_HASH; the defaults are OWASP's second choice for Argon2id."""

    time_cost = _setting(fields.Integer, 2, "Passes over the memory.", validate=positive)
    memory_cost = _setting(fields.Integer, 19456, "Memory in KiB.", validate=positive)
    parallelism = _setting(fields.Integer, 1, "Parallel lanes.", validate=positive)


def _rate(limit: int, seconds: int, text: str, **figures: int) -> fields.Nested:
    """Return a throttle's setting: `limit` uses within `seconds`, and further figures."""
    numbers = {"limit": limit, "seconds": seconds, **figures}
    schema = Schema.from_dict(
        {
            name: fields.Integer(strict=True, load_default=number, validate=lifetime)
            for name, number in numbers.items()
        }
    )
    return _setting(partial(fields.Nested, schema), numbers.copy, text)


class ThrottlesSchema(Schema):
    """Entries of THROTTLES; the defaults are django-allauth's, except for the locks."""

    login_identity = _rate(
        5,
        300,
        "Failed logins with one email or username.",
        lock=60,
        max_lock=900,
    )
    login_address = _rate(10, 60, "Failed logins of one client.")
    password_check = _rate(
        5,
        300,
        "Wrong passwords of one user who is logged in: to change the password or the email.",
        lock=60,
        max_lock=900,
    )
    factor_check = _rate(
        5,
        300,
        "Wrong second factors of one user.",
        lock=60,
        max_lock=900,
    )
    credential = _rate(
        100,
        3600,
        "Credentials that are added to one account: personal tokens, authenticator apps, passkeys,"
        " sets of recovery codes, and other emails unless an admin sets them.",
    )
    registration = _rate(20, 60, "Users that one client registers; each of an array counts.")
    # These two windows end no later than the links mailed within them, which live RESET_TOKEN_TTL:
    # other people's requests leave the owner a valid link.
    reset_email = _rate(
        5,
        900,
        "Requests for a password reset for one email by one client. More are answered alike, and"
        " nothing is sent.",
    )
    reset_recipient = _rate(
        10,
        900,
        "The same by all clients together, for one user whose address is verified, or for one"
        " mailbox.",
    )
    reset_address = _rate(20, 60, "Requests for a password reset by one client.")
    reset_confirmation = _rate(20, 60, "New passwords by a reset token that one client sends.")
    verification_user = _rate(
        5,
        3600,
        "Verification mails for one user; apart from these, requests to change the address, and"
        " codes that prove one.",
    )
    verification_address = _rate(20, 60, "Verification mails that one client requests.")
    mail_recipient = _rate(
        10,
        3600,
        "Mails of one kind to one mailbox that requests cause, other than for a password reset, and"
        " notices to an address that is not verified. More are not sent.",
    )
    notice_user = _rate(
        10,
        3600,
        "Notices with the same text to one user whose address is verified. One more is sent later,"
        " in place of all that are too many.",
    )
    provider_login = _rate(20, 60, "Logins by an identity provider that one client begins.")
    passkey_login = _rate(20, 60, "Logins by a passkey that one client begins.")
    mail_login_email = _rate(
        5,
        900,
        "Codes to log in that one client requests for one email. More requests are answered alike,"
        " and nothing is sent.",
    )
    mail_login_recipient = _rate(
        10,
        900,
        "The same by all clients together, for one user whose address is verified, or for one"
        " mailbox; five codes may be tried of each.",
    )
    mail_login_address = _rate(20, 60, "Codes to log in that one client requests.")


def _mail(what: str) -> fields.Boolean:
    """Return the setting that switches off a mail about an event."""
    return _setting(
        fields.Boolean,
        True,
        f"`false`: the service does not mail {what}. The application may, by its event:"
        " [mail.md](mail.md#mails-of-the-application).",
    )


class SettingsSchema(Schema):
    """Every setting of Ostiary, with its type, default and meaning."""

    REST_API_ROOT = _setting(
        fields.String,
        "/api",
        "Base path of the REST API.",
        validate=validate.Regexp(r"(/[\w.~-]+)+$"),
    )
    PUBLIC_URL = _setting(
        PublicUrl,
        "http://127.0.0.1:3000",
        "The address of the service for its users, without a trailing slash. Links in mails start"
        " with it; it is never taken from a request.",
    )
    SERVICE_NAME = _setting(
        fields.String,
        "Ostiary",
        "The name of the service in mails and pages.",
        validate=_check_name,
    )
    TOKEN_TTL = _setting(
        fields.Integer,
        1209600,
        "Default lifetime of an access token in seconds, if the login requests none. At most"
        " `TOKEN_MAX_TTL`.",
        validate=lifetime,
    )
    TOKEN_MAX_TTL = _setting(
        fields.Integer,
        31556926,
        "Maximum lifetime in seconds that a login may request.",
        validate=lifetime,
    )
    ETERNAL_TOKENS = _setting(
        fields.Boolean,
        False,
        "`true`: a login may request a `ttl` of -1, as with LoopBack 3's `allowEternalTokens`; its"
        " token is valid for `TOKEN_MAX_TTL` seconds.",
    )
    RESET_TOKEN_TTL = _setting(
        fields.Integer, 900, "Lifetime of a password reset token in seconds.", validate=lifetime
    )
    TOKEN_SLIDING = _setting(
        fields.Boolean,
        False,
        "`true`: each use of a login token prolongs it to its full lifetime, but not beyond"
        " `TOKEN_MAX_TTL` from the login.",
    )
    TOKEN_TOUCH_INTERVAL = _setting(
        fields.Integer,
        60,
        "Seconds between two prolongations of a token: a lower value causes more writes. With"
        " `TOKEN_SLIDING` it must be less than `TOKEN_TTL`.",
        validate=validate.Range(min=0),
    )
    TOKEN_IN_QUERY = _setting(
        fields.Boolean, True, "`false` refuses access tokens in the query string."
    )
    TOKEN_MIDDLEWARE = _setting(
        partial(fields.Nested, TokenMiddlewareSchema),
        None,
        "An object, `{}` included, switches cookies on: login sets one, and requests from"
        " pages of `PUBLIC_URL` may present it. Its entries are below.",
    )
    PERSONAL_TOKENS = _setting(
        partial(fields.Nested, PersonalTokensSchema),
        None,
        "An object, `{}` included, lets users make tokens for programs, with scopes:"
        " [identity.md](identity.md#personal-tokens). Its entries are below.",
    )
    PASSKEYS = _setting(
        partial(fields.Nested, PasskeysSchema),
        None,
        "An object, `{}` included, lets users log in by passkeys:"
        " [identity.md](identity.md#passkeys). It needs a `PUBLIC_URL` with https, or"
        " `http://localhost`. Its entries are below.",
    )
    SECOND_FACTOR = _setting(
        SecondFactorField,
        None,
        "`optional`: users may add second factors, which their logins then take. A list of roles"
        ' such as `["admin"]`: whoever has one must. `required`: everybody must.'
        " [identity.md](identity.md#second-factors).",
    )
    FACTOR_KEYS = _setting(
        partial(fields.List, fields.String()),
        list,
        "Keys that encrypt the secrets of second factors, such as `openssl rand -base64 32 | tr +/"
        " -_` prints. The first one encrypts, all of them decrypt.",
        is_secret=True,
    )
    REALM_REQUIRED = _setting(fields.Boolean, False, "`true`: a login requires a realm.")
    REALM_DELIMITER = _setting(
        fields.String,
        None,
        "Text between realm and name, such as `:`. A login may then name both as"
        " `realm:name`, and requires a realm.",
        validate=validate.Length(min=1),
    )
    EMAIL_CASE_SENSITIVE = _setting(
        fields.Boolean, False, "`false`: addresses are stored and compared in lower case."
    )
    PASSWORD_MIN_LENGTH = _setting(
        fields.Integer,
        8,
        "Minimum characters of a new password. At most `PASSWORD_MAX_LENGTH`.",
        validate=positive,
    )
    PASSWORD_MAX_LENGTH = _setting(
        fields.Integer, 256, "Maximum characters of a new password.", validate=positive
    )
    PASSWORD_BLOCKLIST = _setting(
        fields.Boolean, True, "`true`: the most common passwords are refused as new passwords."
    )
    PASSWORD_HASH = _group(PasswordHashSchema, "Cost of Argon2id; its entries are below.")
    PASSWORD_HASHES = _setting(
        fields.Integer,
        None,
        "Maximum threads of one process for requests that compute a password hash; further ones"
        " wait in a queue without a thread. By default half of `THREADS`.",
        validate=positive,
    )
    PASSWORD_HASH_WAIT = _setting(
        fields.Float,
        HASH_WAIT,
        "Seconds that such a request waits in the queue before it is refused with 503"
        " `TOO_MANY_HASHES`.",
        validate=validate.Range(min=0),
    )
    THROTTLE_ENABLED = _setting(
        fields.Boolean, True, "`false`: nothing is counted, and passwords may be guessed."
    )
    THROTTLES = _group(ThrottlesSchema, "Limits on attempts; its entries are below.")
    USERS_PATH = _setting(
        fields.String,
        "users",
        "The segment of the path below `REST_API_ROOT` at which users are served, such as"
        " `Accounts`. Requests may write it in any case.",
        validate=validate.Regexp(
            r"[A-Za-z][A-Za-z0-9_-]{0,63}\Z",
            error="must begin with a letter, followed by at most 63 letters, digits, _ and -",
        ),
    )
    USER_PROPERTIES = _setting(
        fields.Dict,
        dict,
        "Further properties of users by name, in LoopBack 3's form, such as"
        ' `{"company": {"type": "string", "required": true}}`; see [models.md](models.md).',
        keys=fields.String(),
    )
    REGISTRATION_OPEN = _setting(
        fields.Boolean, True, "`false`: only admins and the command line create users."
    )
    EMAIL_VERIFICATION = _setting(
        fields.String,
        None,
        "Whether users are asked by mail to confirm their address: `optional`, or `required`,"
        " which refuses a login until then.",
        validate=validate.OneOf(["optional", "required"]),
    )
    VERIFY_TOKEN_TTL = _setting(
        fields.Integer,
        172800,
        "Lifetime in seconds of a token that confirms an address.",
        validate=lifetime,
    )
    EMAIL_LOGIN = _setting(
        fields.Boolean,
        False,
        "`true`: users may log in by a code that is mailed to them:"
        " [identity.md](identity.md#login-by-mail). It needs `LOGIN_CODE_KEYS`.",
    )
    LOGIN_CODE_KEYS = _setting(
        partial(fields.List, fields.String(validate=validate.Length(32, 4096))),
        list,
        "Secrets of at least 32 characters; codes that are mailed to log in are derived from the"
        " first one. To replace it, put another before it, and remove the old one ten minutes"
        " later.",
        is_secret=True,
    )
    EMAIL_CHANGE = _setting(
        fields.String,
        "direct",
        "How users change their address: `direct`, as any other property, or `confirmed`, by"
        " `POST /users/change-email` and a link that is mailed to the new address.",
        validate=validate.OneOf(["direct", "confirmed"]),
    )
    REDIRECT_URLS = _setting(
        partial(fields.List, fields.String(validate=check_redirect_url)),
        list,
        "Addresses to which `GET /users/confirm` may redirect, each exactly as it is requested,"
        " and to which a login by an identity provider may.",
        error_messages={"invalid": 'must be a list, such as ["/welcome"]'},
    )
    CORS_ORIGINS = _setting(
        partial(fields.List, OriginField()),
        list,
        "Origins whose pages may call the API from a browser, such as"
        " `https://app.example.com`; `*` is every origin, and needs `TOKEN_MIDDLEWARE` off.",
        error_messages={"invalid": 'must be a list, such as ["https://app.example.com"]'},
    )
    ACLS = _setting(
        fields.Dict,
        None,
        "Rules in LoopBack 3's form by the name of a model; they replace the model's own.",
        keys=fields.String(),
    )
    DEFAULT_PERMISSION = _setting(
        fields.String,
        DENY,
        "Decision on calls of models in JSON without a matching rule: `deny` or, as in LoopBack 3,"
        " `allow`: [models.md](models.md#calls-that-no-rule-is-about).",
        validate=validate.OneOf([DENY, ALLOW]),
    )
    RELATION_PERMISSIONS = _setting(
        fields.String,
        BOTH,
        "Whose rules decide on calls of relations, and on `include`, that lead to models in JSON:"
        " those of `both` models or, as in LoopBack 3, only those of the `parent`:"
        " [models.md](models.md#rules-of-relations).",
        validate=validate.OneOf([BOTH, PARENT]),
    )
    SAMPLE_TODOS = _setting(
        fields.Boolean,
        True,
        "`false`: the sample model, to-dos, is not served. A model in JSON may also replace it.",
    )
    FIXTURES = _setting(
        fields.Boolean,
        False,
        "`true`: `ostiary run` loads the project's roles, users and rows, once the database is"
        " migrated: [fixtures.md](fixtures.md).",
    )
    SHARED_METHODS = _setting(
        fields.Dict,
        dict,
        'Methods that all models do not serve, such as `{"updateAll": false}`, as LoopBack 3\'s'
        " `remoting.sharedMethods`: [models.md](models.md#methods-that-are-switched-off).",
        keys=fields.String(),
        values=fields.Boolean(truthy={True}, falsy={False}),
    )
    DATA_SOURCES = _setting(
        fields.Dict,
        dict,
        "Settings of data sources by name. By default the content of"
        " `datasources.json`, where that file exists.",
        keys=fields.String(),
    )
    STORES = _setting(
        fields.Dict,
        dict,
        "Stores of files by name: see [files.md](files.md). By default the entries of"
        " `datasources.json` whose connector is `loopback-component-storage`.",
        keys=fields.String(),
    )
    MODELS_FOLDER = _setting(
        fields.String,
        None,
        "The folder with models, in JSON or in Python; a relative path is in the project folder."
        " By default `models`, where that folder exists.",
    )
    PROJECT_FILE = _setting(
        fields.String,
        None,
        "The Python file whose function `init_app(app)` adds the project's own code, see"
        " [models.md](models.md#code-of-a-project); a relative path is in the project"
        " folder. By default `project.py`, where that file exists.",
    )
    TEMPLATES_FOLDER = _setting(
        fields.String,
        None,
        "The folder with the project's [templates](mail.md#languages-and-looks), which replace"
        " those of the same names; a relative path is in the project folder. By"
        " default `templates`, where that folder exists.",
    )
    MIGRATIONS_FOLDER = _setting(
        fields.String,
        None,
        "The folder with the migrations of the project; a relative path is in the project's folder."
        " By default `migrations` there.",
    )
    PROVIDERS = _setting(
        fields.Dict,
        dict,
        "Identity providers by name: see [identity.md](identity.md#identity-providers). By"
        " default the content of `providers.json`, where that file exists.",
        keys=fields.String(),
    )
    COMPATIBILITY = _setting(
        fields.String,
        None,
        "`loopback3`: answer clients that were written for LoopBack 3 as it does, where that is"
        " safe: [compatibility.md](compatibility.md).",
        validate=validate.OneOf([LOOPBACK3]),
    )
    ACL_ERROR_STATUS = _setting(
        fields.Integer,
        403,
        "Status of refused calls of logged-in callers. 401 and 404 are for clients that were"
        " written for LoopBack 3.",
        validate=validate.OneOf([401, 403, 404]),
    )
    MAIL_URL = _setting(
        fields.String,
        None,
        "The mail server: `smtp://user:password@host:587?starttls=1` or `smtps://...`. An `@`"
        " in the password is written `%40`, and so on, in UTF-8. Without it mails are files in"
        " `MAIL_FOLDER`.",
        validate=_check_mail_url,
    )
    MAIL_FOLDER = _setting(
        fields.String,
        "mail",
        "The folder to which mails are written; a relative path is in the project folder.",
    )
    MAIL_FROM = _setting(
        fields.String,
        f"Ostiary <{NO_REPLY}>",
        "Sender of all mails. An address alone, and the default, gets the name `SERVICE_NAME`.",
        validate=_check_sender,
    )
    RESET_MAIL = _mail("the link by which a user sets a new password")
    VERIFICATION_MAIL = _mail("the link that confirms an address")
    EMAIL_CODE_MAIL = _mail("the code by which a user proves an address")
    LOGIN_CODE_MAIL = _mail("the code by which a user logs in")
    EMAIL_CHANGE_MAIL = _mail("the link that confirms a new address")
    EMAIL_CHANGE_NOTICE_MAIL = _mail("to the present address that a new one was asked for")
    EMAIL_CHANGED_MAIL = _mail("to the old address that it was replaced")
    CREDENTIAL_CHANGED_MAIL = _mail(
        "that the password, a second factor, a passkey or the recovery codes were changed"
    )
    ACCOUNT_CLAIMED_MAIL = _mail(
        "to a user that a login by an identity provider has removed the password"
    )
    OUTBOX_IN_PROCESS = _setting(
        fields.Boolean,
        True,
        "`false`: the service's processes send no mail; `ostiary outbox run` must run beside"
        " them, and sends it.",
    )
    OUTBOX_POLL_INTERVAL = _setting(
        fields.Float,
        10.0,
        "Seconds between two checks of a process for mail that others have not sent. Its own mail"
        " is sent at once.",
        validate=validate.Range(min=0.1),
    )
    OUTBOX_DAYS = _setting(
        fields.Integer,
        7,
        "Days for which the outbox keeps deliveries that are sent or cancelled.",
        validate=validate.Range(min=0, max=36500),
    )
    AUDIT_DAYS = _setting(
        fields.Integer,
        90,
        "Days for which the records of the audit log are kept. `null`: nothing is recorded.",
        allow_none=True,
        validate=validate.Range(min=1, max=36525),
    )
    TRUSTED_PROXIES = _setting(
        fields.Integer,
        0,
        "How many proxies in front of the service set `X-Forwarded-*`.",
        validate=validate.Range(min=0),
    )
    MAX_BODY_BYTES = _setting(
        fields.Integer,
        102400,
        "Bytes of a request body; larger ones are refused with 413.",
        validate=positive,
    )
    STATIC_FOLDER = _setting(
        fields.String,
        None,
        "The folder of a front end, which is served beside the API: [frontend.md](frontend.md). A"
        " relative path is in the project folder.",
        validate=validate.Length(min=1),
    )
    STATIC_POLICY = _setting(
        fields.String,
        FRONT_END_POLICY,
        "The `Content-Security-Policy` of the files in `STATIC_FOLDER`. `null`: they have none.",
        allow_none=True,
        validate=validate.Regexp(r"[ -~]+\Z", error="must be one line of printable ASCII"),
    )
    EXPLORER_ENABLED = _setting(
        fields.Boolean, True, "`false`: no page at `/explorer`. The OpenAPI document stays."
    )
    ACCOUNT_PAGE = _setting(
        fields.Boolean,
        False,
        "`true`: a page at `/account`, where users log in and manage their account:"
        " [identity.md](identity.md#the-account-page).",
    )
    ADMIN_ENABLED = _setting(
        fields.Boolean,
        True,
        "`false`: neither the page at `/admin` nor the calls behind it: [admin.md](admin.md).",
    )
    SQLALCHEMY_DATABASE_URI = _setting(
        fields.String,
        "sqlite:///ostiary.sqlite",
        "The database, which the environment calls `DATABASE_URL`. A relative path of"
        " SQLite is in the project folder.",
        validate=_check_database_url,
    )
    SQLALCHEMY_ENGINE_OPTIONS = _setting(
        fields.Dict,
        dict,
        'Arguments of SQLAlchemy\'s `create_engine`, such as `{"pool_size": 10}`; they'
        " override the service's own.",
        keys=fields.String(),
    )
    READ_DATABASE_URL = _setting(
        fields.String,
        None,
        "Standbys of the database, which answer reads of models; the environment has it without a"
        " prefix: [postgresql.md](postgresql.md#read-replicas).",
        validate=_check_database_url,
    )
    READ_MAX_LAG = _setting(
        fields.Float,
        5.0,
        "Maximum seconds by which a standby that answers reads may lag behind.",
        validate=more_than_zero,
    )
    PGBOUNCER = _setting(
        fields.Boolean,
        False,
        "`true`: `DATABASE_URL` is that of PgBouncer, and the role has the time-outs:"
        " [postgresql.md](postgresql.md#pgbouncer).",
    )
    ID_TYPE = _setting(
        fields.String,
        "integer",
        "Ids of users, to-dos and roles: `integer`, `uuid`, or `objectid`, 24 hexadecimal"
        " digits as MongoDB has them. A database keeps the type that it was created with.",
        validate=validate.OneOf(["integer", "uuid", "objectid"]),
    )
    STATEMENT_TIMEOUT = _setting(
        fields.Float,
        5.0,
        "Seconds that one database statement may take, and wait for a lock.",
        validate=more_than_zero,
    )
    # Requests are small; Apache's mod_reqtimeout allows 20 seconds each for headers and body.
    REQUEST_TIMEOUT = _setting(
        fields.Float,
        10.0,
        "Seconds within which a request must have arrived completely, and after which a"
        " connection is closed if its client reads nothing of the response.",
        validate=more_than_zero,
    )
    THREADS = _setting(
        fields.Integer,
        4,
        "Requests that one process handles concurrently, each with a database connection. Set it"
        " in the environment as `THREADS`, where gunicorn reads it too.",
        strict=False,
        validate=validate.Range(min=1, max=MAX_THREADS),
    )
    LOG_FORMAT = _setting(
        fields.String,
        "text",
        "Log lines as text, or as one JSON object each. Set it in the environment as"
        " `APP_LOG_FORMAT`, where gunicorn reads it too.",
        validate=validate.OneOf(["text", "json"]),
    )
    METRICS_ENABLED = _setting(
        fields.Boolean,
        False,
        "`true`: the service's processes count what they do, and serve it to Prometheus:"
        " [monitoring.md](monitoring.md). Needs the extra `metrics`.",
    )
    METRICS_HOST = _setting(
        fields.String,
        "127.0.0.1",
        "The address at which metrics are served, without a password: one that only Prometheus"
        " reaches.",
        validate=validate.Length(min=1),
    )
    # The default is that of OpenTelemetry's exporter for Prometheus.
    METRICS_PORT = _setting(
        fields.Integer,
        9464,
        "The port of the metrics; each service on a host needs its own.",
        validate=validate.Range(min=1, max=65535),
    )
    DATA_SOURCE_CALLS = _setting(
        fields.Integer,
        None,
        "Concurrent calls of public data sources by one process. By default half of `THREADS`.",
        validate=positive,
    )

    @pre_load
    def _name_sender(self, given: dict[str, Any], **_options: Any) -> dict[str, Any]:
        return {"MAIL_FROM": NO_REPLY, **given} if "SERVICE_NAME" in given else given

    @pre_load
    def _set_compatible_defaults(self, given: dict[str, Any], **_options: Any) -> dict[str, Any]:
        loopback3 = given.get("COMPATIBILITY") == LOOPBACK3
        return {**COMPATIBLE_DEFAULTS, **given} if loopback3 else given

    @validates_schema
    def _check_origins(self, settings: dict[str, Any], **_options: Any) -> None:
        if "*" in settings["CORS_ORIGINS"] and settings["TOKEN_MIDDLEWARE"]:
            raise ValidationError("must not have * with TOKEN_MIDDLEWARE", "CORS_ORIGINS")

    @validates_schema
    def _compare_limits(self, settings: dict[str, Any], **_options: Any) -> None:
        for name, limit in (
            ("TOKEN_TTL", "TOKEN_MAX_TTL"),
            ("PASSWORD_MIN_LENGTH", "PASSWORD_MAX_LENGTH"),
        ):
            if settings[name] > settings[limit]:
                message = f"{settings[name]} is more than {limit}, which is {settings[limit]}"
                raise ValidationError(message, name)
        if settings["TOKEN_SLIDING"] and settings["TOKEN_TOUCH_INTERVAL"] >= settings["TOKEN_TTL"]:
            message = f"must be less than TOKEN_TTL, which is {settings['TOKEN_TTL']}"
            raise ValidationError(message, "TOKEN_TOUCH_INTERVAL")
