"""Methods and models that are switched off: sharedMethods, disableRemoteMethodByName, public."""

from dataclasses import replace

import pytest

from app.problems import ConfigurationError
from app.rest.endpoint import served_endpoints
from app.todos.resource import todos
from tests.support.answers import refusal

from .conftest import running_a_command
from .library import rule

OPEN = [rule("$everyone")]
NOTE = {
    "name": "Note",
    "properties": {"text": "string"},
    "relations": {"lines": {"type": "hasMany", "model": "Line"}},
    "acls": OPEN,
}
LINE = {"name": "Line", "properties": {"text": "string"}, "acls": OPEN}
MODELS = {"note": NOTE, "line": LINE}
COLLECTION = {
    *(
        "create",
        "createMany",
        "find",
        "patchOrCreate",
        "replaceOrCreate",
        "upsertWithWhere",
        "findOne",
    ),
    *(
        "count",
        "aggregate",
        "updateAll",
        "findById",
        "exists",
        "patchAttributes",
        "replaceById",
        "deleteById",
    ),
}
LINES = {
    f"__{verb}__lines"
    for verb in (
        *("get", "create", "count", "aggregate", "findById", "updateById", "destroyById"),
        "delete",
    )
}
BY_ROW = {*LINES, "patchAttributes"}


def shared(**methods):
    return {"options": {"remoting": {"sharedMethods": methods}}}


def configured(methods):
    """Return what model-config.json says for these sharedMethods of notes."""
    return {"Note": {"dataSource": "db", **shared(**methods)}, "Line": {"dataSource": "db"}}


def served(app, name="Notes"):
    """Return the methods that a model serves."""
    return {each.split(".")[1] for each in served_endpoints.of(app) if each.startswith(name)}


# What model-config.json says, and what LoopBack 3.28 serves with it, but for the last lines: there
# it does not know the names of aliases, and methods of a row without `prototype.`.
ALL = COLLECTION | LINES
FOUND = {"find", "findOne", "aggregate", "__findById__lines"}
CASES = [
    ({}, ALL),
    ({"*": False}, set()),
    ({"*": True}, ALL),
    ({"*": False, "find": True}, {"find"}),
    ({"find": True, "*": False}, {"find"}),
    ({"*": False, "find*": True}, set()),
    # What may not be listed is not shown by aggregates, unless they are switched on by name.
    ({"find": False}, ALL - {"find", "aggregate"}),
    ({"find": False, "aggregate": True}, ALL - {"find"}),
    ({"aggregate": False}, ALL - {"aggregate"}),
    # An array of rows is created by whom one may be.
    ({"create": False}, ALL - {"create", "createMany"}),
    ({"createMany": False}, ALL - {"createMany"}),
    ({"find*": False}, ALL - FOUND - {"findById"}),
    ({"find*": False, "findById": True}, ALL - FOUND),
    ({"prototype.*": False}, ALL - BY_ROW),
    ({"prototype.__get__*": False}, ALL - {"__get__lines", "__aggregate__lines"}),
    ({"prototype.*": False, "prototype.__get__lines": True}, ALL - BY_ROW | {"__get__lines"}),
    ({"*": False, "prototype.patchAttributes": True}, {"patchAttributes"}),
    ({"*": False, "patchAttributes": True}, set()),
    ({"*": False, "upsert": True}, set()),
    ({"*": False, "prototype.find": True}, set()),
    ({"destroyAll": False, "createChangeStream": False}, ALL),
    ({"destroyById": False}, ALL - {"deleteById"}),
    ({"upsert": False}, ALL - {"patchOrCreate"}),
    ({"prototype.updateAttributes": False}, ALL - {"patchAttributes"}),
    (
        {"patchAttributes": False, "__create__lines": False},
        ALL - {"patchAttributes"} - {"__create__lines"},
    ),
    (
        {"update*": False},
        ALL - {"updateAll", "__updateById__lines", "patchOrCreate", "patchAttributes"},
    ),
]


@pytest.mark.parametrize(("methods", "expected"), CASES, ids=[str(each) for each, _ in CASES])
def test_shared_methods_say_which_methods_are_served(make_models, methods, expected):
    assert served(make_models(MODELS, configured(methods))) == expected


@pytest.mark.parametrize(
    "note",
    [
        {**NOTE, **shared(find=False)},
        {**NOTE, "remoting": {"sharedMethods": {"find": False}}},
        {**NOTE, "sharedMethods": {"find": False}},
        {**NOTE, "disableRemoteMethodByName": ["find"]},
        {**NOTE, "disableRemoteMethodByName": "find"},
        {**NOTE, "options": {"disableRemoteMethodByName": ["find"]}},
    ],
)
def test_a_models_own_file_switches_methods_off_too(make_models, note):
    assert served(make_models({**MODELS, "note": note})) == ALL - {"find", "aggregate"}


