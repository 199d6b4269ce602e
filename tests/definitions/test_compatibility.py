"""COMPATIBILITY: every line of its document, on both settings, and what it converts."""

import pytest
from openapi_spec_validator import validate
from sqlalchemy import text, update

from app.connector.errors import ConnectError, UnknownVariableError
from app.database.session import db
from app.datasources import data_sources
from app.users.models import AccessToken
from tests.conftest import PASSWORD, Api
from tests.support.answers import field_codes, refusal
from tests.support.ports import free_port
from tools.compatibility import ALIKE, DIFFERENT, HANDLE

from .library import rule

NOTE = {
    "name": "Note",
    "properties": {
        "text": {"type": "string", "required": True},
        "stars": "number",
        "kind": {"type": "string", "enum": ["1", "true"]},
    },
    "relations": {
        "origin": {"type": "belongsTo", "model": "Note"},
        "badge": {"type": "hasOne", "model": "Badge"},
    },
    "acls": [rule("$authenticated")],
}
# Private to its owner.
BADGE = {
    "name": "Badge",
    "relations": {
        "owner": {"type": "belongsTo", "model": "User"},
        "next": {"type": "belongsTo", "model": "Badge"},
    },
    "acls": [
        rule("$authenticated", property="create"),
        rule("$owner"),
    ],
}
ON = {"COMPATIBILITY": "loopback3"}


@pytest.fixture
def world(make_models, secrets):
    """Serve notes to Ada, who is 1 and has a session with a known handle; Bob has the to-do 1."""

    def make(**settings):
        app = make_models({"note": NOTE, "badge": BADGE}, **settings)
        api = Api(app.test_client(), secrets)
        ada, bob = (api.logged_in(f"{name}@example.com") for name in ("ada", "bob"))
        api("POST", "/todos", {"title": "his"}, token=bob)
        api("POST", "/badges", {}, token=bob)
        api("POST", "/notes", {"text": "first"}, token=ada)
        with app.app_context():
            hers = update(AccessToken).where(AccessToken.user_id == 1)
            db.session.execute(hers.values(handle=HANDLE))
            db.session.commit()
        return app, lambda *call: api(*call, token=ada)

    return make


def contains(answer, expected):
    """Tell whether an answer has what is expected of it, whatever else it has."""
    if isinstance(expected, list):
        return len(answer) == len(expected) and all(map(contains, answer, expected))
    if isinstance(expected, dict):
        return answer.keys() >= expected.keys() and all(
            contains(answer[name], value) for name, value in expected.items()
        )
    return answer == expected and type(answer) is type(expected)


@pytest.mark.both_databases
@pytest.mark.parametrize("settings", [{}, ON], ids=["without", "with"])
def test_every_line_of_the_document_is_true(world, settings):
    _, call = world(**settings)

    for each in (*DIFFERENT, *ALIKE):
        status, expected = each.compatible if settings else each.without
        response = call(each.verb, each.path, each.body)
        found = response.status_code, response.json
        if isinstance(expected, str):
            assert found[1]["error"]["code"] == expected, (each, found)
        assert found[0] == status, (each, found)
        assert isinstance(expected, str | None) or contains(found[1], expected), (each, found)


def test_what_does_not_differ_is_said_to_be_alike():
    assert all(each.without != each.compatible for each in DIFFERENT)
    assert all(each.without == each.compatible for each in ALIKE)


@pytest.mark.both_databases
def test_values_are_converted_as_javascript_does_in_every_body(world):
    _, call = world(**ON)
    texts = [(1, "1"), (1.5, "1.5"), (2.0, "2"), (1e-7, "1e-7"), (1e21, "1e+21"), (False, "false")]
    numbers = [("4", 4), (" 4.5 ", 4.5), ("-1e3", -1000), ("1e-1", 0.1)]

    created = call("POST", "/notes", [{"text": text, "more": 1} for text, _ in texts]).json
    assert [each["text"] for each in created] == [expected for _, expected in texts]
    for sent, stored in numbers:
        for verb, path, body in [
            ("PATCH", "/notes/1", {}),
            ("PUT", "/notes/1", {"text": "x"}),
            ("PATCH", "/notes", {"id": 1}),
            ("POST", '/notes/upsertWithWhere?where={"id":1}', {}),
        ]:
            changed = call(verb, path, {**body, "stars": sent, "more": sent}).json
            assert changed["stars"] == stored, (verb, path)
    assert call("POST", '/notes/update?where={"id":1}', {"stars": "7"}).json == {"count": 1}
    assert call("GET", "/notes/1").json["stars"] == 7
    assert [call("PATCH", "/notes/1", {"kind": each}).json["kind"] for each in (1, True)] == [
        *("1", "true"),
    ]


