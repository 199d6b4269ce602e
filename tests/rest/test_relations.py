"""The endpoints of relations, and references to other rows."""

import json
from dataclasses import replace

import pytest
from sqlalchemy import insert

from app.database.session import db, in_transaction
from app.problems import ConfigurationError
from app.rest.collection import get_resource, served_collections
from app.rest.relations import belongs_to, embeds_one, has_many, references_many
from app.rest.served_relations import add_relation
from app.rest.views.registration import check_relations
from app.signals import verification_request
from tests.conftest import PASSWORD
from tests.support.answers import field_codes, refusal
from tests.support.races import at_once
from tests.support.rows import make_admin, statements
from tests.support.throttles import counts

from .clinic import Appointment, Base, Physician, resources


def test_the_todos_of_a_user_are_created_read_changed_and_deleted(api, token):
    created = api("POST", "/users/1/todos", {"title": "a"}, token=token).json
    path = f"/users/1/todos/{created['id']}"

    assert created["ownerId"] == 1
    assert api("GET", "/users/1/todos", token=token).json == [created]
    assert api("GET", "/users/1/todos/count", token=token).json == {"count": 1}
    assert api("GET", path, token=token).json == created
    assert api("PUT", path, {"desc": "b"}, token=token).json == {**created, "desc": "b"}
    assert api("DELETE", path, token=token).status_code == 204
    assert api("DELETE", path, token=token).status_code == 404


def test_the_owner_in_the_path_overrides_the_body(api, token):
    api.logged_in("bob@example.com")

    response = api("POST", "/users/1/todos", {"title": "a", "ownerId": 2}, token=token)

    assert response.status_code == 422


@pytest.mark.both_databases
def test_a_relation_accepts_filters(api, token):
    for title in ("a", "b", "c"):
        api("POST", "/todos", {"title": title}, token=token)

    page = api("GET", "/users/1/todos?filter[limit]=2", token=token)
    count = api("GET", '/users/1/todos/count?where={"title":"c"}', token=token)

    assert [each["title"] for each in page.json] == ["a", "b"]
    assert page.headers["Link"].startswith("</api/users/1/todos?filter=")
    assert count.json == {"count": 1}


def test_an_admin_reads_the_todos_of_every_user_and_gets_404_for_unknown_users(api, runner, token):
    other = api.logged_in("bob@example.com")
    api("POST", "/todos", {"title": "his"}, token=other)
    runner.invoke(args=["roles", "grant", "ada@example.com", "admin"])

    assert [each["title"] for each in api("GET", "/users/2/todos", token=token).json] == ["his"]
    assert api("POST", "/users/2/todos", {"title": "b"}, token=token).json["ownerId"] == 2
    assert api("GET", "/users/99/todos", token=token).status_code == 404
    assert api("POST", "/users/99/todos", {"title": "b"}, token=token).status_code == 404


def test_a_row_of_another_parent_is_unknown_here_even_to_an_admin(api, runner, token):
    other = api.logged_in("bob@example.com")
    api("POST", "/todos", {"title": "his"}, token=other)
    runner.invoke(args=["roles", "grant", "ada@example.com", "admin"])

    for verb, body in [("GET", None), ("PUT", {"title": "x"}), ("PUT", {}), ("DELETE", None)]:
        response = api(verb, "/users/1/todos/1", body, token=token)

        assert refusal(response) == (404, "MODEL_NOT_FOUND")


@pytest.mark.parametrize("path", ["/users/me", "/users/me/todos", "/users/me/accessTokens"])
def test_the_current_user_literal_is_the_callers_id(make_app, api, token, path):
    client = make_app(TOKEN_MIDDLEWARE={"currentUserLiteral": "me"}).test_client()

    own = client.get(f"/api{path}", headers={"Authorization": token})
    stranger = client.get(f"/api{path}")

    assert own.status_code == 200
    assert own.json == api("GET", path.replace("me", "1"), token=token).json
    assert stranger.status_code == 401


