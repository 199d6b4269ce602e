"""Features are set up in the order that they state, and an app can do without the optional ones."""

import json
import random
from configparser import ConfigParser
from importlib import import_module

import pytest

from app.access.policy import compiled_rules
from app.features import FEATURES, commands_of, in_order
from app.problems import ConfigurationError
from tests.definitions.conftest import running_a_command
from tests.support.installation import ROOT
from tests.support.second_factors import FACTOR_KEY

# The value of a setting that switches a feature off.
OFF = {"CORS_ORIGINS": [], "DATA_SOURCES": {}, "PROVIDERS": {}, "STORES": {}}
SWITCHES = {
    "ACCOUNT_PAGE",
    "ADMIN_ENABLED",
    "BATCH_ENABLED",
    "EMAIL_LOGIN",
    "EXPLORER_ENABLED",
    "METRICS_ENABLED",
}
SWITCHES |= {"SAMPLE_TODOS", "WEBHOOKS"}
# Features that need a server, or code of a project.
NEEDS_MORE = {"READ_DATABASE_URL", "PROJECT_FILE"}
OPTIONAL = [feature for feature in FEATURES if feature.settings]
# An operation of the data source.
FIND = {
    "template": {"method": "GET", "url": "http://127.0.0.1:1/places"},
    "functions": {"find": []},
}
# The front end replaces the status at the root.
INSTEAD = {("/", "status.status", "GET", "HEAD", "OPTIONS")}
# Features that only prepare what others serve, or that gunicorn's hooks serve.
HIDDEN = {"files of models", "remote models", "containers", "stores", "metrics"}
# Those that are on with the settings of `settings`, and leave routes, rules, hooks or middleware.
VISIBLE = [
    feature
    for feature in OPTIONAL
    if not NEEDS_MORE & {*feature.settings} and feature.name not in HIDDEN
]


@pytest.fixture
def settings(tmp_path):
    """Settings that switch on all features that need no server."""
    models, site = tmp_path / "models", tmp_path / "site"
    models.mkdir()
    site.mkdir()
    note = {"name": "Note", "properties": {"text": {"type": "string"}}}
    (models / "note.json").write_text(json.dumps(note))
    (site / "index.html").write_text("<!doctype html><title>Notes</title>")
    return {
        "ACCOUNT_PAGE": True,
        "CORS_ORIGINS": ["https://pages.example.com"],
        "DATA_SOURCES": {"geo": {"connector": "rest", "public": True, "operations": [FIND]}},
        "EMAIL_LOGIN": True,
        "FACTOR_KEYS": [FACTOR_KEY],
        "IDEMPOTENCY_TTL": 86400,
        "LOGIN_CODE_KEYS": ["a key of the mailed codes of the tests"],
        "METRICS_ENABLED": True,
        "MODELS_FOLDER": str(models),
        "PASSKEYS": {},
        "PERSONAL_TOKENS": {},
        "PROVIDERS": {"github": {"clientID": "ostiary", "clientSecret": "secret"}},
        "PUBLIC_URL": "https://ostiary.example.com",
        "SECOND_FACTOR": "optional",
        "STATIC_FOLDER": str(site),
        "STORES": {"files": {"provider": "filesystem", "root": str(tmp_path / "files")}},
        "TOKEN_MIDDLEWARE": {},
        "WEBHOOKS": True,
        "WEBHOOK_KEYS": [FACTOR_KEY],
    }


@pytest.fixture
def make(make_app):
    """Build an app although the table of its model is missing."""

    def make(**settings):
        with running_a_command():
            return make_app(**settings)

    return make


def without(feature):
    return [other for other in FEATURES if other is not feature]


def off(settings, feature):
    """Return the settings with those of a feature at values that switch it off."""
    return settings | {
        name: OFF.get(name, False if name in SWITCHES else None) for name in feature.settings
    }


def name_of(function):
    function = getattr(function, "func", function)
    return getattr(function, "__qualname__", type(function).__qualname__)


def traces(app):
    """Return what features have registered: routes, views, rules, hooks and middleware."""
    found = {(rule.rule, rule.endpoint, *sorted(rule.methods)) for rule in app.url_map.iter_rules()}
    found |= {name_of(view) for view in app.view_functions.values()}
    found |= set(compiled_rules.of(app))
    hooks = (app.before_request_funcs, app.after_request_funcs, app.teardown_request_funcs)
    for number, by_blueprint in enumerate(hooks):
        for name, functions in by_blueprint.items():
            found |= {(number, name, name_of(function)) for function in functions}
    middleware = app.wsgi_app
    while middleware is not None:
        found.add(name_of(middleware))
        inner = vars(middleware) if hasattr(middleware, "__dict__") else {}
        middleware = inner.get("_wsgi_app", inner.get("_app"))
    return found


def test_the_list_is_in_the_order_of_the_stages_and_each_name_is_given_once():
    names = [feature.name for feature in FEATURES]

    assert in_order(FEATURES) == list(FEATURES)
    assert len({*names}) == len(names)


def test_features_that_declare_the_same_command_mean_the_same_group():
    for name, modules in commands_of(FEATURES).items():
        assert len({id(getattr(import_module(module), name)) for module in modules}) == 1, name


def test_without_second_factors_users_have_no_commands_for_them():
    commands = commands_of(feature for feature in FEATURES if feature.name != "second factors")

    assert "factors" not in commands
    assert commands["users"] == ["app.users.commands.users"]


@pytest.mark.parametrize(
    "feature", [feature for feature in FEATURES if feature.extra], ids=lambda feature: feature.name
)
def test_without_the_libraries_of_its_extra_a_feature_names_it(
    make, settings, monkeypatch, feature
):
    extras = ConfigParser()
    extras.read(ROOT / "setup.cfg")
    monkeypatch.setattr("app.config.find_spec", lambda name: name not in feature.libraries)
    for other in OPTIONAL:
        if other is not feature and {*other.libraries} & {*feature.libraries}:
            settings = off(settings, other)

    with pytest.raises(ConfigurationError, match=f"^{feature.settings[0]} .* {feature.extra};"):
        make(**settings)

    assert feature.extra in extras["options.extras_require"]


def test_features_of_one_stage_may_be_set_up_in_any_order(make, settings):
    usual = make(**settings)
    document = usual.test_client().get("/api/openapi.json").json

    for features in (FEATURES[::-1], random.Random(1).sample(FEATURES, len(FEATURES))):
        other = make(features=features, **settings)

        assert traces(other) == traces(usual)
        assert other.test_client().get("/api/openapi.json").json == document


def test_without_an_optional_feature_nothing_of_it_is_left_and_the_others_work(make, settings):
    usual = traces(make(**settings))

    for number, feature in enumerate(OPTIONAL):
        app = make(features=without(feature), **off(settings, feature))
        client, left = app.test_client(), traces(app)
        user = {"email": f"ada{number}@example.com", "password": "a quiet harbour"}
        # Added by another feature, if not by this one.
        path = "personalTokens" if feature.name != "personal tokens" else "passkeys"
        user_id = client.post("/api/users", json=user).json["id"]
        headers = {"Authorization": client.post("/api/users/login", json=user).json["id"]}
        listed = client.get(f"/api/users/{user_id}/{path}", headers=headers)

        assert not left - usual - INSTEAD, feature.name
        assert usual - left or feature not in VISIBLE, feature.name
        assert (listed.status_code, listed.json) == (200, []), feature.name
        assert client.get("/api/openapi.json").status_code == 200, feature.name
