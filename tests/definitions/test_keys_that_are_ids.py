"""Models whose id is the key of a relation: a row has the id of the one that it belongs to."""

import pytest

from tests.conftest import Api
from tests.support.answers import field_codes, refusal

from .library import OPEN, rule

DEPT = {
    "name": "Dept",
    "properties": {"userId": {"type": "number", "id": True}, "name": "string"},
    "relations": {"user": {"type": "belongsTo", "model": "Account", "foreignKey": "userId"}},
    "acls": [
        rule("$everyone", "DENY"),
        rule("$authenticated", property="create"),
        rule("$owner"),
        rule("clerk"),
    ],
}
ACCOUNT = {
    "name": "Account",
    "plural": "users",
    "base": "User",
    "relations": {"dept": {"type": "hasOne", "model": "Dept", "foreignKey": "userId"}},
    "acls": [rule("$owner", property=["__get__dept", "__create__dept"])],
}
MODELS = {"dept": DEPT, "account": ACCOUNT}


@pytest.fixture
def world(serve):
    """Serve departments to Ada, who is 1, Bob, who is 2, and Cleo, a clerk."""
    api = serve(MODELS)
    ada, bob, cleo = (api.logged_in(f"{name}@example.com") for name in ("ada", "bob", "cleo"))
    run = api.client.application.test_cli_runner().invoke
    run(args=["roles", "grant", "cleo@example.com", "clerk"])
    return api, ada, bob, cleo


@pytest.mark.both_databases
def test_the_owner_of_a_row_is_the_user_with_its_id(world):
    api, ada, bob, _ = world

    assert api("POST", "/depts", {"userId": 1, "name": "a"}, token=ada).json == {
        "userId": 1,
        "name": "a",
    }
    assert api("POST", "/depts", {"name": "b"}, token=bob).json == {"userId": 2, "name": "b"}
    for verb, path, body, answer in [
        ("GET", "/depts/1", None, {"userId": 1, "name": "a"}),
        ("GET", "/depts", None, [{"userId": 1, "name": "a"}]),
        ("GET", "/depts/count", None, {"count": 1}),
        ("PATCH", "/depts/1", {"name": "c"}, {"userId": 1, "name": "c"}),
        ("PUT", "/depts/1", {"userId": 1, "name": "d"}, {"userId": 1, "name": "d"}),
        ("PATCH", "/depts", {"userId": 1, "name": "e"}, {"userId": 1, "name": "e"}),
        ("POST", "/depts/update?where={}", {"name": "f"}, {"count": 1}),
        ("DELETE", "/depts/1", None, {"count": 1}),
    ]:
        assert api(verb, path, body, token=ada).json == answer, (verb, path)
    for verb, path, body in [
        ("GET", "/depts/2", None),
        ("PATCH", "/depts/2", {"name": "x"}),
        ("PATCH", "/depts", {"userId": 2, "name": "x"}),
        ("DELETE", "/depts/2", None),
        ("GET", "/depts/9", None),
    ]:
        assert refusal(api(verb, path, body, token=ada)) == (404, "MODEL_NOT_FOUND"), (verb, path)
        assert refusal(api(verb, path, body)) == (401, "AUTHORIZATION_REQUIRED")
    assert api("GET", "/depts/2", token=bob).json["name"] == "b"


def test_nobody_creates_a_row_for_somebody_else_without_the_permission_to_change_it(world):
    api, ada, bob, cleo = world

    for body in ({"userId": 2}, {"userId": 99}, [{"userId": 1}, {"userId": 2}]):
        refused = api("POST", "/depts", body, token=ada)
        assert set(field_codes(refused)) <= {"userId", "1.userId"}, body
    assert refusal(api("POST", "/depts", {"userId": 1})) == (401, "AUTHORIZATION_REQUIRED")
    assert refusal(api("PATCH", "/depts/1", {"userId": 2}, token=cleo))[0] == 404
    api("POST", "/depts", {}, token=ada)
    assert field_codes(api("PATCH", "/depts/1", {"userId": 2}, token=ada)) == {
        "userId": ["absence"]
    }
    assert api("POST", "/depts", {}, token=ada).status_code == 422
    assert api("GET", "/depts", token=cleo).json == [{"userId": 1, "name": None}]
    assert api("GET", "/depts", token=bob).json == []