@pytest.mark.both_databases
def test_all_todos_of_a_user_are_deleted_at_once(api, token):
    other = api.logged_in("bob@example.com")
    for title in ("a", "b"):
        api("POST", "/todos", {"title": title}, token=token)
    api("POST", "/todos", {"title": "his"}, token=other)

    assert api("DELETE", "/users/1/todos", token=other).status_code == 403
    assert api("DELETE", "/users/1/todos", token=token).status_code == 204
    assert api("GET", "/todos", token=token).json == []
    assert len(api("GET", "/todos", token=other).json) == 1


def test_a_todo_shows_its_owner_to_whom_it_belongs(api, runner, token):
    api("POST", "/todos", {"title": "a"}, token=token)
    root = api.logged_in("root@example.com")
    runner.invoke(args=["roles", "grant", "root@example.com", "admin"])
    bob = api.logged_in("bob@example.com")

    assert api("GET", "/todos/1/owner", token=token).json == api("GET", "/users/1", token=root).json
    assert api("GET", "/todos/1/owner", token=root).json["email"] == "ada@example.com"
    assert refusal(api("GET", "/todos/1/owner", token=bob)) == (404, "MODEL_NOT_FOUND")
    assert api("GET", "/todos/9/owner", token=root).status_code == 404


def test_a_client_may_send_back_what_it_has_read(api, token):
    api("POST", "/todos", {"title": "a"}, token=token)
    read = api("GET", "/todos/1?filter[include]=owner", token=token).json
    user = api("GET", "/users/1?filter[include]=todos", token=token).json

    changed = api("PATCH", "/todos/1", {**read, "title": "b"}, token=token)
    replaced = api("PUT", "/todos/1", {**read, "title": "c"}, token=token)
    named = api("PATCH", "/users/1", {**user, "todos": [], "username": "x"}, token=token)

    assert [changed.json["title"], replaced.json["title"]] == ["b", "c"]
    assert field_codes(named) == {"todos": ["unknown"]}
    current = [api("GET", "/todos/1", token=token).json]
    assert api("PATCH", "/users/1", {**user, "todos": current}, token=token).json == {
        name: value for name, value in user.items() if name != "todos"
    }
    for change in ({"owner": {"id": 2}}, {"owner": {**read["owner"], "email": "x@example.com"}}):
        assert api("PATCH", "/todos/1", change, token=token).status_code == 422


def test_a_new_row_may_name_its_owner_and_an_empty_id(api, token):
    api.logged_in("bob@example.com")
    body = {"id": None, "ownerId": 1, "title": "a"}

    created = api("POST", "/todos", body, token=token)
    several = api("POST", "/todos", [body, {**body, "ownerId": 2}], token=token)

    assert created.json["ownerId"] == 1
    assert field_codes(several) == {"1.ownerId": ["absence"]}
    assert field_codes(api("POST", "/todos", {**body, "id": 7}, token=token)) == {"id": ["absence"]}


@pytest.mark.both_databases
def test_the_one_row_of_a_relation_is_created_read_changed_and_deleted(clinic):
    clinic("POST", "/physicians", {"name": "Dr. A"})

    assert clinic("GET", "/physicians/1/badge").status_code == 404
    created = clinic("POST", "/physicians/1/badge", {"text": "A"})
    assert created.json["physicianId"] == 1
    assert clinic("GET", "/physicians/1/badge").json == created.json
    assert refusal(clinic("POST", "/physicians/1/badge", {"text": "B"})) == (409, "CONFLICT")
    assert clinic("PUT", "/physicians/1/badge", {"text": "C"}).json["text"] == "C"
    shown = clinic("GET", "/physicians?filter[include]=badge").json
    assert shown[0]["badge"]["text"] == "C"
    for verb, body in [("GET", None), ("PUT", {"text": "x"}), ("DELETE", None), ("POST", {})]:
        response = clinic(verb, "/physicians/1/badge", body, caller=clinic.bob)
        assert refusal(response) == (404, "MODEL_NOT_FOUND"), verb
    assert clinic("DELETE", "/physicians/1/badge").status_code == 204
    assert clinic("DELETE", "/physicians/1/badge").status_code == 404


