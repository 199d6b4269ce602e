"""The application factory."""

import logging
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any
from weakref import WeakSet

from flask import Flask

from app.access.policy import check_acls
from app.audit import entries as audit
from app.commands import Commands
from app.database import startup as database
from app.datasources.connectors import set_aside_others
from app.factors import mailed_login, passkeys, personal_tokens
from app.factors import setup as factors
from app.http import headers, json, templates
from app.oauth import identity_views
from app.observability import health, logs, origin
from app.pages import assets
from app.projects.commands import COMMANDS
from app.rest import constraints, routing
from app.rest.shared_methods import check_setting
from app.rest.views.registration import check_relations, find_dependents
from app.throttles import throttles
from app.todos import resource as todos
from app.users import views
from app.users.mailed import events as users_events
from app.users.passwords import hashing
from app.users.sessions import transports

from . import config, error_responses, hash_slots, mail, openapi, outbox, project_modules

# Modules of optional features, only imported if a setting enables them, to save time and memory.
OPTIONAL_FEATURES = {
    "ACCOUNT_PAGE": "app.account.views",
    "ADMIN_ENABLED": "app.admin.setup",
    "CORS_ORIGINS": "app.http.cors",
    "EXPLORER_ENABLED": "app.explorer.views",
    "METRICS_ENABLED": "app.metrics.setup",
    "PROVIDERS": "app.oauth.setup",
    "READ_DATABASE_URL": "app.users.sessions.positions",
    "STATIC_FOLDER": "app.frontend.middleware",
    "STORES": "app.storage.setup",
    # After the others, whose names public data sources must not have.
    "DATA_SOURCES": "app.datasources.endpoints",
}


def create_app(overrides: Mapping[str, Any] | None = None) -> Flask:
    """Create the app; `overrides` (for tests) replace `config.py` and the environment.

    Raises ConfigurationError, with one sentence, for invalid settings.
    """
    instance = config.instance_path()
    app = routing.Application(
        "app", instance_path=instance, instance_relative_config=True, static_folder=None
    )
    app.logger.setLevel(logging.INFO)
    app.ensure_sync = _remembering(app.ensure_sync)  # type: ignore[method-assign]
    routing.init_app(app)
    app.cli = Commands(COMMANDS)
    config.configure(app, overrides)
    set_aside_others(app)
    project_modules.init_app(app)
    logs.init_app(app)
    database.init_app(app)

    # Features register their own hooks, error handlers and commands.
    headers.init_app(app)
    json.init_app(app)
    templates.init_app(app)
    assets.init_app(app)
    health.init_app(app)
    error_responses.init_app(app)
    constraints.init_app(app)
    hash_slots.init_app(app)
    hashing.init_app(app)
    transports.init_app(app)
    throttles.init_app(app)
    audit.init_app(app)
    outbox.init_app(app)
    mail.init_app(app)
    users_events.init_app(app)
    identity_views.init_app(app)
    personal_tokens.init_app(app)
    mailed_login.init_app(app)
    passkeys.init_app(app)
    factors.init_app(app)

    root = app.config["REST_API_ROOT"]
    if app.config["MODELS_FOLDER"]:
        # Before the sample, which a model in JSON may replace.
        import_module("app.definitions.setup").read_models(app)
    todos.init_app(app)
    if app.config["MODELS_FOLDER"]:
        # Before users, which a model in JSON may change.
        import_module("app.definitions.setup").init_app(app)
    views.init_app(app)
    _add_optional_features(app)
    if app.config["PROJECT_FILE"]:
        # After all that it may extend, and before the final checks.
        import_module("app.projects.code").init_app(app)
    check_acls(app)
    check_setting(app)
    check_relations(app)
    find_dependents(app)
    database.check_own_tables(app)
    openapi.init_app(app)

    app.wsgi_app = routing.RoutedPaths(app.wsgi_app, root)  # type: ignore[method-assign]
    if proxies := app.config["TRUSTED_PROXIES"]:
        app.wsgi_app = origin.Proxies(  # type: ignore[method-assign]
            app.wsgi_app, x_for=proxies, x_proto=proxies, x_host=proxies, x_prefix=proxies
        )
    return app


def _remembering(ensure_sync: Callable[..., Any]) -> Callable[..., Any]:
    """Return Flask's method for coroutines, which would inspect a function at each call.

    Results for functions of a single request are not kept.
    """
    known = WeakSet[Callable[..., Any]]()

    def remember(function: Callable[..., Any]) -> Callable[..., Any]:
        if function in known:
            return function
        called: Callable[..., Any] = ensure_sync(function)
        if called is function:
            known.add(function)
        return called

    return remember


def _add_optional_features(app: Flask) -> None:
    for setting, module in OPTIONAL_FEATURES.items():
        if app.config[setting]:
            import_module(module).init_app(app)
    if app.config["MODELS_FOLDER"] and app.config["DATA_SOURCES"]:
        import_module("app.definitions.remote").init_app(app)
    if app.config["MODELS_FOLDER"] and app.config["STORES"]:
        import_module("app.definitions.containers").init_app(app)
