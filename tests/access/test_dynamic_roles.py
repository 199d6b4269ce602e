"""Dynamic roles: which rows a caller may read and change who has a role for some of them."""

import json
from dataclasses import replace

import pytest
from sqlalchemy import ForeignKey, insert, select
from sqlalchemy.orm import Mapped, mapped_column

from app.access.rules import AUTHENTICATED, EVERYONE, OWNER, READ, WRITE, Rule, UserPrincipal, allow
from app.database.session import db
from app.problems import ConfigurationError
from app.rest.views.registration import register_resource
from tests.rest.clinic import Base, Patient, Physician, Room, resources
from tests.support.answers import field_codes, refusal
from tests.support.documents import blocks
from tests.support.notes import serve_notes  # noqa: F401 a fixture
from tests.support.rows import statements

MEMBER = "member"


class Member(Base):
    """Who is a member of a room."""

    __tablename__ = "members"

    room_id: Mapped[int] = mapped_column(ForeignKey("rooms.id"), primary_key=True)
    user_id: Mapped[int] = mapped_column(primary_key=True)


def member(user_id):
    """Return the condition that a user is a member of a room."""
    return Room.id.in_(select(Member.room_id).where(Member.user_id == user_id))


def colleague(user_id):
    """Return the condition that a user is a member of the room of a physician."""
    rooms = select(Member.room_id).where(Member.user_id == user_id)
    return Physician.room_id.in_(rooms)


@pytest.fixture
def serve(make_app, api, token, runner):
    """Serve the clinic with rules for rooms; Ada is 1, Bob is 2 and a member of room 1."""
    bob, root = api.logged_in("bob@example.com"), api.logged_in("root@example.com")
    runner.invoke(args=["roles", "grant", "root@example.com", "admin"])
    callers = {"ada": token, "bob": bob, "root": root}
    apps = []

    def serve(rules, more=()):
        app = make_app()
        changed = {
            "rooms": {"rules": lambda settings: rules, "roles": {MEMBER: member}},
            "physicians": {
                "rules": lambda settings: [allow(OWNER), allow("colleague", access=READ)],
                "roles": {"colleague": colleague},
            },
        }
        for resource in (*resources(), *more):
            register_resource(app, replace(resource, **changed.get(resource.name, {})))
        with app.app_context():
            Base.metadata.create_all(db.engine)
            owners = {"one": 1, "two": 1, "three": 1, "his": 2}
            rows = [{"name": name, "owner_id": owner} for name, owner in owners.items()]
            db.session.execute(insert(Room), rows)
            db.session.execute(insert(Member), [{"room_id": 1, "user_id": 2}])
            staff = [{"room_id": room, "name": f"in {room}"} for room in (1, 2, None)]
            db.session.execute(insert(Physician), [{**member, "owner_id": 1} for member in staff])
            db.session.execute(insert(Patient), [{"name": "p", "owner_id": 2}])
            db.session.commit()
        apps.append(app)

        def call(caller, verb, path, body=None):
            headers = {"Authorization": callers[caller]} if caller else {}
            return app.test_client().open(f"/api{path}", method=verb, json=body, headers=headers)

        call.app = app
        return call

    yield serve
    for app in apps:
        with app.app_context():
            Base.metadata.drop_all(db.engine)


def names(response):
    assert response.status_code == 200, response.json
    return [item["name"] for item in response.json]


ALLOWED = [allow(OWNER), allow(MEMBER), allow("admin")]


@pytest.mark.both_databases
def test_a_role_for_some_rows_scopes_every_call(serve):
    call = serve(ALLOWED)

    assert names(call("bob", "GET", "/rooms")) == ["one", "his"]
    assert names(call("ada", "GET", "/rooms")) == ["one", "two", "three"]
    assert names(call("root", "GET", "/rooms")) == ["one", "two", "three", "his"]
    assert call(None, "GET", "/rooms").status_code == 401
    assert call("bob", "GET", "/rooms/count").json == {"count": 2}
    assert call("bob", "GET", '/rooms/findOne?filter={"order":"id"}').json["name"] == "one"
    assert [call("bob", "GET", f"/rooms/{room}/exists").json["exists"] for room in (1, 2)] == [
        *(True, False),
    ]
    for verb, path, body in [
        ("GET", "/rooms/{}", None),
        ("PATCH", "/rooms/{}", {"name": "one"}),
        ("PUT", "/rooms/{}", {"name": "one"}),
        ("PATCH", "/rooms", {"id": "{}", "name": "one"}),
        ("GET", "/rooms/{}/physicians", None),
    ]:
        for room, status in ((1, 200), (2, 404)):
            filled = body and {**body, **({"id": room} if "id" in body else {})}
            assert call("bob", verb, path.format(room), filled).status_code == status, path
    assert call("bob", "POST", "/rooms/update?where={}", {"name": "x"}).json == {"count": 2}
    assert names(call("root", "GET", "/rooms")) == ["x", "two", "three", "x"]
    assert call("bob", "DELETE", "/rooms/2").status_code == 404
    assert call("bob", "DELETE", "/rooms/4").json == {"count": 1}


