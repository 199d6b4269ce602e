"""The application factory."""

import logging
from collections.abc import Iterable, Mapping

from flask import Flask

from app.access.policy import check_acls
from app.commands import Commands
from app.database import startup as database
from app.datasources.connectors import set_aside_others
from app.observability import origin
from app.rest import routing
from app.rest.shared_methods import check_setting
from app.rest.views.registration import (
    check_computed,
    check_limits,
    check_relations,
    find_dependents,
)
from app.storage import separate_stores

from . import config, openapi, project_modules
from .features import FEATURES, Feature, commands_of, in_order


# The modules that every app needs are imported now, once for all processes that are forked later;
# others only if a setting enables their feature, to save time and memory.
def _import_required(features: Iterable[Feature]) -> None:
    for feature in features:
        if feature.is_imported:
            feature.load()


_import_required(FEATURES)


def create_app(
    overrides: Mapping[str, object] | None = None, features: Iterable[Feature] = FEATURES
) -> Flask:
    """Create the app with these features; `overrides` replace `config.py` and the environment.

    Raises ConfigurationError, with one sentence, for invalid settings.
    """
    instance = config.instance_path()
    app = routing.Application(
        "app", instance_path=instance, instance_relative_config=True, static_folder=None
    )
    app.logger.setLevel(logging.INFO)
    routing.init_app(app)
    features = in_order(features)
    app.cli = Commands(commands_of(features))
    config.configure(app, overrides)
    separate_stores(app.config)
    set_aside_others(app)
    project_modules.init_app(app)
    for feature in features:
        is_on = feature.is_on(app.config)
        if is_on and feature.extra:
            config.require_extra(feature.settings[0], feature.extra, *feature.libraries)
        if is_on or feature.is_declared:
            feature.load()(app)

    off = [feature for feature in features if not feature.is_on(app.config)]
    check_acls(app, {model for feature in off for model in feature.models})
    check_setting(app)
    check_relations(app)
    check_limits(app)
    check_computed(app)
    find_dependents(app)
    database.check_own_tables(app)
    openapi.init_app(app)

    app.wsgi_app = routing.RoutedPaths(  # type: ignore[method-assign]
        app.wsgi_app, app.config["REST_API_ROOT"]
    )
    if proxies := app.config["TRUSTED_PROXIES"]:
        app.wsgi_app = origin.Proxies(  # type: ignore[method-assign]
            app.wsgi_app, x_for=proxies, x_proto=proxies, x_host=proxies, x_prefix=proxies
        )
    return app