def test_later_places_change_single_names_of_earlier_ones(make_models):
    note = {**NOTE, **shared(**{"*": False, "create": True, "count": True})}
    derived = {"name": "Memo", "base": "Note", "disableRemoteMethodByName": ["count"]}
    config = {**configured({"find": True, "create": False}), "Memo": {}}

    app = make_models({**MODELS, "note": note, "memo": derived}, config)

    assert served(app) == {"find", "count"}
    assert served(app, "Memos") == {"create"}


def test_the_setting_holds_for_all_models_unless_they_say_otherwise(make_models):
    config = configured({"find": True})

    app = make_models(MODELS, config, SHARED_METHODS={"*": False, "login": True, "create": True})

    assert served(app) == {"find", "create"}
    assert served(app, "Lines") == {"create"}
    assert served(app, "users") == {"create", "login"}
    assert served(app, "todos") == {"create"}


def test_a_name_in_the_setting_that_no_method_has_stops_the_start(make_app):
    make_app(SHARED_METHODS={"destroyAll": False, "destroyById": False, "x*": False})

    with pytest.raises(ConfigurationError) as raised:
        make_app(SHARED_METHODS={"finde": False})

    said = "SHARED_METHODS cannot be used: there is no method 'finde'; did you mean 'find'?"
    assert str(raised.value) == said


def test_methods_that_are_switched_off_are_404_at_each_of_their_paths(serve):
    disabled = [
        *("deleteById", "prototype.updateAttributes", "replaceById", "exists", "findOne"),
        *("prototype.__create__lines", "upsert", "updateAll"),
    ]
    api = serve({**MODELS, "note": {**NOTE, "disableRemoteMethodByName": disabled}})
    assert api("POST", "/notes", {"text": "a"}).status_code == 200

    for verb, path in [
        ("DELETE", "/notes/1"),
        ("PATCH", "/notes/1"),
        ("PUT", "/notes/1"),
        ("POST", "/notes/1/replace"),
        ("GET", "/notes/1/exists"),
        ("GET", "/notes/findOne"),
        ("GET", "/Notes/findOne/"),
        ("POST", "/notes/1/lines"),
        ("PATCH", "/notes"),
        ("POST", "/notes/update?where={}"),
    ]:
        body = None if verb in ("GET", "DELETE") else {}
        assert refusal(api(verb, path, body)) == (404, "NOT_FOUND"), (verb, path)
    assert api("GET", "/notes/1").json == {"id": 1, "text": "a"}
    assert api("PUT", "/notes", {"id": 1, "text": "b"}).json["text"] == "b"
    assert api("GET", "/notes/1/lines").json == []
    paths = api("GET", "/openapi.json").json["paths"]
    assert set(paths["/notes/{id}"]) & {"get", "put", "patch", "delete"} == {"get"}
    assert "/notes/findOne" not in paths
    assert set(paths["/notes"]) & {"get", "post", "put", "patch"} == {"get", "post", "put"}


@pytest.mark.parametrize(
    ("off", "statuses"),
    [
        ([], [200, 200, 200]),
        # As in LoopBack 3, it is then that of `findById`.
        (["exists"], [200, 200, 404]),
        (["findById"], [404, 200, 200]),
        (["findById", "exists"], [404, 404, 404]),
    ],
)
def test_a_head_of_a_row_is_that_of_exists(serve, off, statuses):
    api = serve({**MODELS, "note": {**NOTE, "disableRemoteMethodByName": off}})
    api("POST", "/notes", {"text": "a"})

    calls = [("GET", "/notes/1"), ("HEAD", "/notes/1"), ("GET", "/notes/1/exists")]
    assert [api(verb, path).status_code for verb, path in calls] == statuses


def test_methods_of_users_are_switched_off_alike(serve):
    user = {"name": "Member", "base": "User"}
    config = {"Member": shared(**{"*": False, "create": True, "login": True})}
    api = serve({"member": user}, config)
    person = {"email": "ada@example.com", "password": "correct horse battery"}

    assert api("POST", "/members", person).status_code == 200
    token = api("POST", "/members/login", person).json["id"]
    api.secrets.append(token)
    for verb, path in [
        ("POST", "/members/logout"),
        ("GET", "/members/1"),
        ("GET", "/members"),
        ("POST", "/members/reset"),
        ("POST", "/members/change-password"),
        ("GET", "/members/1/todos"),
        ("GET", "/members/1/accessTokens"),
        ("GET", "/members/1/identities"),
    ]:
        answer = api(verb, path, None if verb == "GET" else {}, token=token)
        assert refusal(answer) == (404, "NOT_FOUND"), path


