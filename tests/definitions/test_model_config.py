"""Rules, options and relations of models in model-config.json."""

import pytest

from app.problems import ConfigurationError
from tests.conftest import PASSWORD
from tests.support.answers import refusal

from .conftest import running_a_command
from .library import rule

NOTE = {
    "name": "Note",
    "properties": {"text": "string", "pin": "string"},
    "acls": [rule("$everyone")],
}
PERSON = {"email": "ada@example.com", "password": PASSWORD}


def test_rules_of_an_entry_are_added_to_those_of_the_model(serve):
    acls = [rule("$everyone", "DENY", property="create"), rule("$everyone", "DENY")]
    api = serve({"note": NOTE}, {"Note": {"acls": acls[:1]}})
    assert api("POST", "/notes", {}).status_code == 401
    assert api("GET", "/notes").json == []

    # No rule of an entry takes the place of one that denies.
    for own, more in [(acls[1], rule("$everyone")), (rule("$everyone"), acls[1])]:
        api = serve({"note": {**NOTE, "acls": [own]}}, {"Note": {"acls": [more]}})
        assert api("GET", "/notes").status_code == 401


def test_rules_among_the_options_of_a_model_take_the_place_of_the_others(serve, caplog):
    api = serve({"note": {**NOTE, "options": {"acls": [rule("$everyone", property="find")]}}})

    assert api("GET", "/notes").json == []
    assert api("POST", "/notes", {}).status_code == 401
    assert "model note.json: acls: are ignored: `options.acls` take their place" in caplog.messages


def test_options_of_an_entry_take_the_place_of_the_models_or_add_to_them(serve):
    options = {"strict": False, "hidden": ["pin"], "defaultPermission": "ALLOW"}
    note = {**NOTE, "hidden": ["text"], "strict": True, "acls": []}
    api = serve({"note": note}, {"Note": {"options": options}})

    created = api("POST", "/notes", {"text": "a", "pin": "b", "color": "red"})

    assert created.json == {"id": 1, "color": "red"}


@pytest.mark.parametrize("hidden", ["pin", {"pin": True}, ["pin"]])
def test_hidden_properties_are_added_however_they_are_written(serve, hidden):
    base = {**NOTE, "name": "Base", "hidden": ["text"]}
    models = {"base": base, "note": {"name": "Note", "base": "Base", "hidden": hidden}}
    api = serve(models, {"Note": {"options": {"hidden": "more"}}})
    assert api("POST", "/notes", {"text": "a", "pin": "b"}).json == {"id": 1}


def test_the_base_among_the_options_precedes_the_other(serve):
    account = {"name": "Account", "base": "PersistedModel", "options": {"base": "User"}}
    api = serve({"account": {**account, "acls": [rule("$everyone")]}})

    assert api("GET", "/accounts").status_code == 401
    assert api("POST", "/accounts", PERSON).json["email"] == PERSON["email"]


def test_options_of_a_model_precede_what_is_beside_them(serve):
    note = {**NOTE, "hidden": ["text"], "strict": True}
    api = serve({"note": {**note, "options": {"strict": False, "hidden": ["pin"]}}})

    assert api("POST", "/notes", {"text": "a", "color": "red"}).json == {"id": 1, "color": "red"}


def test_relations_of_an_entry_are_added_to_those_of_the_model(serve):
    line = {"name": "Line", "properties": {"noteNumber": "number"}, "acls": [rule("$everyone")]}
    note = {**NOTE, "relations": {"lines": {"type": "hasMany", "model": "Line"}}}
    config = {
        "Note": {"relations": {"lines": {"foreignKey": "noteNumber"}}},
        "Line": {"relations": {"note": {"type": "belongsTo", "model": "Note"}}},
    }
    api = serve({"note": note, "line": line}, config)
    api("POST", "/notes", {"text": "a"})

    assert api("POST", "/notes/1/lines", {}).json == {"id": 1, "noteNumber": 1, "noteId": None}
    assert api("PATCH", "/lines/1", {"noteId": 1}).json["noteId"] == 1
    assert api("GET", "/lines/1/note").json["text"] == "a"


def test_an_entry_for_the_built_in_user_holds_if_no_model_extends_it(serve):
    config = {
        "User": {
            "dataSource": "db",
            "acls": [rule("$everyone"), rule("$everyone", "DENY", property="create")],
            "relations": {"notes": {"type": "hasMany", "model": "Note", "foreignKey": "userId"}},
            "options": {"remoting": {"sharedMethods": {"resetPassword": False}}},
        },
        "Note": {},
    }
    api = serve({"note": NOTE}, config)

    assert api("POST", "/users", PERSON).status_code == 401
    assert api("GET", "/users").status_code == 401
    assert api("POST", "/users/reset", {"email": PERSON["email"]}).status_code == 404
    assert "/users/{id}/notes" in api("GET", "/openapi.json").json["paths"]


@pytest.mark.parametrize(
    ("config", "account"),
    [
        ({"Account": {"options": {"emailVerificationRequired": True}}}, {}),
        ({"Account": {}}, {"emailVerificationRequired": True}),
        ({"Account": {}}, {"options": {"emailVerificationRequired": True}}),
    ],
)
def test_users_whose_address_must_be_verified_cannot_log_in_before(serve, config, account):
    api = serve({"account": {"name": "Account", "base": "User", **account}}, config)
    api("POST", "/accounts", PERSON)

    refused = api("POST", "/accounts/login", PERSON)

    assert refused.json["error"]["code"] == "LOGIN_FAILED_EMAIL_NOT_VERIFIED"


