"""Settings of the service: its address, pages, database and processes."""

import re

from marshmallow import Schema, ValidationError, fields, validate

from .fields import PublicUrl, more_than_zero, positive, setting

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


def _check_database_url(value: str) -> None:
    """Raise ValidationError for a URL whose password would be taken for its host, and shown."""
    if not value.startswith("sqlite") and value.count("@") > 1:
        raise ValidationError("an @ in a user name, password or option must be written %40")
    if re.search(r"@[^/?]*:[^/?]*,", value):
        raise ValidationError("several hosts are written @/database?host=a:5432&host=b:5432")


def _check_name(value: str) -> None:
    if not (value.strip() and value.isprintable() and len(value) <= MAX_SERVICE_NAME):
        raise ValidationError(f"must have 1 to {MAX_SERVICE_NAME} characters, all printable")


class AddressSettings(Schema):
    """The addresses and the name of the service."""

    REST_API_ROOT = setting(
        fields.String,
        "/api",
        "Base path of the REST API.",
        validate=validate.Regexp(r"(/[\w.~-]+)+$"),
    )
    PUBLIC_URL = setting(
        PublicUrl,
        "http://127.0.0.1:3000",
        "The address of the service for its users, without a trailing slash. Links in mails start"
        " with it; it is never taken from a request.",
    )
    SERVICE_NAME = setting(
        fields.String,
        "Ostiary",
        "The name of the service in mails and pages.",
        validate=_check_name,
    )


class ServiceSettings(Schema):
    """Limits, pages, the database, processes and metrics."""

    AUDIT_DAYS = setting(
        fields.Integer,
        90,
        "Days for which the records of the audit log are kept. `null`: nothing is recorded.",
        allow_none=True,
        validate=validate.Range(min=1, max=36525),
    )
    TRUSTED_PROXIES = setting(
        fields.Integer,
        0,
        "How many proxies in front of the service set `X-Forwarded-*`.",
        validate=validate.Range(min=0),
    )
    MAX_BODY_BYTES = setting(
        fields.Integer,
        102400,
        "Bytes of a request body; larger ones are refused with 413.",
        validate=positive,
    )
    STATIC_FOLDER = setting(
        fields.String,
        None,
        "The folder of a front end, which is served beside the API: [frontend.md](frontend.md). A"
        " relative path is in the project folder.",
        validate=validate.Length(min=1),
    )
    STATIC_POLICY = setting(
        fields.String,
        FRONT_END_POLICY,
        "The `Content-Security-Policy` of the files in `STATIC_FOLDER`. `null`: they have none.",
        allow_none=True,
        validate=validate.Regexp(r"[ -~]+\Z", error="must be one line of printable ASCII"),
    )
    EXPLORER_ENABLED = setting(
        fields.Boolean, True, "`false`: no page at `/explorer`. The OpenAPI document stays."
    )
    BATCH_ENABLED = setting(
        fields.Boolean,
        True,
        "`false`: no `POST /batch`, by which clients make several calls in one transaction:"
        " [batch.md](batch.md).",
    )
    ACCOUNT_PAGE = setting(
        fields.Boolean,
        False,
        "`true`: a page at `/account`, where users log in and manage their account:"
        " [identity.md](identity.md#the-account-page).",
    )
    ADMIN_ENABLED = setting(
        fields.Boolean,
        True,
        "`false`: neither the page at `/admin` nor the calls behind it: [admin.md](admin.md).",
    )
    SQLALCHEMY_DATABASE_URI = setting(
        fields.String,
        "sqlite:///ostiary.sqlite",
        "The database, which the environment calls `DATABASE_URL`. A relative path of"
        " SQLite is in the project folder.",
        validate=_check_database_url,
    )
    SQLALCHEMY_ENGINE_OPTIONS = setting(
        fields.Dict,
        dict,
        'Arguments of SQLAlchemy\'s `create_engine`, such as `{"pool_size": 10}`; they'
        " override the service's own.",
        keys=fields.String(),
    )
    READ_DATABASE_URL = setting(
        fields.String,
        None,
        "Standbys of the database, which answer reads of models; the environment has it without a"
        " prefix: [postgresql.md](postgresql.md#read-replicas).",
        validate=_check_database_url,
    )
    READ_MAX_LAG = setting(
        fields.Float,
        5.0,
        "Maximum seconds by which a standby that answers reads may lag behind.",
        validate=more_than_zero,
    )
    PGBOUNCER = setting(
        fields.Boolean,
        False,
        "`true`: `DATABASE_URL` is that of PgBouncer, and the role has the time-outs:"
        " [postgresql.md](postgresql.md#pgbouncer).",
    )
    ID_TYPE = setting(
        fields.String,
        "integer",
        "Ids of users, to-dos and roles: `integer`, `uuid`, or `objectid`, 24 hexadecimal"
        " digits as MongoDB has them. A database keeps the type that it was created with.",
        validate=validate.OneOf(["integer", "uuid", "objectid"]),
    )
    STATEMENT_TIMEOUT = setting(
        fields.Float,
        5.0,
        "Seconds that one database statement may take, and wait for a lock.",
        validate=more_than_zero,
    )
    IDEMPOTENCY_TTL = setting(
        fields.Integer,
        None,
        "Seconds for which answers to requests with an `Idempotency-Key` are kept, to be repeated:"
        " [idempotency.md](idempotency.md). 86400, a day, is recommended. `null` or 0: the header"
        " is ignored.",
        allow_none=True,
        validate=validate.Range(min=0, max=31 * 86400),
    )
    # Requests are small; Apache's mod_reqtimeout allows 20 seconds each for headers and body.
    REQUEST_TIMEOUT = setting(
        fields.Float,
        10.0,
        "Seconds within which a request must have arrived completely, and after which a"
        " connection is closed if its client reads nothing of the response.",
        validate=more_than_zero,
    )
    THREADS = setting(
        fields.Integer,
        4,
        "Requests that one process handles concurrently, each with a database connection. Set it"
        " in the environment as `THREADS`, where gunicorn reads it too.",
        strict=False,
        validate=validate.Range(min=1, max=MAX_THREADS),
    )
    LOG_FORMAT = setting(
        fields.String,
        "text",
        "Log lines as text, or as one JSON object each. Set it in the environment as"
        " `APP_LOG_FORMAT`, where gunicorn reads it too.",
        validate=validate.OneOf(["text", "json"]),
    )
    METRICS_ENABLED = setting(
        fields.Boolean,
        False,
        "`true`: the service's processes count what they do, and serve it to Prometheus:"
        " [monitoring.md](monitoring.md). Needs the extra `metrics`.",
    )
    METRICS_HOST = setting(
        fields.String,
        "127.0.0.1",
        "The address at which metrics are served, without a password: one that only Prometheus"
        " reaches.",
        validate=validate.Length(min=1),
    )
    # The default is that of OpenTelemetry's exporter for Prometheus.
    METRICS_PORT = setting(
        fields.Integer,
        9464,
        "The port of the metrics; each service on a host needs its own.",
        validate=validate.Range(min=1, max=65535),
    )
    DATA_SOURCE_CALLS = setting(
        fields.Integer,
        None,
        "Concurrent calls of public data sources by one process. By default half of `THREADS`.",
        validate=positive,
    )