def test_a_row_that_others_refer_to_is_not_deleted(clinic):
    clinic("POST", "/rooms", {"name": "A"})
    clinic("POST", "/physicians", {"name": "Dr. A", "roomId": 1})

    response = clinic("DELETE", "/rooms/1")

    assert refusal(response) == (409, "CONFLICT")
    assert response.json["message"].startswith("Other rows refer to the row")
    assert clinic("GET", "/rooms/1/physicians/count").json == {"count": 1}


@pytest.mark.both_databases
def test_concurrent_requests_create_one_row_of_a_relation_to_one(clinic):
    clinic("POST", "/physicians", {"name": "Dr. A"})

    def post(client):
        return client.post("/api/physicians/1/badge", json={"text": "A"}, headers=clinic.headers)

    responses = at_once(clinic.app, *[post] * 8)

    assert sorted(each.status_code for each in responses) == [200] + [409] * 7


@pytest.mark.both_databases
def test_rows_are_linked_and_unlinked_through_another_model(clinic):
    for name in ("A", "B"):
        clinic("POST", "/physicians", {"name": name})
    created = clinic("POST", "/physicians/1/patients", {"name": "Pat"}).json

    assert clinic("GET", "/physicians/1/patients").json == [created]
    assert clinic("GET", "/physicians/2/patients").json == []
    assert clinic("HEAD", "/physicians/2/patients/rel/1").status_code == 404
    for _ in range(2):
        assert clinic("PUT", "/physicians/2/patients/rel/1").status_code == 204
    assert clinic("HEAD", "/physicians/2/patients/rel/1").status_code == 200
    assert clinic("GET", "/physicians/2/patients/count").json == {"count": 1}
    assert clinic("GET", "/physicians/2/patients/1").json == created
    assert clinic("PUT", "/physicians/2/patients/1", {"name": "Pam"}).json["name"] == "Pam"
    assert [each["id"] for each in clinic("GET", "/patients/1/physicians").json] == [1, 2]
    assert clinic("DELETE", "/physicians/2/patients/rel/1").status_code == 204
    assert clinic("DELETE", "/physicians/2/patients/rel/1").status_code == 404
    assert clinic("GET", "/patients/1").status_code == 200
    assert clinic("DELETE", "/physicians/1/patients/1").status_code == 204
    assert clinic("GET", "/patients/1").status_code == 404


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/rooms/1/physicians", "name"),
        ("/physicians/1/patients", "name"),
        ("/users/1/todos", "title"),
    ],
)
def test_an_array_creates_all_rows_of_a_relation_or_none(clinic, path, name):
    clinic("POST", "/rooms", {"name": "A"})
    clinic("POST", "/physicians", {"name": "Dr. A"})
    bodies = [{name: text} for text in "ab"]

    created = clinic("POST", path, bodies)

    assert (created.status_code, [each[name] for each in created.json]) == (200, ["a", "b"])
    assert clinic("GET", path).json == created.json
    refused = clinic("POST", path, [{name: "c"}, {name: 5}])
    assert refusal(refused)[0] == 422
    assert [*refused.json["error"]["details"]["messages"]] == [f"1.{name}"]
    assert clinic("GET", f"{path}/count").json == {"count": 2}
    assert clinic("POST", path, []).json == []
    assert refusal(clinic("POST", path, bodies, caller=clinic.bob))[0] in (403, 404)
    for body in ("text", [1], [bodies]):
        assert refusal(clinic("POST", path, body))[0] in (400, 422), body


