"""What a user of one model sees and does of the other: nothing but what the rules give both."""

import json
from urllib.parse import quote

import pytest
from sqlalchemy import insert, select, update

from app.access.roles import assign
from app.database.session import db, transaction
from app.rest.collection import get_resource
from app.users.models import User, user_model
from tests.conftest import PASSWORD
from tests.support.rows import statements

from .shop import CUSTOMERS, STAFF_PATH, Person

pytestmark = pytest.mark.both_databases
OTHER = {CUSTOMERS: STAFF_PATH, STAFF_PATH: CUSTOMERS}
# Calls of a user's record by its id, each with a body.
OF_RECORD = {
    "findById": ("GET", "", None),
    "exists": ("GET", "/exists", None),
    "patch": ("PATCH", "", {"level": None}),
    "put": ("PUT", "", {"email": "new@example.com", "password": PASSWORD}),
    "replace": ("POST", "/replace", {"email": "new@example.com", "password": PASSWORD}),
    "delete": ("DELETE", "", None),
    "sessions": ("GET", "/accessTokens", None),
    "end sessions": ("DELETE", "/accessTokens", None),
    "audit": ("GET", "/audit", None),
    "reauthenticate": ("POST", "/reauthenticate", {"password": PASSWORD}),
    "tickets": ("GET", "/tickets", None),
}


def grant(api, person, role):
    with api.client.application.app_context(), transaction():
        assign([(person.id, role)])


def filtered(path, **filter_):
    return f"{path}?filter={quote(json.dumps(filter_))}"


@pytest.mark.parametrize("call", OF_RECORD)
@pytest.mark.parametrize("path", OTHER)
def test_nobody_reaches_a_record_of_the_other_model(api, customer, staff, path, call):
    verb, below, body = OF_RECORD[call]
    caller = customer if path == STAFF_PATH else staff
    for row_id in (customer.id, staff.id):
        answer = api(verb, f"{path}/{row_id}{below}", body, token=caller.token)
        assert answer.status_code == 403, answer.json


@pytest.mark.parametrize("call", OF_RECORD.keys() - {"delete"})
@pytest.mark.parametrize("path", OTHER)
def test_an_admin_finds_records_by_the_path_of_their_model_only(api, customer, staff, path, call):
    grant(api, customer, "admin")
    verb, below, body = OF_RECORD[call]
    missing = staff if path == CUSTOMERS else customer

    answer = api(verb, f"{path}/{missing.id}{below}", body, token=customer.token)

    if call == "exists":
        assert answer.json == {"exists": False}
    else:
        assert answer.status_code in (403, 404, 422), answer.json
    with api.client.application.app_context():
        assert db.session.get(User, missing.id).email == missing.email


@pytest.mark.parametrize("path", OTHER)
def test_lists_and_counts_have_the_users_of_their_model(api, customer, staff, path):
    grant(api, customer, "admin")
    own, other = (customer, staff) if path == CUSTOMERS else (staff, customer)
    wheres = [{}, {"id": other.id}, {"or": [{"id": own.id}, {"id": other.id}]}]
    wheres.append({"email": other.email})
    for where in wheres:
        found = api("GET", filtered(path, where=where), token=customer.token).json
        assert {user["id"] for user in found} <= {own.id}
        where = quote(json.dumps(where))
        count = api("GET", f"{path}/count?where={where}", token=customer.token).json["count"]
        assert count == len(found)
        one = api("GET", f'{path}/findOne?filter={{"where":{where}}}', token=customer.token)
        assert one.status_code == 404 or one.json["id"] == own.id
    aggregate = quote(json.dumps({"functions": {"n": {"count": "*"}}}))
    answer = api("GET", f"{path}/aggregate?aggregate={aggregate}", token=customer.token)
    assert answer.status_code in (200, 400)


@pytest.mark.parametrize(("path", "count"), [(CUSTOMERS, 1), (STAFF_PATH, 2)])
def test_many_are_changed_of_one_model_only(api, customer, staff, path, count):
    grant(api, customer, "admin")
    Person(api, STAFF_PATH, "third@example.com")
    where = quote(json.dumps({"username": None}))
    changed = api("POST", f"{path}/update?where={where}", {"level": None}, token=customer.token)
    assert changed.json["count"] == count


