"""Schemas of the bodies and responses of admin calls."""

from typing import Any

import marshmallow
from marshmallow import fields

from app.fields.base import Id, Schema, Text, Timestamp

EXAMPLE_TIME = "2026-01-02T03:04:05.678Z"
SECONDS = {"description": "In seconds."}
# The types of a JSON value, except null.
ANY_TYPE = ["object", "array", "string", "number", "boolean"]


def _any(example: object = None, **metadata: object) -> fields.Raw:
    """Return a field for any JSON value, which is not checked."""
    given = {"type": ANY_TYPE, "examples": [example], **metadata}
    return fields.Raw(allow_none=True, metadata=given)


def _texts(*example: str) -> fields.List[str]:
    return fields.List(fields.String(), metadata={"examples": [[*example]]})


def _object(example: dict[str, object], **options: Any) -> fields.Dict:
    return fields.Dict(fields.String(), metadata={"examples": [example]}, **options)


def _objects(schema: type[Schema]) -> fields.List[Any]:
    """Return a field for a list of objects, which is empty in the example."""
    return fields.List(fields.Nested(schema), metadata={"examples": [[]]})


class AccessSchema(Schema):
    """The caller, and the methods of each model that it may call."""

    userId = Id(attribute="user_id", dump_only=True)  # noqa: N815
    email = fields.String()
    roles = _texts("support")
    isStrong = fields.Boolean(attribute="is_strong")  # noqa: N815
    isRecent = fields.Boolean(attribute="is_recent")  # noqa: N815
    methods = _object({"todos": ["find"]}, values=fields.List(fields.String()))


class RelationSchema(Schema):
    """A relation of a model; `model` is null if it leads to rows of several models.

    `filterable` are the properties of its rows that filters may use.
    """

    name = fields.String()
    type = fields.String()
    model = fields.String(allow_none=True)
    foreignKey = fields.String(attribute="foreign_key")  # noqa: N815
    many = fields.Boolean()
    filterable = fields.List(fields.String())


class ModelSchema(Schema):
    """A served model: its name in rules, its path, and the schema of its rows."""

    name = fields.String()
    path = fields.String()
    singular = fields.String()
    idName = fields.String(attribute="id_name")  # noqa: N815
    schema = _object({"type": "object"})
    createSchema = _object({"type": "object"}, attribute="create_schema")  # noqa: N815
    owner = fields.String(allow_none=True)
    relations = _objects(RelationSchema)
    rules = fields.List(fields.Dict(fields.String()), metadata={"examples": [[]]})
    file = fields.String(allow_none=True)


class CountedModelSchema(ModelSchema):
    """A served model with the number of its rows, which is null for a remote service."""

    rows = fields.Integer(allow_none=True, metadata={"description": "`null` for a remote service."})


class RoleNameSchema(Schema):
    """A role that a user has."""

    name = fields.String()


class NewRoleSchema(Schema):
    """The body to create a role."""

    name = Text(255, required=True, metadata={"examples": ["support"]})


class RoleSchema(Schema):
    """A role with its number of members."""

    name = fields.String()
    members = fields.Integer()


class MemberSchema(Schema):
    """A member of a role."""

    id = Id(dump_only=True)
    email = fields.String()
    username = fields.String(allow_none=True)
    realm = fields.String(allow_none=True)


class DeliverySchema(Schema):
    """A delivery of the outbox: a mail, or application code that runs after an event."""

    id = fields.Integer(dump_only=True)
    event = fields.String(dump_only=True)
    subscriber = fields.String(dump_only=True)
    # Filled in for a whole page: it is part of the event's data, which may be damaged.
    recipient = fields.String(
        dump_only=True,
        allow_none=True,
        metadata={
            "description": "The email address that it is for; null if it has none.",
            "examples": ["ada@example.com"],
        },
    )
    state = fields.String(dump_only=True)
    attempts = fields.Integer(dump_only=True)
    created = Timestamp(dump_only=True)
    deadline = Timestamp(dump_only=True)
    requestId = fields.String(attribute="request_id", dump_only=True)  # noqa: N815
    lastError = fields.String(attribute="last_error", dump_only=True)  # noqa: N815


