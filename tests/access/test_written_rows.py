"""A write by a permission for some rows must leave rows that the permission is for."""

from dataclasses import replace

import pytest
from sqlalchemy import delete, func, insert, select, update

from app.access.rules import AUTHENTICATED, OWNER, READ, Rule, allow
from app.database.session import db, transaction
from app.rest.rows.scopes import MAX_CHECKED
from tests.support.answers import field_codes, refusal
from tests.support.races import at_once
from tests.support.rows import make_admin, statements

from .sites import (
    COORDINATOR,
    Shift,
    resources,
)

DENIED = (403, "ACCESS_DENIED")


def shifts(call):
    """Return the site of each shift, by its id."""
    with call.app.app_context():
        return dict(db.session.execute(select(Shift.id, Shift.site_id)).all())


STORED = {1: 1, 2: 1, 3: 2}
MOVED = {"title": "s", "siteId": 2}
# Calls that would move the shift 1 to another site, and one for two shifts of which one stays.
MOVES = [
    ("PATCH", "/shifts/1", {"siteId": 2}),
    ("PATCH", "/shifts/1", {"siteId": None}),
    ("PUT", "/shifts/1", MOVED),
    ("PUT", "/shifts/1", {"title": "s"}),
    ("POST", "/shifts/1/replace", MOVED),
    ("PATCH", "/shifts", {"id": 1, "siteId": 2}),
    ("PUT", "/shifts", {"id": 1, **MOVED}),
    ("POST", "/shifts/replaceOrCreate", {"id": 1, **MOVED}),
    ("POST", '/shifts/upsertWithWhere?where={"id":1}', {"siteId": 2}),
    ("POST", "/shifts/update?where={}", {"siteId": 2}),
    ("PUT", "/sites/1/shifts/1", {"siteId": 2}),
    ("PUT", "/sites/1/next", {"siteId": 2}),
]


@pytest.mark.both_databases
def test_no_change_moves_a_row_out_of_what_the_caller_may_write(serve):
    call = serve()

    for verb, path, body in MOVES:
        assert refusal(call(verb, path, body)) == DENIED, (verb, path)
        assert shifts(call) == STORED, (verb, path)
        within = {**body, "siteId": 3}
        assert call(verb, path, within).status_code == 200, (verb, path)
        assert shifts(call)[1] == 3
        reset = update(Shift).where(Shift.id < 3).values(site_id=1)
        with call.app.app_context(), db.engine.begin() as connection:
            connection.execute(reset)


CREATIONS = [
    ("POST", "/shifts"),
    ("PATCH", "/shifts"),
    ("PUT", "/shifts"),
    ("POST", "/shifts/replaceOrCreate"),
    ("POST", '/shifts/upsertWithWhere?where={"id":99}'),
]


@pytest.mark.both_databases
def test_a_role_permits_to_create_rows_for_which_the_caller_has_it(serve):
    call = serve()

    for verb, path in CREATIONS:
        for site in (2, None):
            refused = call(verb, path, {"title": "s", "siteId": site})
            assert refusal(refused) == DENIED, (verb, path)
            assert refused.json["message"] == "The row would become one that you may not write."
        # Whoever owns the row that would be: one that does not exist has no owner.
        owned = call(verb, path, {"title": "s", "siteId": 2, "ownerId": 1})
        assert refusal(owned) == DENIED, (verb, path)
    assert shifts(call) == STORED
    for verb, path in CREATIONS:
        created = call(verb, path, {"title": "s", "siteId": 1})
        assert (created.status_code, created.json["ownerId"]) == (200, 1), (verb, path)


@pytest.mark.both_databases
def test_an_array_is_created_as_a_whole_or_not_at_all(serve):
    call = serve()
    bodies = [{"title": "s", "siteId": site} for site in (1, 2, 3)]

    assert refusal(call("POST", "/shifts", bodies)) == DENIED
    assert shifts(call) == STORED
    assert len(call("POST", "/shifts", [bodies[0], bodies[2]]).json) == 2
    assert call("POST", "/shifts", []).json == []


@pytest.mark.both_databases
def test_a_row_is_created_by_a_relation_of_a_row_that_the_caller_may_write(serve):
    call = serve()

    for path in ("/sites/2/shifts", "/sites/2/next"):
        assert refusal(call("POST", path, {"title": "s"})) == (404, "MODEL_NOT_FOUND")
    assert call("POST", "/sites/3/shifts", {"title": "s"}).json["siteId"] == 3
    assert [*shifts(call).values()] == [*STORED.values(), 3]


@pytest.mark.both_databases
def test_a_relation_does_not_move_a_row_to_a_parent_that_the_caller_may_not_write(serve):
    # The rules of shifts alone would permit it.
    call = serve([allow(AUTHENTICATED)])

    for path in ("/sites/1/shifts/1", "/sites/1/next"):
        assert refusal(call("PUT", path, {"siteId": 2})) == DENIED
        assert shifts(call) == STORED
    assert call("PUT", "/sites/1/shifts/1", {"siteId": 3}).status_code == 200
    assert call("PATCH", "/shifts/1", {"siteId": 2}).status_code == 200