@pytest.mark.both_databases
def test_a_relation_with_a_scope_leads_to_the_rows_within_it_and_calls_their_hooks(serve, api):
    shown, told = {"where": {"name": {"nlike": "Dr. X%"}}, "order": "name DESC"}, []
    made = {each.name: each for each in resources()}
    relations = {
        **made["rooms"].relations,
        "shown": has_many("physicians", "room_id", scope=shown),
        "broken": has_many("physicians", "room_id", scope={"where": {"age": 1}}),
    }
    made["rooms"] = replace(made["rooms"], relations=relations)
    app = serve(Base.metadata, *made.values())
    headers = {"Authorization": api.logged_in()}

    def call(verb, path, body=None):
        return app.test_client().open(f"/api{path}", method=verb, json=body, headers=headers)

    with app.app_context():
        resource = get_resource("physicians")
        for hook in (resource.before_save, resource.loaded, resource.after_delete):
            hook.connect(lambda resource, event: told.append((resource.name, event.row)))
        with pytest.raises(ConfigurationError, match=r"the relation rooms\.broken: its scope"):
            check_relations(app)
    call("POST", "/rooms", {"name": "A"})
    call("POST", "/rooms/1/shown", [{"name": f"Dr. {letter}"} for letter in "AXB"])
    assert [each["name"] for each in call("GET", "/rooms/1/shown").json] == ["Dr. B", "Dr. A"]
    assert call("GET", "/rooms/1/shown/2").status_code == 404
    told.clear()
    assert call("PUT", "/rooms/1/shown/1", {"name": "Dr. C"}).status_code == 200
    assert call("DELETE", "/rooms/1/shown/1").status_code == 204

    assert [(name, row.id) for name, row in told] == [("physicians", 1)] * 3


def test_a_relation_to_one_row_takes_no_array(clinic):
    clinic("POST", "/physicians", {"name": "Dr. A"})

    assert refusal(clinic("POST", "/physicians/1/badge", [{"text": "A"}]))[0] == 400


@pytest.mark.both_databases
def test_the_links_to_all_rows_that_the_caller_may_read_are_ended_at_once(clinic):
    for name in ("A", "B"):
        clinic("POST", "/physicians", {"name": name})
        clinic("POST", "/patients", {"name": name})
        clinic("PUT", "/physicians/1/patients/rel/2")
        clinic("PUT", "/physicians/1/patients/rel/1")
        clinic("PUT", "/physicians/2/patients/rel/1")
    clinic("POST", "/patients", {"name": "his"}, caller=clinic.bob)
    with clinic.app.app_context():
        db.session.execute(insert(Appointment).values(physician_id=1, patient_id=3))
        db.session.commit()

    assert refusal(clinic("DELETE", "/physicians/1/patients", caller=None))[0] == 401
    assert refusal(clinic("DELETE", "/physicians/1/patients", caller=clinic.bob))[0] == 404
    assert clinic("DELETE", "/physicians/1/patients").status_code == 204
    assert clinic("GET", "/physicians/1/patients").json == []
    assert clinic("GET", "/physicians/2/patients/count").json == {"count": 1}
    assert clinic("GET", "/patients/count").json == {"count": 2}
    make_admin(clinic.app)
    left = clinic("GET", "/physicians/1/patients").json
    assert [each["name"] for each in left] == ["his"]


def test_a_user_is_created_and_linked_in_one_transaction_after_the_throttle(clinic, secrets):
    clinic("POST", "/rooms", {"name": "A"})
    bodies = [{"email": email, "password": PASSWORD} for email in ("eve@example.com", "")]
    events = []

    def note(_app, info):
        secrets.append(info["accessToken"].id)
        events.append((info["user"].email, in_transaction()))

    with verification_request.connected_to(note, sender=clinic.app):
        answers = [clinic("POST", "/rooms/1/holders", body) for body in (*bodies, bodies[0])]

    assert [each.status_code for each in answers] == [200, 422, 422]
    make_admin(clinic.app)
    assert clinic("HEAD", f"/rooms/1/holders/rel/{answers[0].json['id']}").status_code == 200
    assert events == [("eve@example.com", False)]
    assert counts(clinic.app)["registration"] == [2]


