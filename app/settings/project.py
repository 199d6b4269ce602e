"""Settings of a project: who may call what, its models, folders, data sources and providers."""

from functools import partial
from typing import Any

from marshmallow import Schema, fields, pre_load, validate

from .fields import OriginField, Settings, lifetime, setting

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


class ProjectSettings(Schema):
    """Permissions, models, folders, data sources and identity providers."""

    CORS_ORIGINS = setting(
        partial(fields.List, OriginField()),
        list,
        "Origins whose pages may call the API from a browser, such as"
        " `https://app.example.com`; `*` is every origin, and needs `TOKEN_MIDDLEWARE` off.",
        error_messages={"invalid": 'must be a list, such as ["https://app.example.com"]'},
    )
    ACLS = setting(
        fields.Dict,
        None,
        "Rules in LoopBack 3's form by the name of a model; they replace the model's own.",
        keys=fields.String(),
    )
    DEFAULT_PERMISSION = setting(
        fields.String,
        DENY,
        "Decision on calls of models in JSON without a matching rule: `deny` or, as in LoopBack 3,"
        " `allow`: [rules.md](rules.md#calls-that-no-rule-is-about).",
        validate=validate.OneOf([DENY, ALLOW]),
    )
    RELATION_PERMISSIONS = setting(
        fields.String,
        BOTH,
        "Whose rules decide on calls of relations, and on `include`, that lead to models in JSON:"
        " those of `both` models or, as in LoopBack 3, only those of the `parent`:"
        " [relations.md](relations.md#rules-of-relations).",
        validate=validate.OneOf([BOTH, PARENT]),
    )
    SAMPLE_TODOS = setting(
        fields.Boolean,
        True,
        "`false`: the sample model, to-dos, is not served. A model in JSON may also replace it.",
    )
    CHANGES = setting(
        partial(fields.List, fields.String()),
        list,
        "Models whose changes are recorded in the log of changes, in addition to those that say so"
        " themselves: [changes.md](changes.md).",
    )
    CHANGES_RETENTION = setting(
        fields.Integer,
        7 * 86400,
        "Seconds for which the log of changes keeps a change.",
        validate=lifetime,
    )
    WEBHOOKS = setting(
        fields.Boolean,
        False,
        "`true`: changes and events are sent to addresses that administrators add:"
        " [webhooks.md](webhooks.md).",
    )
    WEBHOOK_KEYS = setting(
        partial(fields.List, fields.String()),
        list,
        "Keys that encrypt the secrets and the bodies of webhooks, such as `openssl rand -base64 32"
        " | tr +/ -_` prints. The first one encrypts, all of them decrypt.",
        is_secret=True,
    )
    WEBHOOK_HOSTS = setting(
        partial(fields.List, fields.String()),
        list,
        "Hosts, such as `hooks.internal` or `10.0.0.5:8080`, and networks, such as `10.0.0.0/8`,"
        " to which webhooks are sent although they are not public, and by `http` too.",
    )
    FIXTURES = setting(
        fields.Boolean,
        False,
        "`true`: `ostiary run` loads the project's roles, users and rows, once the database is"
        " migrated: [fixtures.md](fixtures.md).",
    )
    SHARED_METHODS = setting(
        fields.Dict,
        dict,
        'Methods that all models do not serve, such as `{"updateAll": false}`, as LoopBack 3\'s'
        " `remoting.sharedMethods`:"
        " [model-files.md](model-files.md#methods-that-are-switched-off).",
        keys=fields.String(),
        values=fields.Boolean(truthy={True}, falsy={False}),
    )
    DATA_SOURCES = setting(
        fields.Dict,
        dict,
        "Settings of data sources by name. By default the content of"
        " `datasources.json`, where that file exists.",
        keys=fields.String(),
    )
    STORES = setting(
        fields.Dict,
        dict,
        "Stores of files by name: see [files.md](files.md). By default the entries of"
        " `datasources.json` whose connector is `loopback-component-storage`.",
        keys=fields.String(),
    )
    FILE_URL_KEYS = setting(
        partial(fields.List, fields.String(validate=validate.Length(32, 4096))),
        list,
        "Secrets of at least 32 characters, for models with files: the first one signs the URLs of"
        " files, and all of them are accepted: [files-of-rows.md](files-of-rows.md). To replace it,"
        " put another before it, and remove the old one ten minutes later.",
        is_secret=True,
    )
    MODELS_FOLDER = setting(
        fields.String,
        None,
        "The folder with models, in JSON or in Python; a relative path is in the project folder."
        " By default `models`, where that folder exists.",
    )
    PROJECT_FILE = setting(
        fields.String,
        None,
        "The Python file whose function `init_app(app)` adds the project's own code, see"
        " [project.md](project.md#code-of-a-project); a relative path is in the project"
        " folder. By default `project.py`, where that file exists.",
    )
    TEMPLATES_FOLDER = setting(
        fields.String,
        None,
        "The folder with the project's [templates](mail.md#languages-and-looks), which replace"
        " those of the same names; a relative path is in the project folder. By"
        " default `templates`, where that folder exists.",
    )
    MIGRATIONS_FOLDER = setting(
        fields.String,
        None,
        "The folder with the migrations of the project; a relative path is in the project's folder."
        " By default `migrations` there.",
    )
    PROVIDERS = setting(
        fields.Dict,
        dict,
        "Identity providers by name: see [identity.md](identity.md#identity-providers). By"
        " default the content of `providers.json`, where that file exists.",
        keys=fields.String(),
    )
    COMPATIBILITY = setting(
        fields.String,
        None,
        "`loopback3`: answer clients that were written for LoopBack 3 as it does, where that is"
        " safe: [compatibility.md](compatibility.md).",
        validate=validate.OneOf([LOOPBACK3]),
    )
    ACL_ERROR_STATUS = setting(
        fields.Integer,
        403,
        "Status of refused calls of logged-in callers. 401 and 404 are for clients that were"
        " written for LoopBack 3.",
        validate=validate.OneOf([401, 403, 404]),
    )

    @pre_load
    def _set_compatible_defaults(
        self, given: dict[str, object], **_options: object
    ) -> dict[str, Any]:
        loopback3 = given.get("COMPATIBILITY") == LOOPBACK3
        return {**COMPATIBLE_DEFAULTS, **given} if loopback3 else given
