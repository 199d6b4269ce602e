"""Features are set up in the order that they state, and an app can do without the optional ones."""

import random

import pytest

from app.access.policy import compiled_rules
from app.features import FEATURES, commands_of, in_order
from tests.support.second_factors import FACTOR_KEY

# Settings of features that need no other server.
SETTINGS = {
    "ACCOUNT_PAGE": True,
    "CORS_ORIGINS": ["https://pages.example.com"],
    "DATA_SOURCES": {"geo": {"connector": "rest", "operations": []}},
    "EMAIL_LOGIN": True,
    "FACTOR_KEYS": [FACTOR_KEY],
    "LOGIN_CODE_KEYS": ["a key of the mailed codes of the tests"],
    "METRICS_ENABLED": True,
    "PASSKEYS": {},
    "PERSONAL_TOKENS": {},
    "PUBLIC_URL": "https://ostiary.example.com",
    "SECOND_FACTOR": "optional",
}
OPTIONAL = [feature for feature in FEATURES if feature.settings]
# The value of a setting that switches a feature off.
OFF = {"CORS_ORIGINS": [], "DATA_SOURCES": {}, "PROVIDERS": {}, "STORES": {}}
SWITCHES = {"ACCOUNT_PAGE", "ADMIN_ENABLED", "EMAIL_LOGIN", "EXPLORER_ENABLED", "METRICS_ENABLED"}
SWITCHES |= {"SAMPLE_TODOS"}


def without(feature):
    return [each for each in FEATURES if each is not feature]


def off(feature):
    """Return the settings with those of a feature at values that switch it off."""
    return SETTINGS | {
        name: OFF.get(name, False if name in SWITCHES else None) for name in feature.settings
    }


def served(app):
    """Return the routes of an app, and the methods for which it has rules."""
    routes = {(rule.rule, rule.endpoint, *rule.methods) for rule in app.url_map.iter_rules()}
    return routes, set(compiled_rules.of(app))


def test_the_list_is_in_the_order_of_the_stages_and_each_name_is_given_once():
    names = [feature.name for feature in FEATURES]

    assert in_order(FEATURES) == list(FEATURES)
    assert len({*names}) == len(names)
    commands = [command for feature in FEATURES for command in feature.commands]
    assert sorted(commands_of(FEATURES)) == sorted(commands)


def test_features_of_one_stage_may_be_set_up_in_any_order(make_app):
    usual = make_app(**SETTINGS)
    shuffled = random.sample(FEATURES, len(FEATURES))

    for features in (FEATURES[::-1], shuffled):
        other = make_app(features=features, **SETTINGS)

        assert served(other) == served(usual)
        document = other.test_client().get("/api/openapi.json")
        assert document.json == usual.test_client().get("/api/openapi.json").json


@pytest.mark.parametrize("feature", OPTIONAL, ids=lambda feature: feature.name)
def test_without_an_optional_feature_the_others_work(make_app, feature):
    client = make_app(features=without(feature), **off(feature)).test_client()
    ada = {"email": "ada@example.com", "password": "a quiet harbour"}

    user = client.post("/api/users", json=ada).json
    token = client.post("/api/users/login", json=ada).json
    headers = {"Authorization": token["id"]}
    # Added by another feature, if not by this one.
    path = "personalTokens" if feature.name != "personal tokens" else "passkeys"
    listed = client.get(f"/api/users/{user['id']}/{path}", headers=headers)

    assert (listed.status_code, listed.json) == (200, [])
    assert client.get("/api/openapi.json").status_code == 200