@pytest.mark.both_databases
def test_a_rule_that_denies_looks_at_what_a_row_becomes(serve):
    call = serve([allow(AUTHENTICATED), Rule(COORDINATOR, allow=False)])

    assert call("PATCH", "/shifts/3", {"title": "x"}).status_code == 200
    assert refusal(call("PATCH", "/shifts/3", {"siteId": 1})) == DENIED
    assert refusal(call("POST", "/shifts", {"title": "s", "siteId": 1})) == DENIED
    assert call("POST", "/shifts", {"title": "s", "siteId": 2}).status_code == 200
    assert [*shifts(call).values()] == [*STORED.values(), 2]


@pytest.mark.both_databases
def test_owners_may_leave_their_rows_anywhere(serve):
    call = serve()

    assert call("PATCH", "/shifts/1", {"siteId": 2}, caller="bob").status_code == 200
    assert field_codes(call("PATCH", "/shifts/1", {"ownerId": 1}, caller="bob")) == {
        "ownerId": ["invalid"]
    }
    # Nor does a role let a caller take a row over.
    assert field_codes(call("PATCH", "/shifts/2", {"ownerId": 1})) == {"ownerId": ["invalid"]}


@pytest.mark.both_databases
@pytest.mark.parametrize("hook", ["before_save", "after_save"])
def test_what_hooks_make_of_a_row_counts(serve, hook):
    def move(resource, event):
        if hook == "before_save":
            event.values["site_id"] = 2
        elif event.row.site_id != 2:
            resource.update([Shift.id == event.row.id], {"site_id": 2})

    def change(resource):
        changed = replace(resource)
        if resource.name == "shifts":
            getattr(changed, hook).connect(move)
        return changed

    call = serve(change=change)

    for verb, path, body in [
        ("PATCH", "/shifts/1", {"title": "x"}),
        ("PUT", "/shifts/1", {"title": "x", "siteId": 1}),
        ("POST", "/shifts", {"title": "x", "siteId": 1}),
        ("POST", "/shifts", [{"title": "x", "siteId": 1}]),
        ("POST", "/shifts/update?where={}", {"title": "x"}),
        ("POST", "/sites/1/shifts", {"title": "x"}),
        ("PUT", "/sites/1/shifts/1", {"title": "x"}),
    ]:
        assert refusal(call(verb, path, body)) == DENIED, (verb, path)
        assert shifts(call) == STORED, (verb, path)


@pytest.mark.both_databases
def test_a_hook_may_delete_the_row_that_was_written(serve):
    shift = next(each for each in resources() if each.name == "shifts")

    def change(resource):
        if resource.name != shift.name:
            return resource
        changed = replace(resource)
        changed.after_save.connect(lambda own, event: own.delete([Shift.id == event.row.id]))
        return changed

    call = serve(change=change)

    assert call("PATCH", "/shifts/1", {"title": "x"}).status_code == 200
    assert shifts(call) == {2: 1, 3: 2}


@pytest.mark.both_databases
@pytest.mark.parametrize(
    "rules", [[allow(OWNER), allow(COORDINATOR)], [allow(OWNER)]], ids=["role", "owner"]
)
def test_an_owner_may_give_a_row_away_where_the_model_permits_it(serve, rules):
    readable = allow(AUTHENTICATED, access=READ)
    call = serve([*rules, readable, allow(AUTHENTICATED, "create")], owner_may_change=True)

    given = call("PATCH", "/shifts/3", {"ownerId": 1, "title": "x"}, caller="bob")

    assert (given.status_code, given.json["ownerId"]) == (200, 1)
    # It is hers now: she gives it back, by every way to change it.
    for verb, path, body in [
        ("PATCH", "/shifts", {"id": 3}),
        ("PUT", "/shifts", {"id": 3, "title": "s", "siteId": 2}),
        ("PUT", "/shifts/3", {"title": "s", "siteId": 2}),
        ("POST", '/shifts/upsertWithWhere?where={"id":3}', {}),
    ]:
        answer = call(verb, path, {**body, "ownerId": 2})
        assert (answer.status_code, answer.json["ownerId"]) == (200, 2), (verb, path)
        again = call("PATCH", "/shifts/3", {"ownerId": 1}, caller="bob")
        assert again.status_code == 200, (verb, path)
    # Rows of others are not given away, and none is made for somebody else.
    assert call("PATCH", "/shifts/2", {"ownerId": 1}).status_code in (403, 422)
    new = {"title": "s", "siteId": 1, "ownerId": 2}
    assert field_codes(call("POST", "/shifts", new)) == {"ownerId": ["invalid"]}
    # By a role it is not known whose rows these are.
    only_own = len(rules) == 1
    many = call("POST", "/shifts/update?where={}", {"ownerId": 2})
    assert many.status_code == (200 if only_own else 422)
    with call.app.app_context():
        owner = db.session.scalar(select(Shift.owner_id).where(Shift.id == 3))
    assert owner == (2 if only_own else 1)