class JobSchema(Schema):
    """A job with its last run, or the one in progress; `duration` and `lease` are seconds."""

    name = fields.String()
    schedule = fields.String()
    lease = fields.Float(metadata=SECONDS)
    nextRun = Timestamp(attribute="next_run", allow_none=True)  # noqa: N815
    isRunning = fields.Boolean(attribute="is_running")  # noqa: N815
    claimedBy = fields.String(attribute="claimed_by", allow_none=True)  # noqa: N815
    runs = fields.Integer()
    started = Timestamp(allow_none=True)
    ended = Timestamp(allow_none=True)
    duration = fields.Float(allow_none=True, metadata=SECONDS)
    succeeded = Timestamp(allow_none=True)
    error = fields.String(allow_none=True)


class LockSchema(Schema):
    """A locked key of a throttle, such as an email; `key` identifies it without revealing it."""

    throttle = fields.String()
    key = fields.String(
        metadata={"description": "Identifies, without revealing it, an email or the like."}
    )
    used = fields.Integer()
    limit = fields.Integer()
    lockedUntil = Timestamp(attribute="locked_until")  # noqa: N815


class ParameterSchema(Schema):
    """A parameter of a function; the default of a secret one is null."""

    name = fields.String()
    source = fields.String()
    type = fields.String()
    required = fields.Boolean()
    default = _any()


class FunctionSchema(Schema):
    """A function of a data source."""

    name = fields.String()
    verb = fields.String()
    url = fields.String()
    parameters = _objects(ParameterSchema)


class DataSourceSchema(Schema):
    """A data source, without its secrets."""

    name = fields.String()
    connector = fields.String()
    public = fields.Boolean()
    functions = _objects(FunctionSchema)


class ArgumentsSchema(marshmallow.Schema):
    """The arguments of a function by name."""

    class Meta:
        """Load whatever is sent."""

        unknown = marshmallow.INCLUDE


class ResultSchema(Schema):
    """The result of a function of a data source."""

    result = _any(description="Bytes are base64.")


class ProviderSchema(Schema):
    """An identity provider, with the number of users who can log in by it."""

    name = fields.String()
    label = fields.String()
    protocol = fields.String()
    issuer = fields.String()
    users = fields.Integer()


class SettingSchema(Schema):
    """A setting; secrets in its value are replaced by `***`."""

    name = fields.String()
    value = _any()
    default = _any()
    description = fields.String()
    source = fields.String()
    isSecret = fields.Boolean(attribute="is_secret")  # noqa: N815


class DatabaseSchema(Schema):
    """The database."""

    dialect = fields.String()
    version = fields.String()


class ChainSchema(Schema):
    """The newest applied migrations of a database, and the newest available ones."""

    current = fields.String()
    head = fields.String()


class MigrationsSchema(Schema):
    """The migrations of the product, and of the project if it has any."""

    product = fields.Nested(ChainSchema)
    project = fields.Nested(ChainSchema, allow_none=True)


class QueueSchema(Schema):
    """The numbers of pending deliveries and of those that can be retried."""

    pending = fields.Integer()
    failed = fields.Integer()
    oldest = Timestamp(allow_none=True)


class StateSchema(Schema):
    """The state of the service, as seen by the process that answers."""

    version = fields.String()
    started = fields.String(metadata={"format": "date-time", "examples": [EXAMPLE_TIME]})
    uptime = fields.Float()
    database = fields.Nested(DatabaseSchema)
    migrations = fields.Nested(MigrationsSchema)
    health = fields.String()
    outbox = fields.Nested(QueueSchema)
    locks = fields.Integer()
    users = fields.Integer()