@pytest.mark.both_databases
def test_concurrent_links_make_one(clinic):
    clinic("POST", "/physicians", {"name": "A"})
    clinic("POST", "/patients", {"name": "Pat"})

    def link(client):
        return client.put("/api/physicians/1/patients/rel/1", headers=clinic.headers)

    responses = at_once(clinic.app, *[link] * 8)

    assert [each.status_code for each in responses] == [204] * 8
    assert clinic("GET", "/physicians/1/patients/count").json == {"count": 1}


def test_nobody_links_or_sees_rows_of_others(clinic):
    clinic("POST", "/physicians", {"name": "hers"})
    clinic("POST", "/patients", {"name": "hers"})
    clinic("POST", "/physicians", {"name": "his"}, caller=clinic.bob)
    clinic("POST", "/patients", {"name": "his"}, caller=clinic.bob)

    for path in ("/physicians/1/patients/rel/2", "/physicians/2/patients/rel/1"):
        assert refusal(clinic("PUT", path)) == (404, "MODEL_NOT_FOUND"), path
    assert clinic("PUT", "/physicians/1/patients/rel/1").status_code == 204
    for verb in ("PUT", "DELETE"):
        response = clinic(verb, "/physicians/1/patients/rel/1", caller=clinic.bob)
        assert refusal(response) == (404, "MODEL_NOT_FOUND")
    assert clinic("HEAD", "/physicians/1/patients/rel/1", caller=clinic.bob).status_code == 404
    assert clinic("PUT", "/physicians/1/patients/rel/1", caller=None).status_code == 401


def test_a_reference_must_be_to_a_row_that_the_caller_may_read(clinic):
    clinic("POST", "/rooms", {"name": "hers"})
    clinic("POST", "/rooms", {"name": "his"}, caller=clinic.bob)
    clinic("POST", "/physicians", {"name": "A", "roomId": 1})

    refused = [
        clinic("POST", "/physicians", {"name": "B", "roomId": room}).json for room in (2, 99)
    ]
    assert refused[0]["error"] == refused[1]["error"]
    for verb, path, body in [
        ("POST", "/physicians", {"name": "B", "roomId": 2}),
        ("PATCH", "/physicians/1", {"roomId": 2}),
        ("PUT", "/physicians/1", {"name": "A", "roomId": 99}),
        ("PATCH", "/physicians", {"id": 1, "roomId": 2}),
        ("POST", '/physicians/update?where={"id":1}', {"roomId": 2}),
        ("POST", '/physicians/upsertWithWhere?where={"id":1}', {"name": "A", "roomId": 2}),
    ]:
        assert field_codes(clinic(verb, path, body)) == {"roomId": ["invalid"]}, (verb, path)
    several = [{"name": "B", "roomId": 1}, {"name": "C", "roomId": 2}]
    assert field_codes(clinic("POST", "/physicians", several)) == {"1.roomId": ["invalid"]}
    assert [each["roomId"] for each in clinic("GET", "/physicians").json] == [1]
    assert clinic("GET", "/physicians/1/room").json["name"] == "hers"
    assert clinic("PATCH", "/physicians/1", {"roomId": None}).json["roomId"] is None
    assert clinic("GET", "/physicians/1/room").status_code == 404


def test_a_reference_that_a_row_has_already_may_be_sent_back(clinic):
    clinic("POST", "/rooms", {"name": "his"}, caller=clinic.bob)
    with clinic.app.app_context():
        db.session.execute(insert(Physician).values(name="A", room_id=1, owner_id=1))
        db.session.commit()

    changed = clinic("PATCH", "/physicians/1", {"name": "B", "roomId": 1})

    assert changed.json["name"] == "B"
    assert clinic("GET", "/physicians/1/room").status_code == 404


