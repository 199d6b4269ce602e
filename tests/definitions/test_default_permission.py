"""DEFAULT_PERMISSION: what holds for calls of models in JSON that no rule is about."""

from app.rest.endpoint import served_endpoints
from tests.conftest import PASSWORD
from tests.support.answers import refusal

from .library import rule

MODELS = {
    "note": {"name": "Note", "properties": {"text": "string"}},
    "ruled": {"name": "Ruled", "acls": [rule("$everyone", "DENY", property="create")]},
    "closed": {"name": "Closed", "defaultPermission": "DENY"},
    "account": {"name": "Account", "base": "User", "plural": "users"},
}
PERSON = {"email": "ada@example.com", "password": PASSWORD}
DENIED = (401, "AUTHORIZATION_REQUIRED")
CREATING = ("create", "createMany")


def test_what_no_rule_is_about_is_allowed(serve):
    api = serve(MODELS, DEFAULT_PERMISSION="allow", ACLS={"Closeds": [rule("clerk")]})

    assert api("POST", "/notes", {"text": "a"}).status_code == 200
    assert api("PATCH", "/notes/1", {"text": "b"}).json == {"id": 1, "text": "b"}
    assert api("DELETE", "/notes/1").json == {"count": 1}
    assert refusal(api("POST", "/Ruleds", {})) == DENIED
    assert refusal(api("POST", "/Ruleds/many", [{}])) == DENIED
    assert api("GET", "/Ruleds").json == []
    assert refusal(api("GET", "/Closeds")) == DENIED


def test_users_todos_and_other_endpoints_of_the_service_stay_as_safe(serve):
    api = serve(MODELS, DEFAULT_PERMISSION="allow")
    api("POST", "/users", PERSON)

    for verb, path in [
        *(("GET", "/users"), ("GET", "/users/1"), ("DELETE", "/users/1"), ("GET", "/todos")),
        *(
            ("GET", "/users/1/accessTokens"),
            ("GET", "/users/1/audit"),
            ("PUT", "/users/1"),
        ),
        *(("PATCH", "/users/1"), ("POST", "/todos"), ("GET", "/users/1/todos")),
    ]:
        body = {} if verb in ("PATCH", "POST", "PUT") else None
        assert refusal(api(verb, path, body)) == DENIED, path


def test_it_is_what_a_model_declares_that_has_no_rules_of_its_own(serve):
    """The setting is `defaultPermission` of every model in JSON that does not declare one."""
    api = serve(MODELS)

    assert refusal(api("GET", "/notes")) == DENIED
    opened = serve({"note": {**MODELS["note"], "defaultPermission": "ALLOW"}})
    assert opened("GET", "/notes").status_code == 200


def test_the_command_names_what_nobody_reaches_and_everybody_writes(make_models):
    def check(**settings):
        app = make_models(MODELS, None, **settings)
        return app.test_cli_runner().invoke(args=["models", "check"]).output.splitlines(), app

    denied, _ = check()
    allowed, app = check(DEFAULT_PERMISSION="allow")

    nobody = "{} can be reached by nobody: no rule allows a call, and DEFAULT_PERMISSION is {}."
    assert denied == [
        *(nobody.format(name, "deny") for name in ("Closed", "Note", "Ruled")),
        "Checked 4 models: all in order.",
    ]
    writing = [
        each.method
        for name, each in served_endpoints.of(app).items()
        if name.startswith("Notes.") and each.access == "WRITE"
    ]
    open_to_all = "{} can be written to by everybody, without a token: {}."
    assert allowed == [
        nobody.format("Closed", "allow"),
        open_to_all.format("Note", ", ".join(writing)),
        open_to_all.format("Ruled", ", ".join(name for name in writing if name not in CREATING)),
        "Checked 4 models: all in order.",
    ]
