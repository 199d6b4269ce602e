"""Settings of a store: an entry of datasources.json, as in loopback-component-storage."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from marshmallow import EXCLUDE, Schema, ValidationError, fields, post_load, validate

from app.connector.settings.loading import substitute_environment
from app.fields.files import MAX_FILE
from app.problems import ConfigurationError, Problems

from . import PROVIDERS
from .types import canonical_type

MIB = 1024 * 1024
# Keys of S3 sent with each file.
S3_OPTIONS = ("StorageClass", "ServerSideEncryption", "SSEKMSKeyId", "CacheControl")
# Keys of LoopBack 3 that are read elsewhere, or have no effect.
OTHER_KEYS = ("name", "connector", "s3ForcePathStyle")

positive = validate.Range(min=1)


@dataclass(frozen=True)
class StoreSettings:
    """The settings of a store."""

    provider: str
    root: str
    #: Maximum bytes of a file, of an upload, and of its fields.
    max_file_size: int
    max_request_size: int
    max_fields_size: int
    # Types that may be uploaded, and endings such as `.dwg`; None: all.
    allowed_types: frozenset[str] | None
    make_unique: bool
    key_id: str | None
    key: str | None = field(repr=False)
    region: str | None
    endpoint: str | None
    options: Mapping[str, str]


class StoreSchema(Schema):
    """The keys of an entry."""

    provider = fields.String(load_default=PROVIDERS[0], validate=validate.OneOf(PROVIDERS))
    root = fields.String(load_default="storage", validate=validate.Length(min=1))
    # As in LoopBack 3.
    maxFileSize = fields.Integer(load_default=MAX_FILE, validate=positive)  # noqa: N815
    maxRequestSize = fields.Integer(load_default=None, validate=positive)  # noqa: N815
    maxFieldsSize = fields.Integer(load_default=64 * 1024, validate=positive)  # noqa: N815
    allowedContentTypes = fields.List(fields.String(), load_default=list)  # noqa: N815
    nameConflict = fields.String(load_default="", allow_none=True)  # noqa: N815
    keyId = fields.String(load_default=None, allow_none=True)  # noqa: N815
    key = fields.String(load_default=None, allow_none=True)
    region = fields.String(load_default=None, allow_none=True)
    endpoint = fields.String(load_default=None, allow_none=True)
    StorageClass = fields.String()
    ServerSideEncryption = fields.String()
    SSEKMSKeyId = fields.String()
    CacheControl = fields.String()

    @post_load
    def _make(self, loaded: dict[str, Any], **_options: Any) -> StoreSettings:
        most = loaded["maxFileSize"]
        allowed = frozenset(map(canonical_type, loaded["allowedContentTypes"]))
        return StoreSettings(
            provider=loaded["provider"],
            root=loaded["root"],
            max_file_size=most,
            # Several files, or one and the fields around it.
            max_request_size=loaded["maxRequestSize"] or 2 * most + MIB,
            max_fields_size=loaded["maxFieldsSize"],
            allowed_types=allowed or None,
            make_unique=loaded["nameConflict"] == "makeUnique",
            key_id=loaded["keyId"],
            key=loaded["key"],
            region=loaded["region"],
            endpoint=loaded["endpoint"],
            options={name: loaded[name] for name in S3_OPTIONS if name in loaded},
        )


def read_settings(entry: object) -> tuple[StoreSettings, list[str]]:
    """Return an entry's settings, and its keys without effect; raise ConfigurationError."""
    if not isinstance(entry, dict):
        raise ConfigurationError("must be an object")
    problems = Problems()
    given = substitute_environment(entry, problems)
    if problems.found or not isinstance(given, dict):
        raise ConfigurationError("; ".join(problems.found))
    schema = StoreSchema(unknown=EXCLUDE)
    try:
        settings: StoreSettings = schema.load(given)
    except ValidationError as error:
        name, problem = next(iter(error.messages_dict.items()))
        # The value may be a secret.
        text = problem[0] if isinstance(problem, list) else "must be a list of texts"
        raise ConfigurationError(f"{name}: {text}") from None
    return settings, sorted(given.keys() - schema.fields.keys() - {*OTHER_KEYS})
