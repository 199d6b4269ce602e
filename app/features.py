"""The features of the service, each declared once; `app/factory.py` sets them up."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from importlib import import_module

from flask import Flask


class Stage(IntEnum):
    """When a feature is set up; within a stage, features need no particular order.

    Only the order in which paths and kinds of factors are listed depends on it.
    """

    # Hooks, error handlers, and what other features register in.
    SERVICE = 1
    # Reads declarations that replace others.
    READING = 2
    # Serves or extends resources other than the one of users, which may be related to them.
    RESOURCES = 3
    # Serves models in JSON, which may change the resource of users.
    MODELS = 4
    # Serves users, with all that was added to them.
    USERS = 5
    # Serves pages and other endpoints; later stages must not use their names and paths.
    SERVED = 6
    # Serves names that the settings choose.
    NAMED = 7
    # Serves models whose rows or files are kept by a feature of an earlier stage.
    ATTACHED = 8
    # Extends all of them.
    PROJECT = 9
    # Calls endpoints of all others, and is not served if one of them has its path.
    CALLING = 10
    # Wraps the views of all endpoints.
    WRAPPING = 11
    # Reads what the modules of the project have declared.
    DECLARED = 12


@dataclass(frozen=True)
class Feature:
    """A feature of the service: how it is switched on and set up, and what belongs to it.

    It has names of modules, because those of features that are off are not imported.
    """

    name: str
    # The module whose `function` sets the feature up for an app.
    module: str
    stage: Stage
    # The settings that must all be set for it to be on; without any, it is always on.
    settings: tuple[str, ...] = ()
    # The extra that it needs, with the names of the libraries that the extra installs.
    extra: str = ""
    libraries: tuple[str, ...] = ()
    # Whether the module is also imported and called while it is off, when it serves nothing:
    # rules may name its methods, and its tables exist.
    is_declared: bool = False
    function: str = "init_app"
    # The modules of its commands, where they have the same name, imported when they are called. A
    # module may also add commands to a group that another feature declares.
    commands: Mapping[str, str] = field(default_factory=dict)
    # The names of its models for access rules, which are without effect while it is off.
    models: tuple[str, ...] = ()

    @property
    def is_imported(self) -> bool:
        """Whether each app imports the module, whatever its settings."""
        return self.is_declared or not self.settings

    def is_on(self, settings: Mapping[str, object]) -> bool:
        """Return True if these settings switch the feature on."""
        return all(settings[name] for name in self.settings)

    def load(self) -> Callable[[Flask], None]:
        """Import the module; return the function that sets the feature up."""
        function: Callable[[Flask], None] = getattr(import_module(self.module), self.function)
        return function


FEATURES = (
    Feature("logs", "app.observability.logs", Stage.SERVICE),
    Feature("database", "app.database.startup", Stage.SERVICE, commands={"db": "app.migrate.cli"}),
    Feature("responses", "app.http.responses", Stage.SERVICE),
    Feature("templates", "app.http.templates", Stage.SERVICE),
    Feature("files of pages", "app.pages", Stage.SERVICE),
    Feature("health", "app.observability.health", Stage.SERVICE),
    Feature("errors", "app.error_responses", Stage.SERVICE),
    Feature("constraints", "app.rest.constraints", Stage.SERVICE),
    Feature("slots for hashing", "app.hash_slots", Stage.SERVICE),
    Feature("password hashes", "app.users.passwords.hashing", Stage.SERVICE),
    Feature("access tokens", "app.users.sessions.transports", Stage.SERVICE),
    Feature("throttles", "app.throttles", Stage.SERVICE),
    Feature(
        "audit log",
        "app.audit.entries",
        Stage.SERVICE,
        commands={"audit": "app.users.commands.audit"},
    ),
    Feature("outbox", "app.outbox", Stage.SERVICE, commands={"outbox": "app.outbox.cli"}),
    Feature("mail", "app.mail", Stage.SERVICE),
    Feature("mails to users", "app.users.mailed", Stage.SERVICE),
    Feature(
        "files of models",
        "app.definitions.setup",
        Stage.READING,
        settings=("MODELS_FOLDER",),
        function="read_models",
    ),
    Feature(
        "mailed login",
        "app.factors.mailed_login",
        Stage.RESOURCES,
        settings=("EMAIL_LOGIN",),
        is_declared=True,
    ),
    Feature(
        "passkeys",
        "app.factors.passkeys",
        Stage.RESOURCES,
        settings=("PASSKEYS",),
        extra="mfa",
        libraries=("webauthn",),
        is_declared=True,
    ),
    Feature(
        "second factors",
        "app.factors.setup",
        Stage.RESOURCES,
        settings=("SECOND_FACTOR",),
        extra="mfa",
        libraries=("pyotp", "segno", "cryptography"),
        is_declared=True,
        commands={"factors": "app.factors.cli", "users": "app.factors.cli"},
    ),
    Feature(
        "personal tokens",
        "app.factors.personal_tokens",
        Stage.RESOURCES,
        settings=("PERSONAL_TOKENS",),
        is_declared=True,
    ),
    Feature(
        "identities",
        "app.oauth.identity_views",
        Stage.RESOURCES,
        settings=("PROVIDERS",),
        is_declared=True,
    ),
    Feature(
        "to-dos",
        "app.todos.resource",
        Stage.RESOURCES,
        settings=("SAMPLE_TODOS",),
        is_declared=True,
    ),
    Feature(
        "models",
        "app.definitions.setup",
        Stage.MODELS,
        settings=("MODELS_FOLDER",),
        commands={"models": "app.projects.cli"},
    ),
    Feature(
        "users",
        "app.users.views",
        Stage.USERS,
        commands={
            "users": "app.users.commands.users",
            "tokens": "app.users.commands.access",
            "roles": "app.users.commands.access",
        },
    ),
    Feature(
        "webhooks",
        "app.webhooks",
        Stage.USERS,
        settings=("WEBHOOKS",),
        extra="webhooks",
        libraries=("cryptography",),
        is_declared=True,
        commands={"webhooks": "app.webhooks.cli"},
    ),
    Feature("account page", "app.account.views", Stage.SERVED, settings=("ACCOUNT_PAGE",)),
    Feature(
        "admin page",
        "app.admin.setup",
        Stage.SERVED,
        settings=("ADMIN_ENABLED",),
        models=("admin",),
    ),
    Feature("CORS", "app.http.cors", Stage.SERVED, settings=("CORS_ORIGINS",)),
    Feature("explorer", "app.explorer", Stage.SERVED, settings=("EXPLORER_ENABLED",)),
    Feature(
        "metrics",
        "app.metrics.setup",
        Stage.SERVED,
        settings=("METRICS_ENABLED",),
        extra="metrics",
        libraries=("prometheus_client",),
    ),
    Feature(
        "identity providers",
        "app.oauth.views",
        Stage.SERVED,
        settings=("PROVIDERS",),
        extra="oidc",
        libraries=("authlib", "joserfc"),
        commands={"providers": "app.oauth.cli"},
    ),
    Feature(
        "positions of sessions",
        "app.users.sessions.positions",
        Stage.SERVED,
        settings=("READ_DATABASE_URL",),
    ),
    Feature("front end", "app.frontend", Stage.SERVED, settings=("STATIC_FOLDER",)),
    Feature("stores", "app.storage.setup", Stage.SERVED, settings=("STORES",)),
    Feature(
        "data sources",
        "app.datasources.endpoints",
        Stage.NAMED,
        settings=("DATA_SOURCES",),
        commands={"datasources": "app.datasources.cli"},
    ),
    Feature(
        "remote models",
        "app.definitions.remote",
        Stage.ATTACHED,
        settings=("MODELS_FOLDER", "DATA_SOURCES"),
    ),
    Feature(
        "containers",
        "app.definitions.containers",
        Stage.ATTACHED,
        settings=("MODELS_FOLDER", "STORES"),
    ),
    Feature(
        "files of rows",
        "app.files.setup",
        Stage.ATTACHED,
        settings=("MODELS_FOLDER", "STORES"),
    ),
    Feature(
        "project",
        "app.project_modules",
        Stage.PROJECT,
        settings=("PROJECT_FILE",),
        function="set_up_project",
        commands={
            "upgrade": "app.projects.cli",
            "fixtures": "app.projects.fixtures.cli",
        },
    ),
    Feature(
        "changes",
        "app.changes",
        Stage.CALLING,
        commands={"changes": "app.changes.cli"},
    ),
    Feature(
        "batch",
        "app.batch",
        Stage.CALLING,
        settings=("BATCH_ENABLED",),
        models=("batch",),
    ),
    Feature(
        "idempotency keys",
        "app.idempotency",
        Stage.WRAPPING,
        settings=("IDEMPOTENCY_TTL",),
        is_declared=True,
    ),
    Feature("jobs", "app.jobs", Stage.DECLARED, commands={"jobs": "app.jobs.cli"}),
)


def in_order(features: Iterable[Feature]) -> list[Feature]:
    """Return the features in the order in which they are set up."""
    return sorted(features, key=lambda feature: feature.stage)


def commands_of(features: Iterable[Feature]) -> dict[str, list[str]]:
    """Return the modules of the features' commands, by their names."""
    found = defaultdict[str, list[str]](list)
    for feature in features:
        for name, module in feature.commands.items():
            found[name].append(module)
    return found