@pytest.mark.both_databases
@pytest.mark.parametrize("settings", [{}, ON], ids=["without", "with"])
def test_a_relation_to_one_row_that_leads_to_none_is_said_by_its_name(world, settings):
    app, call = world(**settings)
    mine = call("POST", "/badges", {}).json["id"]
    with app.app_context():
        # Hers leads to his, which she may not read.
        db.session.execute(text("UPDATE badge SET next_id = 1 WHERE id = 2"))
        db.session.commit()

    empty, unreadable = call("GET", "/notes/1/origin"), call("GET", f"/badges/{mine}/next")
    if settings:
        assert [(each.status_code, each.json) for each in (empty, unreadable)] == [
            (200, {}),
            (200, None),
        ]
    else:
        for each, name, model in [(empty, "origin", "Note"), (unreadable, "next", "Badge")]:
            assert refusal(each) == (404, "MODEL_NOT_FOUND")
            assert each.json["message"] == f'The relation "{name}" leads to no "{model}".'
    none = call("GET", "/notes/1/badge")
    assert refusal(none) == (404, "MODEL_NOT_FOUND")
    assert none.json["message"] == 'The relation "badge" leads to no "Badge".'
    assert call("GET", "/notes/9/origin").status_code == 404


def test_what_cannot_be_converted_is_refused(world):
    _, call = world(**ON)

    for body, codes in [
        ({"text": "a", "stars": "0x10"}, {"stars": ["invalid"]}),
        ({"text": "a", "stars": "9" * 41}, {"stars": ["invalid"]}),
        ({"text": "a", "stars": "1e999"}, {"stars": ["invalid"]}),
        ({"text": "a", "stars": True}, {"stars": ["invalid"]}),
        ({"text": {}}, {"text": ["invalid"]}),
        ({"text": None}, {"text": ["presence"]}),
        ({"text": "a", "kind": 2}, {"kind": ["invalid"]}),
    ]:
        assert field_codes(call("POST", "/notes", body)) == codes
    assert call("POST", "/notes", ["a"]).status_code == 422


def test_read_only_values_and_unknown_arguments_are_dropped_and_change_nothing(world):
    _, call = world(**ON)
    user = {"email": "eve@example.com", "password": PASSWORD, "emailVerified": True, "id": 99}

    assert call("POST", "/users", user).json.items() >= {"emailVerified": False, "id": 3}.items()
    assert call("PATCH", "/users/1", {"emailVerified": True, "realm": "x"}).json["realm"] is None
    assert call("POST", "/users/1/todos", {"title": "a", "ownerId": 2}).json["ownerId"] == 1
    new = {"oldPassword": PASSWORD, "newPassword": "another quiet harbour", "confirmation": "x"}
    assert call("POST", "/users/change-password", new).status_code == 204


def test_sessions_are_those_of_the_caller_alone_and_have_no_token(world, secrets):
    _, call = world(**ON)

    for path in ("", "/count", f"/{HANDLE}"):
        assert call("GET", f"/users/2/accessTokens{path}").status_code == 401
    shown = call("GET", "/users/1/accessTokens").get_data(as_text=True)
    assert not any(secret in shown for secret in secrets)
    assert call("GET", "/users/1/accessTokens/count?where[ttl]=1").status_code == 400
    assert call("DELETE", f"/users/1/accessTokens/{HANDLE}").status_code == 204
    assert call("GET", "/todos").status_code == 401


def test_an_explicit_status_of_refusals_holds(make_app):
    assert make_app(**ON).config["ACL_ERROR_STATUS"] == 401
    assert make_app(**ON, ACL_ERROR_STATUS=403).config["ACL_ERROR_STATUS"] == 403