def test_the_relation_is_served_from_both_sides(world):
    api, ada, bob, _ = world

    created = api("POST", "/users/1/dept", {"name": "a"}, token=ada)

    assert created.json == {"userId": 1, "name": "a"}
    assert refusal(api("POST", "/users/1/dept", {"name": "b"}, token=ada))[0] == 409
    assert refusal(api("POST", "/users/2/dept", {"name": "b"}, token=ada))[0] == 403
    assert api("GET", "/users/1/dept", token=ada).json == created.json
    assert api("GET", "/depts/1/user", token=ada).json["email"] == "ada@example.com"
    included = api("GET", "/depts?filter[include]=user", token=ada).json
    assert [each["user"]["id"] for each in included] == [1]
    assert api("GET", "/users/1?filter[include]=dept", token=ada).json["dept"] == created.json
    assert api("GET", "/users/2?filter[include]=dept", token=bob).json.get("dept") is None


def test_a_row_goes_with_the_one_whose_id_it_has(world):
    api, ada, bob, cleo = world
    for token in (ada, bob):
        api("POST", "/depts", {}, token=token)

    assert api("DELETE", "/users/1", token=ada).status_code == 200

    assert [each["userId"] for each in api("GET", "/depts", token=cleo).json] == [2]


def test_nobody_who_is_anonymous_creates_a_row_without_an_id(serve):
    acls = [rule("$everyone", property=["create", "find"]), rule("$owner")]
    api = serve({**MODELS, "dept": {**DEPT, "acls": acls}})
    api.logged_in()

    assert field_codes(api("POST", "/depts", {"name": "a"})) == {"userId": ["presence"]}
    assert field_codes(api("POST", "/depts", {"userId": 1})) == {"userId": ["invalid"]}
    assert api("GET", "/depts").json == []


def test_an_id_named_user_id_is_the_owner_without_a_relation(serve):
    api = serve({"dept": {**DEPT, "relations": {}}})
    ada, bob = api.logged_in(), api.logged_in("bob@example.com")

    api("POST", "/depts", {}, token=ada)

    assert api("GET", "/depts/1", token=ada).status_code == 200
    assert refusal(api("GET", "/depts/1", token=bob)) == (404, "MODEL_NOT_FOUND")


@pytest.mark.both_databases
def test_a_row_may_have_the_id_of_a_row_of_another_model(serve):
    order = {
        "name": "Order",
        "properties": {"number": "string"},
        "relations": {"bill": {"type": "hasOne", "model": "Bill", "foreignKey": "orderId"}},
        "acls": OPEN,
    }
    bill = {
        "name": "Bill",
        "properties": {"orderId": {"type": "number", "id": True}, "sum": "number"},
        "relations": {"order": {"type": "belongsTo", "model": "Order"}},
        "acls": OPEN,
    }
    api = serve({"order": order, "bill": bill})
    token = api.logged_in()
    api("POST", "/orders", {"number": "a"}, token=token)

    assert api("POST", "/bills", {"orderId": 1, "sum": 5}, token=token).status_code == 200
    assert field_codes(api("POST", "/bills", {"orderId": 9}, token=token)) == {
        "orderId": ["invalid"]
    }
    assert field_codes(api("POST", "/bills", {"sum": 5}, token=token)) == {"orderId": ["presence"]}
    assert api("GET", "/bills/1/order", token=token).json["number"] == "a"
    assert api("GET", "/orders?filter[include]=bill", token=token).json[0]["bill"]["sum"] == 5
    assert api("DELETE", "/orders/1", token=token).status_code == 200
    assert api("GET", "/bills", token=token).json == []


@pytest.mark.parametrize(
    ("id_", "reason"),
    [
        ({"type": "number"}, "which clients do not choose"),
        ({"type": "number", "id": True, "generated": True}, "which clients do not choose"),
        ({"type": "string", "id": True}, "and of another type"),
    ],
)
def test_ids_that_cannot_be_those_of_others_are_a_warning(make_models, caplog, id_, reason):
    dept = {
        "name": "Dept",
        "properties": {"id": id_},
        "relations": {"user": {"type": "belongsTo", "model": "User", "foreignKey": "id"}},
        "acls": OPEN,
    }

    app = make_models({"dept": dept})

    assert f"relations.user: is not served: id of Dept is the id, {reason}" in caplog.text
    api = Api(app.test_client(), [])
    assert api("GET", "/depts/1/user").status_code == 404