@pytest.mark.both_databases
def test_a_role_scopes_related_and_included_rows_and_references(serve):
    call = serve(ALLOWED)

    assert names(call("bob", "GET", "/physicians")) == ["in 1"]
    assert names(call("bob", "GET", "/rooms/1/physicians")) == ["in 1"]
    assert call("bob", "GET", "/rooms/1/physicians/count").json == {"count": 1}
    assert call("bob", "GET", "/physicians/1/room").json["name"] == "one"
    [included] = call("bob", "GET", "/physicians?filter[include]=room").json
    assert included["room"]["name"] == "one"
    shown = call("bob", "GET", "/rooms?filter[include]=physicians").json
    assert [len(item["physicians"]) for item in shown] == [1, 0]
    for verb, path in [("DELETE", "/rooms/1/physicians"), ("DELETE", "/rooms/1/physicians/1")]:
        assert call("bob", verb, path).status_code in (204, 403)
    assert call("ada", "GET", "/physicians/count").json == {"count": 3}
    references = [call("ada", "PATCH", "/physicians/3", {"roomId": room}) for room in (2, 4)]
    assert references[0].json["roomId"] == 2
    assert field_codes(references[1]) == {"roomId": ["invalid"]}


NOT_MEMBER = Rule(MEMBER, allow=False)
NOT_OWNER = Rule(OWNER, allow=False)
HERS, HIS = ["one", "two", "three"], ["his"]
# Rules, and what Bob, who is a member of room one, and Ada see by them; None: refused.
RANKS = [
    # A role outranks $authenticated and $owner, a user a role; of one rank DENY comes first.
    ([allow(AUTHENTICATED), NOT_MEMBER], ["two", "three", "his"], [*HERS, *HIS]),
    ([allow(OWNER), allow(MEMBER), NOT_MEMBER], HIS, HERS),
    ([NOT_OWNER, allow(MEMBER)], ["one"], []),
    ([NOT_OWNER, allow(AUTHENTICATED), NOT_MEMBER], ["two", "three"], HIS),
    ([allow(MEMBER), allow(UserPrincipal(2))], [*HERS, *HIS], []),
    # A method outranks all methods, whoever is meant.
    ([Rule(MEMBER, False, READ), allow(OWNER, "find")], HIS, HERS),
    ([NOT_MEMBER, Rule(EVERYONE, allow=False)], None, None),
]


@pytest.mark.both_databases
def test_rules_decide_in_the_order_of_their_ranks(serve):
    rooms = resources()[0]
    call = serve(
        [],
        [
            replace(
                rooms,
                name=f"rooms{number}",
                singular=f"room{number}",
                rules=lambda settings, rules=rules: rules,
                roles={MEMBER: member},
            )
            for number, (rules, _, _) in enumerate(RANKS)
        ],
    )

    for number, (_, *expected) in enumerate(RANKS):
        answers = [call(caller, "GET", f"/rooms{number}") for caller in ("bob", "ada")]
        found = [None if answer.status_code == 403 else names(answer) for answer in answers]
        assert (number, found) == (number, expected)
        for caller, seen in zip(("bob", "ada"), expected, strict=True):
            page = call(caller, "GET", f"/rooms{number}?filter[limit]=1&count=true")
            total = None if seen is None else str(len(seen))
            assert (number, page.headers.get("X-Total-Count")) == (number, total)


@pytest.mark.both_databases
def test_a_role_that_allows_reading_only_refuses_changes_with_403(serve):
    call = serve([allow(MEMBER, access=READ), allow(OWNER)])

    assert refusal(call("bob", "PATCH", "/rooms/1", {"name": "x"})) == (403, "ACCESS_DENIED")
    assert refusal(call("bob", "PATCH", "/rooms/2", {"name": "x"})) == (404, "MODEL_NOT_FOUND")
    assert call("bob", "POST", "/rooms/update?where={}", {"name": "x"}).json == {"count": 1}


def test_a_rule_for_a_role_that_cannot_apply_stops_the_start(make_app):
    app, rooms = make_app(), resources()[0]

    @rooms.endpoint("open", WRITE, "POST /open")
    def open_all():
        """Open all rooms."""

    wrong = replace(
        rooms, name="open", rules=lambda _: [allow(MEMBER, "open")], roles={MEMBER: member}
    )
    with pytest.raises(ConfigurationError, match="member cannot be used for 'open'"):
        register_resource(app, wrong)
    with pytest.raises(ConfigurationError, match=r"\$owner cannot be a dynamic role"):
        register_resource(app, replace(rooms, roles={OWNER: member}))


def test_the_role_of_the_document_lets_colleagues_read(serve_notes):  # noqa: F811
    code = blocks("docs/dynamic-roles.md", "python")[0]
    api = serve_notes(board=code)
    tokens = {}
    for name, realm in (("ada", ""), ("bob", "A"), ("eve", "A")):
        api.register(f"{name}@example.com", realm=realm)
        tokens[name] = api.login(f"{name}@example.com", realm=realm)["id"]
    api("POST", "/notes", {"text": "hers"}, token=tokens["ada"])
    api("POST", "/notes", {"text": "his"}, token=tokens["bob"])

    read = api("GET", "/board", token=tokens["eve"])

    assert [item["text"] for item in read.json] == ["his"]
    document = api("GET", "/openapi.json").get_data(as_text=True)
    assert "For those who have the role `colleague` for the row." in document


def test_a_role_costs_no_statement(serve):
    call = serve(ALLOWED)
    call("bob", "GET", "/rooms/1")

    with statements(call.app) as sent:
        call("bob", "GET", "/rooms/1")
        call("bob", "GET", f"/rooms?filter={json.dumps({'limit': 1})}")

    assert len(sent) == 4