def test_options_of_users_are_settings_unless_those_say_otherwise(make_models, caplog):
    options = {
        "realmRequired": True,
        "realmDelimiter": ":",
        "ttl": 60,
        "maxTTL": 600,
        "resetPasswordTokenTTL": 30,
        "emailVerificationRequired": False,
    }
    account = {"name": "Account", "base": "User", "options": options}
    names = [
        *("REALM_REQUIRED", "REALM_DELIMITER", "TOKEN_TTL", "TOKEN_MAX_TTL", "RESET_TOKEN_TTL"),
        "EMAIL_VERIFICATION",
    ]

    app = make_models({"account": account})
    assert [app.config[name] for name in names] == [True, ":", 60, 600, 30, None]
    app = make_models({"account": account}, TOKEN_TTL=90, REALM_DELIMITER="/")
    assert [app.config[name] for name in names] == [True, "/", 90, 600, 30, None]
    assert not caplog.messages


def test_options_of_users_that_no_setting_can_have_stop_the_start_or_are_warnings(
    make_app, make_models, write_models, caplog
):
    def account(**options):
        return {"account": {"name": "Account", "base": "User", "options": options}}

    for name in (
        *("emailVerificationRequired", "realmRequired", "realmDelimiter"),
        "allowEternalTokens",
    ):
        with running_a_command(), pytest.raises(ConfigurationError) as raised:
            make_app(MODELS_FOLDER=write_models(account(**{name: 7})))
        assert f"account.json: {name}: cannot be used: Not a valid" in str(raised.value)
    app = make_models(account(ttl=-1, maxTTL=60))
    assert [app.config[name] for name in ("TOKEN_TTL", "TOKEN_MAX_TTL")] == [60, 60]
    [warning] = caplog.messages
    assert warning.startswith(
        "model account.json: ttl: cannot be used: Must be greater than or equal"
    )


def test_eternal_tokens_of_an_application_live_as_long_as_any_may_with_a_warning(serve, caplog):
    def account(allowed):
        options = {"allowEternalTokens": allowed, "maxTTL": 600, "ttl": 60}
        return {"account": {"name": "Account", "base": "User", "options": options}}

    api = serve(account(True))
    [warning] = caplog.messages
    api("POST", "/accounts", PERSON)
    logins = [api("POST", "/accounts/login", {**PERSON, "ttl": ttl}) for ttl in (-1, "-1", 60)]
    caplog.clear()
    refused = serve(account(False))("POST", "/accounts/login", {**PERSON, "ttl": -1})

    assert warning == (
        "model account.json: allowEternalTokens: no token lives longer than TOKEN_MAX_TTL says"
    )
    assert [each.json["ttl"] for each in logins] == [600, 600, 60]
    assert refusal(refused) == (400, "INVALID_TTL")
    assert not caplog.messages


PROBLEMS = [
    ({"Note": {"public": "false"}}, "model-config.json: Note.public: must be true or false"),
    ({"Note": {"acls": "x"}}, "model-config.json: Note.acls: must be a list of rules"),
    ({"Note": {"options": 1}}, "model-config.json: Note.options: must be an object"),
    ({"Note": {"publik": False}}, "Note.publik: there is no such key; did you mean 'public'?"),
    ({"Note": {"options": {"hiden": []}}}, "Note.options.hiden: there is no such key; did you"),
    ({"Note": {"acls": [rule("a", "GRANT")]}}, "Note.acls[0]: permission: Must be one of: ALLOW"),
    ({"Note": {"relations": {"a": {"type": "x"}}}}, "Note.relations.a.type: must be one of"),
]
WARNINGS = [
    ({"Note": {"options": {"base": "User"}}}, "Note.options.base: is ignored: only the model's"),
    ({"Note": {"options": {"colour": 1}}}, "model-config.json: Note.options.colour: is ignored"),
    ({"Note": {}, "Notes": {}}, "model-config.json: Notes: there is no such model; did you mean"),
    (
        {"Note": {}, "User": {"acls": [rule("$everyone")]}, "Member": {}},
        "model-config.json: User: is without effect: a model extends User",
    ),
    (
        {"Note": {}, "Role": {"acls": [rule("a")]}},
        "model-config.json: Role.acls: is without effect",
    ),
]


@pytest.mark.parametrize(("config", "problem"), PROBLEMS)
def test_what_an_entry_cannot_say_stops_the_start(make_app, write_models, config, problem):
    with running_a_command(), pytest.raises(ConfigurationError) as raised:
        make_app(MODELS_FOLDER=write_models({"note": NOTE}, config))

    assert problem in str(raised.value)


@pytest.mark.parametrize(("config", "warning"), WARNINGS)
def test_what_an_entry_says_without_effect_is_a_warning(make_models, caplog, config, warning):
    models = {"note": NOTE, "member": {"name": "Member", "base": "User"}}
    make_models(models, config, COMPATIBILITY="loopback3")

    assert [each for each in caplog.messages if warning in each], caplog.messages


def test_usual_entries_for_models_of_loopback_are_no_warnings(make_models, caplog):
    usual = {"dataSource": "db", "public": False}
    config = {
        "_meta": {"sources": ["../common/models"]},
        "Note": {**usual, "$promise": {}, "$resolved": True},
        "User": usual,
        "AccessToken": {**usual, "relations": {"user": {"type": "belongsTo", "model": "User"}}},
        "RoleMapping": {**usual, "options": {"strictObjectIDCoercion": True}},
        **dict.fromkeys(("ACL", "Role", "Application", "Email"), usual),
    }
    make_models({"note": NOTE}, config)

    assert not caplog.messages


def test_files_for_an_environment_are_not_read(make_models, write_models, caplog, tmp_path):
    write_models({"note": NOTE})
    (tmp_path / "model-config.production.json").write_text("{}")
    make_models({"note": NOTE}, {"Note": {}})

    assert caplog.messages == [
        "model model-config.production.json: is not read: write it in model-config.json"
    ]