@pytest.mark.both_databases
def test_a_row_that_is_given_away_meanwhile_is_not_given_away_again(serve):
    call = serve(owner_may_change=True)

    def give(owner):
        headers = {"Authorization": call.tokens["bob"]}
        return lambda client: client.patch(
            "/api/shifts/3", json={"ownerId": owner}, headers=headers
        )

    answers = at_once(call.app, give(1), give(7))

    # Bob coordinates its site, but by that he changes no owner.
    assert 200 in [answer.status_code for answer in answers]
    assert {answer.status_code for answer in answers} <= {200, 403, 422}
    assert [answer.status_code for answer in answers].count(200) == 1


@pytest.mark.both_databases
def test_a_write_within_a_permission_for_some_rows_takes_one_statement_more(serve):
    call = serve()
    for _ in range(2):
        call("PATCH", "/shifts/1", {"title": "x"})
        call("PATCH", "/shifts/1", {"siteId": 2})

    with statements(call.app) as sent:
        call("PATCH", "/shifts/1", {"title": "y"})

    verbs = [statement.split()[0] for statement in sent if statement != "COMMIT"]
    assert verbs[1:] == ["BEGIN", "UPDATE", "SELECT"]


def test_a_write_within_any_other_permission_is_one_statement(serve):
    call = serve([allow(OWNER), allow("admin")], change=lambda each: replace(each, roles={}))
    make_admin(call.app)

    for caller in ("ada", "bob"):
        call("PATCH", "/shifts/1", {"title": "x"}, caller=caller)
        with statements(call.app) as sent:
            answer = call("PATCH", "/shifts/1", {"title": "y"}, caller=caller)
        assert answer.status_code == 200
        assert len([each for each in sent if "shifts" in each]) == 1, sent
        assert not any(each.startswith("BEGIN") for each in sent)


def test_the_document_says_who_may_create_and_that_it_may_be_refused(serve):
    document = serve()("GET", "/openapi.json").json

    creation = document["paths"]["/shifts"]["post"]
    assert creation["description"].endswith(
        "For those who have the role `coordinator` for the row."
    )
    assert {"401", "403", "422"} <= creation["responses"].keys()


def test_a_change_of_very_many_rows_by_a_role_is_refused_as_a_whole(serve):
    call = serve()
    rows = [{"title": "s", "site_id": 1, "owner_id": 2}] * (MAX_CHECKED - 1)
    with call.app.app_context(), db.engine.begin() as connection:
        connection.execute(insert(Shift.__table__), rows)

    answer = call("POST", "/shifts/update?where={}", {"title": "x"})

    assert refusal(answer) == (400, "TOO_MANY_ROWS")
    assert call("GET", '/shifts/count?where={"title":"x"}').json == {"count": 0}
    fewer = '/shifts/update?where={"id":{"gt":1}}'
    assert call("POST", fewer, {"title": "x"}).json == {"count": MAX_CHECKED}
    assert refusal(call("POST", fewer, {"siteId": 2})) == DENIED


@pytest.mark.only_on("postgresql")
def test_a_row_that_another_request_moves_meanwhile_is_not_changed(serve):
    call = serve()
    for number in range(10):
        with call.app.app_context(), db.engine.begin() as connection:
            connection.execute(update(Shift).where(Shift.id == 1).values(site_id=1))
            connection.execute(delete(Shift).where(Shift.id > 3))

        def move(_client):
            with call.app.app_context(), transaction():
                db.session.execute(update(Shift).where(Shift.id == 1).values(site_id=2))
                db.session.execute(select(func.pg_sleep(0.01)))

        def rename(client, number=number):
            headers = {"Authorization": call.tokens["ada"]}
            body = {"title": f"x{number}"}
            return client.patch("/api/shifts/1", json=body, headers=headers)

        _, answer = at_once(call.app, move, rename)

        # Either before it was moved, or not at all.
        assert answer.status_code in (200, 403, 404)
        assert shifts(call)[1] == 2
        title = call("GET", "/shifts/1").json["title"]
        assert (title == f"x{number}") == (answer.status_code == 200)


@pytest.mark.both_databases
def test_who_sends_the_owner_back_does_not_undo_that_another_request_changes_it(serve):
    call = serve()
    for _ in range(10):
        with call.app.app_context(), db.engine.begin() as connection:
            connection.execute(update(Shift).where(Shift.id == 1).values(owner_id=2))

        def give(_client):
            with call.app.app_context(), transaction():
                db.session.execute(update(Shift).where(Shift.id == 1).values(owner_id=7))

        def rename(client):
            headers = {"Authorization": call.tokens["ada"]}
            body = {"title": "x", "ownerId": 2}
            return client.patch("/api/shifts/1", json=body, headers=headers)

        _, answer = at_once(call.app, give, rename)

        assert answer.status_code in (200, 403, 404, 422)
        assert call("GET", "/shifts/1").json["ownerId"] == 7