def test_the_owner_of_a_row_is_a_user_of_the_model_it_belongs_to(api, customer, staff):
    note = api("POST", "/Notes", {"text": "mine"}, token=staff.token).json
    order = api("POST", "/Orders", {"total": 3}, token=customer.token).json

    assert (note["authorId"], order["customerId"]) == (staff.id, customer.id)
    assert api("GET", f"/Notes/{note['id']}", token=staff.token).status_code == 200
    assert api("GET", f"/Notes/{note['id']}", token=customer.token).status_code == 403
    assert api("GET", f"/Orders/{order['id']}", token=staff.token).status_code == 403
    for path in (f"/Notes/{note['id']}", f"/Orders/{order['id']}"):
        stranger = customer if path.startswith("/Notes") else staff
        assert api("PATCH", path, {}, token=stranger.token).status_code == 403
        assert api("DELETE", path, token=stranger.token).status_code == 403


def test_a_row_of_the_other_model_is_created_without_an_owner(api, customer, staff):
    note = api("POST", "/Notes", {"text": "not mine"}, token=customer.token)

    assert note.status_code == 200
    assert note.json["authorId"] is None
    for author in (customer.id, staff.id):
        refused = api("POST", "/Notes", {"text": "x", "authorId": author}, token=customer.token)
        assert refused.status_code == 422
    own = api("GET", "/Notes", token=customer.token)
    assert own.status_code == 403


def test_an_id_in_a_foreign_key_makes_nobody_of_the_other_model_an_owner(api, customer, staff):
    """Even if the row was written past the checks."""
    with api.client.application.app_context(), transaction():
        notes = get_resource("Notes").model
        db.session.execute(insert(notes).values(text="x", author_id=customer.id))
        note_id = db.session.scalar(select(notes.id))
    for verb, path, body in (
        ("GET", f"/Notes/{note_id}", None),
        ("PATCH", f"/Notes/{note_id}", {"text": "y"}),
        ("DELETE", f"/Notes/{note_id}", None),
        ("GET", "/Notes", None),
        ("GET", "/Notes/count", None),
    ):
        assert api(verb, path, body, token=customer.token).status_code == 403, path


@pytest.mark.parametrize("key", ["customerId", "staffId"])
def test_a_reference_is_to_a_user_of_its_model(api, customer, staff, key):
    grant(api, customer, "admin")
    wrong = staff.id if key == "customerId" else customer.id
    right = customer.id if key == "customerId" else staff.id

    refused = api("POST", "/Tickets", {key: wrong}, token=customer.token)
    assert refused.status_code == 422
    created = api("POST", "/Tickets", {key: right}, token=customer.token)
    assert created.json[key] == right
    changed = api("PATCH", f"/Tickets/{created.json['id']}", {key: wrong}, token=customer.token)
    assert changed.status_code == 422


def test_rows_are_reached_through_relations_of_their_own_users(api, customer, staff):
    path = f"{STAFF_PATH}/{staff.id}/notes"
    assert api("POST", path, {"text": "a"}, token=staff.token).status_code == 200
    assert len(api("GET", path, token=staff.token).json) == 1
    for user_id in (staff.id, customer.id):
        path = f"{STAFF_PATH}/{user_id}/notes"
        assert api("POST", path, {"text": "b"}, token=customer.token).status_code == 403
        assert api("GET", path, token=customer.token).status_code == 403
        path = f"{CUSTOMERS}/{user_id}/orders"
        assert api("POST", path, {"total": 1}, token=staff.token).status_code == 403
        assert api("GET", path, token=staff.token).status_code == 403