def test_data_sources_are_compatible_unless_they_say_otherwise(make_app):
    template = {"method": "GET", "url": f"http://127.0.0.1:{free_port()}/{{x}}"}
    source = {"operations": [{"template": template, "functions": {"call": ["x"]}}]}
    sources = {"one": source, "two": {**source, "compatibility": "none"}}
    refused, ignored = UnknownVariableError, ConnectError

    for settings, errors in (({}, [refused, refused]), (ON, [ignored, refused])):
        made = data_sources.of(make_app(DATA_SOURCES=sources, **settings))
        for name, error in zip(("one", "two"), errors, strict=True):
            with pytest.raises(error):
                made[name].operations["call"]("a", "one more")


def test_the_openapi_document_has_what_is_served(make_app):
    for settings in ({}, ON):
        document = make_app(**settings).test_client().get("/api/openapi.json").json
        paths = [f"/users/{{id}}/accessTokens/{each}" for each in ("count", "{handle}")]

        validate(document)
        assert [("get" in document["paths"].get(each, {})) for each in paths] == [
            *([bool(settings)] * 2),
        ]


def test_strict_delete_finds_no_row_to_delete(serve):
    api = serve({"note": {**NOTE, "relations": {}, "strictDelete": True}}, **ON)
    token = api.logged_in()

    assert refusal(api("DELETE", "/notes/99", token=token)) == (404, "MODEL_NOT_FOUND")


@pytest.mark.both_databases
def test_ending_a_link_that_there_is_not_is_no_error(serve):
    tag = {"name": "Tag", "acls": [rule("$authenticated")]}
    tags = {"type": "hasAndBelongsToMany", "model": "Tag"}
    api = serve({"note": {**NOTE, "relations": {"tags": tags}}, "tag": tag}, **ON)
    token = api.logged_in()
    api("POST", "/notes", {"text": "a"}, token=token)
    api("POST", "/tags", {}, token=token)

    assert api("DELETE", "/notes/1/tags/rel/1", token=token).status_code == 204
    assert refusal(api("DELETE", "/notes/1/tags/rel/9", token=token))[0] == 404
    api("PUT", "/notes/1/tags/rel/1", token=token)
    assert api("DELETE", "/notes/1/tags", token=token).status_code == 204
    assert api("GET", "/notes/1/tags", token=token).json == []
    assert api("GET", "/tags/1", token=token).status_code == 200


@pytest.mark.both_databases
def test_what_only_an_owner_may_do_is_refused_alike_for_rows_of_others_and_for_none(world):
    _, call = world(**ON)
    mine = call("POST", "/badges", {}).json["id"]

    for row in (1, 99, "x"):
        for verb, path, body in [
            ("GET", "", None),
            ("HEAD", "", None),
            ("PATCH", "", {}),
            ("PUT", "", {}),
            ("DELETE", "", None),
            ("GET", "/owner", None),
        ]:
            answer = call(verb, f"/badges/{row}{path}", body)
            assert answer.status_code == 401, (verb, row, path)
            assert verb == "HEAD" or str(row) not in answer.json["error"]["message"]
    assert call("GET", f"/badges/{mine}").status_code == 200
    assert call("GET", "/notes/99").status_code == 404


@pytest.mark.parametrize("settings", [{}, ON], ids=["without", "with"])
def test_a_model_that_validates_its_properties_refuses_unknown_ones(serve, settings):
    line = {"name": "Line", "properties": {"text": "string"}, "strict": "validate"}
    api = serve({"line": {**line, "acls": [rule("$everyone")]}}, **settings)
    made = api("POST", "/lines", {"text": "a"}).json
    many = api("POST", "/lines", [{"text": "b"}, {"txt": "c"}])

    for call in (("POST", "/lines"), ("PATCH", "/lines/1"), ("PUT", "/lines/1")):
        assert field_codes(api(*call, {"text": "x", "txt": "y"})) == {"txt": ["unknown"]}
    assert field_codes(many) == {"1.txt": ["unknown"]}
    assert api("GET", "/lines").json == [made]
    # The id is the row's own.
    assert api("PUT", "/lines/1", {**made, "text": "z"}).json == {**made, "text": "z"}