@pytest.mark.parametrize(
    ("models", "config"),
    [
        ({"member": {"name": "Member", "base": "User"}}, {"Member": {"public": False}}),
        ({"user": {"name": "user", "base": "User"}}, {"user": {"public": False}}),
        (MODELS, {"User": {"dataSource": "db", "public": False}, "Note": {}, "Line": {}}),
    ],
)
def test_users_that_are_not_public_have_no_endpoints(serve, models, config):
    api = serve(models, config)
    person = {"email": "ada@example.com", "password": "correct horse battery"}

    for name in ("users", "members"):
        for verb, path in [("POST", ""), ("POST", "/login"), ("GET", "/1"), ("GET", "/1/todos")]:
            body = person if verb == "POST" else None
            assert refusal(api(verb, f"/{name}{path}", body)) == (404, "NOT_FOUND")
    document = api("GET", "/openapi.json").json
    assert not [path for path in document["paths"] if path.startswith(("/users", "/members"))]
    assert "users" not in [each["name"] for each in document["tags"]]


def test_relations_of_others_lead_to_a_model_whose_methods_are_switched_off(serve):
    note = {**NOTE, "relations": NOTE["relations"]}
    config = {"Note": {}, "Line": {"public": False, **shared(**{"*": False})}}
    api = serve({"note": note, "line": LINE}, config)
    api("POST", "/notes", {"text": "a"})

    assert api("POST", "/notes/1/lines", {"text": "b"}).status_code == 200
    assert api("GET", "/notes?filter[include]=lines").json[0]["lines"][0]["text"] == "b"
    assert api("DELETE", "/notes/1/lines/1").status_code == 204
    assert api("GET", "/lines").status_code == 404


def test_own_endpoints_are_methods_too(make_models):
    code = """
def extend(note):
    @note.endpoint("star", "WRITE", "POST /<id>/star")
    def star(row):
        pass

    @note.endpoint("digest", "READ", "GET /digest")
    def digest():
        pass
"""
    off = {"*": False, "prototype.star": True, "digest": True}
    for methods, expected in [
        (off, {"star", "digest"}),
        ({"star": False, "prototype.digest": False}, ALL),
        ({"prototype.*": False}, ALL - BY_ROW | {"digest"}),
    ]:
        app = make_models(MODELS, configured(methods), {"note": code})
        assert served(app) == expected


MISTAKES = [
    ({"find": "no"}, "Note.options.remoting.sharedMethods.find: must be true or false"),
    (["find"], "model-config.json: Note.options.remoting.sharedMethods: must be an object"),
]


@pytest.mark.parametrize(("methods", "problem"), MISTAKES)
def test_what_is_neither_true_nor_false_stops_the_start(make_app, write_models, methods, problem):
    config = {"Note": {"options": {"remoting": {"sharedMethods": methods}}}, "Line": {}}

    with running_a_command(), pytest.raises(ConfigurationError, match="cannot be used") as raised:
        make_app(MODELS_FOLDER=write_models(MODELS, config))

    assert problem in str(raised.value)


@pytest.mark.parametrize(
    ("methods", "warning"),
    [
        ({"deleteByld": False}, "there is no method 'deleteByld'; did you mean 'deleteById'?"),
        ({"destroyAll": True}, "there is no method 'destroyAll'"),
        ({"*": False, "find*": True}, "find*: is without effect: what a pattern switches off is"),
        ({"*": False, "upsert": True}, "upsert: is without effect: LoopBack 3 calls the method"),
        ({"*": False, "patchAttributes": True}, "the method prototype.patchAttributes"),
    ],
)
def test_names_without_effect_are_warnings(make_models, caplog, methods, warning):
    make_models(MODELS, configured(methods), COMPATIBILITY="loopback3")

    [found] = [each for each in caplog.messages if warning in each]
    assert found.startswith("model model-config.json: Note.options.remoting.sharedMethods")


def test_the_commands_say_what_is_switched_off(make_models):
    config = {"Note": shared(deleteById=False, updateAll=False), "Line": {"public": False}}
    runner = make_models(MODELS, config).test_cli_runner()

    checked = runner.invoke(args=["models", "check"]).output.splitlines()
    shown = runner.invoke(args=["models", "show", "Note"]).output.splitlines()

    assert checked == [
        "Line has no endpoints of its own: it is not public.",
        "Note: switched off are deleteById, updateAll.",
        "Checked 2 models: all in order.",
    ]
    assert "  switched off\tdeleteById" in shown
    assert not [each for each in shown if each.startswith("  endpoint\tdeleteById")]


def test_a_model_in_python_switches_methods_off_by_the_same_names(make_app, monkeypatch):
    without_owner = replace(todos, shared_methods={"prototype.__get__owner": False})
    monkeypatch.setattr("app.todos.resource.todos", without_owner)
    assert served(make_app(), "todos") == COLLECTION

    monkeypatch.setattr("app.todos.resource.todos", replace(todos, shared_methods={"finde": False}))
    with pytest.raises(ConfigurationError, match="todos: there is no method 'finde'"):
        make_app()