def test_an_include_shows_users_of_the_model_of_the_relation(api, customer, staff):
    grant(api, customer, "admin")
    grant(api, staff, "admin")
    made = api(
        "POST", "/Tickets", {"customerId": customer.id, "staffId": staff.id}, token=customer.token
    ).json
    found = api("GET", filtered("/Tickets", include=["customer", "staff"]), token=customer.token)
    [ticket] = found.json
    assert ticket["id"] == made["id"]
    assert ticket["customer"].keys() >= {"phone"}
    assert ticket["staff"].keys() >= {"badge"}
    assert (ticket["customer"]["id"], ticket["staff"]["id"]) == (customer.id, staff.id)
    # A key that holds the id of a user of the other model leads to nobody.
    with api.client.application.app_context(), transaction():
        tickets = get_resource("Tickets").model
        db.session.execute(update(tickets).values(staff_id=customer.id, customer_id=staff.id))
    [ticket] = api(
        "GET", filtered("/Tickets", include=["customer", "staff"]), token=customer.token
    ).json
    assert not {"staff", "customer"} & ticket.keys()
    for name in ("customer", "staff"):
        where = {name: {"email": customer.email}}
        assert api("GET", filtered("/Tickets", where=where), token=customer.token).json == []
        answer = api("GET", f"/Tickets/{ticket['id']}/{name}", token=customer.token)
        assert answer.status_code == 404 or answer.json is None


def test_conditions_on_related_users_find_those_of_the_model(api, customer, staff):
    grant(api, customer, "admin")
    api("POST", "/Tickets", {"staffId": staff.id}, token=customer.token)
    where = {"staff": {"email": staff.email}}
    assert len(api("GET", filtered("/Tickets", where=where), token=customer.token).json) == 1


def test_a_role_is_that_of_one_user(api, customer, staff):
    grant(api, staff, "chief")

    assert api("GET", STAFF_PATH, token=staff.token).status_code == 200
    assert api("GET", STAFF_PATH, token=customer.token).status_code == 403
    assert api("GET", CUSTOMERS, token=staff.token).status_code == 403


def test_only_admins_change_admins_of_any_model(api, customer, staff):
    boss = Person(api, STAFF_PATH, "boss@example.com")
    grant(api, boss, "admin")
    assert api("PATCH", f"{STAFF_PATH}/{boss.id}", {}, token=staff.token).status_code == 403
    assert api("PATCH", f"{STAFF_PATH}/{staff.id}", {}, token=boss.token).status_code == 200
    assert api("PATCH", f"{CUSTOMERS}/{customer.id}", {}, token=boss.token).status_code == 200


def test_properties_are_those_of_the_model(api, customer, staff):
    path = f"{STAFF_PATH}/{staff.id}"
    changed = api("PATCH", path, {"badge": "7", "level": "high"}, token=staff.token)
    assert (changed.json["badge"], changed.json["level"]) == ("7", "high")
    assert api("PATCH", path, {"phone": "1"}, token=staff.token).status_code == 422
    path = f"{CUSTOMERS}/{customer.id}"
    changed = api("PATCH", path, {"phone": "1", "level": 3}, token=customer.token)
    assert (changed.json["phone"], changed.json["level"]) == ("1", 3)
    assert api("PATCH", path, {"badge": "7"}, token=customer.token).status_code == 422
    given = {"email": "new@example.com", "password": PASSWORD, "badge": "7"}
    taken = api("POST", STAFF_PATH, given)
    assert taken.json["error"]["details"]["codes"] == {"badge": ["uniqueness"]}
    with api.client.application.app_context():
        assert {"phone", "staff_badge", "staff_level"} <= set(dir(user_model()))


def test_a_user_belongs_to_a_row_by_the_relation_of_its_model(api, customer, staff):
    shop = api("POST", "/Shops", {"city": "Oslo"}, token=staff.token).json
    path = f"{STAFF_PATH}/{staff.id}"
    changed = api("PATCH", path, {"shopId": shop["id"]}, token=staff.token)
    assert changed.json["shopId"] == shop["id"]
    assert api("GET", f"{path}/shop", token=staff.token).json["city"] == "Oslo"
    assert api("PATCH", path, {"shopId": 99}, token=staff.token).status_code == 422


def test_a_token_costs_one_statement(api, customer, staff):
    with statements(api.client.application) as sent:
        assert api("GET", f"{STAFF_PATH}/{staff.id}", token=staff.token).status_code == 200
    assert len(sent) == 2