@pytest.mark.both_databases
def test_every_relation_is_included_by_one_statement(clinic):
    clinic("POST", "/rooms", {"name": "1"})
    for number in range(3):
        clinic("POST", "/physicians", {"name": f"{number}", "roomId": 1})
        clinic("POST", f"/physicians/{number + 1}/badge", {"text": f"{number}"})
        for patient in range(3):
            clinic("POST", f"/physicians/{number + 1}/patients", {"name": f"{number}{patient}"})
    nested = {
        "include": {
            "relation": "physicians",
            "scope": {
                "order": "id DESC",
                "include": [
                    "badge",
                    {"relation": "patients", "scope": {"order": "name DESC", "limit": 2}},
                ],
            },
        }
    }

    with statements(clinic.app) as sent:
        [room] = clinic("GET", f"/rooms?filter={json.dumps(nested)}").json

    assert len(sent) == 1 + 4
    assert [each["id"] for each in room["physicians"]] == [3, 2, 1]
    assert [each["badge"]["text"] for each in room["physicians"]] == ["2", "1", "0"]
    assert [each["name"] for each in room["physicians"][0]["patients"]] == ["22", "21"]
    [first, *_] = clinic("GET", "/patients?filter[include][physicians]=patients").json
    [physician] = first["physicians"]
    assert [each["name"] for each in physician["patients"]] == ["00", "01", "02"]


@pytest.mark.parametrize(
    ("relation", "problem"),
    [
        (belongs_to("nowhere", "owner_id"), "there is no model nowhere"),
        (belongs_to("Users", "owner_id"), "there is no model Users; did you mean 'users'"),
        (belongs_to("users", "user_id"), "Todo has no attribute user_id"),
        (has_many("users", "todo_id"), "User has no attribute todo_id"),
        (references_many("nowhere", "ids"), "there is no model nowhere"),
        (references_many("users", "ids"), "Todo has no attribute ids"),
        (embeds_one("note"), "Todo has no attribute note"),
    ],
)
def test_a_relation_that_leads_nowhere_stops_the_start(app, monkeypatch, relation, problem):
    monkeypatch.setitem(served_collections.of(app)["todos"].relations, "strange", relation)

    with pytest.raises(ConfigurationError, match=f"the relation todos.strange: {problem}"):
        check_relations(app)


def test_a_relation_is_added_to_a_resource_before_that_is_registered(make_app):
    with pytest.raises(ConfigurationError, match="users is registered already"):
        add_relation(make_app(), "users", "chores", has_many("todos", "owner_id"))


@pytest.mark.both_databases
def test_conditions_on_related_rows_of_models_in_python(clinic, api, token):
    for caller in (clinic.bob, token):
        room = clinic("POST", "/rooms", {"name": "a"}, caller).json["id"]
        for room_id in (room, None):
            physician = {"name": "x", "roomId": room_id}
            assert clinic("POST", "/physicians", physician, caller).status_code == 200
    clinic("POST", "/todos", {"title": "b"})

    def found(path, caller=token, **filter_):
        response = clinic("GET", f"{path}?filter={json.dumps(filter_)}", caller=caller)
        assert response.status_code == 200, response.json
        return [row["id"] for row in response.json]

    # The third time, the statement is a kept one, for both callers.
    for _ in range(3):
        assert found("/physicians", where={"room": {"name": "a"}}) == [3]
        assert found("/physicians", clinic.bob, where={"room": {"name": "a"}}) == [1]
        assert found("/physicians", where={"room": {"exists": False}}) == [4]
        assert found("/rooms", where={"physicians": {"every": {"name": "x"}}}) == [2]
        assert found("/physicians", order="room.name DESC") == [3, 4]
        assert found("/todos", where={"owner": {"email": "ada@example.com"}}) == [1]
        assert found("/todos", where={"owner": {"email": "bob@example.com"}}) == []
        assert found("/todos", order="owner.email") == [1]
