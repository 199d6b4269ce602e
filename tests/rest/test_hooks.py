"""Hooks of resources: when they are called, with what, and what they may change and refuse."""

from contextlib import ExitStack
from dataclasses import replace
from threading import Barrier

import pytest
from marshmallow import fields
from sqlalchemy import ForeignKey, String, event, func, select
from sqlalchemy.ext.mutable import MutableDict
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column, validates

from app.access.rules import WRITE
from app.database.columns import Json
from app.database.ids import RowId
from app.database.session import after_commit, db, in_transaction
from app.errors import AccessDenied, TooManyRequests
from app.fields.base import Schema
from app.problems import ConfigurationError
from app.rest.collection import served_collections
from app.rest.relations import has_many_through
from app.rest.resource import Resource
from app.rest.views.registration import register_resource
from app.users.models import User
from app.users.resource import users
from tests.conftest import PASSWORD
from tests.support.answers import field_codes, refusal
from tests.support.documents import blocks
from tests.support.notes import serve_notes  # noqa: F401 a fixture
from tests.support.races import at_once
from tests.support.rows import make_admin

from .clinic import Base, Patient, PatientSchema, Physician, Room, resources

HOOKS = ("before_save", "after_save", "before_delete", "after_delete", "loaded")


class Visit(Base):
    """A link between a room and a patient that is a model with a resource of its own."""

    __tablename__ = "visits"
    # Ids are not used again.
    __table_args__ = {"sqlite_autoincrement": True}

    id: Mapped[int] = mapped_column(RowId, primary_key=True)
    room_id: Mapped[int] = mapped_column(ForeignKey("rooms.id"))
    patient_id: Mapped[int] = mapped_column(ForeignKey("patients.id", ondelete="CASCADE"))


class VisitSchema(Schema):
    id = fields.Integer(dump_only=True)
    roomId = fields.Integer(attribute="room_id")  # noqa: N815


def hospital():
    """Return the resources of the clinic, and visits; rooms have visitors and an own endpoint."""
    made = {each.name: each for each in resources()}
    visitors = has_many_through("patients", Visit, "room_id", "patient_id")
    made["rooms"] = replace(
        made["rooms"], relations={**made["rooms"].relations, "visitors": visitors}
    )
    made["visits"] = Resource("visits", "visit", Visit, VisitSchema, lambda settings: [])
    return made


@pytest.fixture
def served(serve, api, token):
    """Serve the hospital, to Ada as an admin; return the app."""
    app = serve(Base.metadata, *hospital().values(), PROPAGATE_EXCEPTIONS=False)
    make_admin(app)
    return app


@pytest.fixture
def call(served, token):
    """Call the hospital as Ada, who is 1."""
    client = served.test_client()

    def send(verb, path, body=None, caller=token):
        headers = {"Authorization": caller} if caller else {}
        return client.open(f"/api{path}", method=verb, json=body, headers=headers)

    return send


@pytest.fixture
def hook(served):
    """Connect a receiver to a hook until the test ends."""
    with ExitStack() as connected:

        def connect(resource, name, receiver):
            signal = getattr(served_collections.of(served)[resource].resource, name)
            connected.enter_context(signal.connected_to(receiver))

        yield connect


@pytest.fixture
def told(served, hook):
    """Note every hook of every resource that is called: its name, the resource, the row's id."""
    events = []

    def note(name):
        def receive(resource, event):
            events.append((name, resource.name, event.row and event.row.id))
            assert in_transaction() or name == "loaded"
            assert event.caller.user_id in (1, None)

        return receive

    for resource in served_collections.of(served):
        for name in HOOKS:
            hook(resource, name, note(name))
    return events


def saved(resource, row, new=False, shown=True):
    events = [("before_save", resource, None if new else row), ("after_save", resource, row)]
    return [*events, ("loaded", resource, row)] if shown else events


def deleted(resource, row):
    return [("before_delete", resource, row), ("after_delete", resource, row)]


def left(*rows):
    return [("loaded", resource, row) for resource, row in rows]


ROOM = ("rooms", 1)
NAMED = {"name": "x"}
# Calls one after the other, with what their hooks are told. A read-only value that is sent back is
# compared with what leaves.
CALLS = [
    ("POST", "/rooms", NAMED, saved(*ROOM, new=True)),
    ("PATCH", "/rooms/1", NAMED, saved(*ROOM)),
    ("PATCH", "/rooms/1", {}, left(ROOM)),
    ("PUT", "/rooms/1", NAMED, saved(*ROOM)),
    ("POST", "/rooms/1/replace", NAMED, saved(*ROOM)),
    ("PATCH", "/rooms", {"id": 1, **NAMED}, left(ROOM) + saved(*ROOM)),
    ("PUT", "/rooms", {"id": 1, **NAMED}, left(ROOM) + saved(*ROOM)),
    ("POST", "/rooms/replaceOrCreate", {"id": 1, **NAMED}, left(ROOM) + saved(*ROOM)),
    ("POST", '/rooms/upsertWithWhere?where={"id":1}', NAMED, saved(*ROOM)),
    ("POST", '/rooms/upsertWithWhere?where={"id":9}', NAMED, saved("rooms", 2, new=True)),
    ("PATCH", "/rooms", NAMED, saved("rooms", 3, new=True)),
    ("PUT", "/rooms", NAMED, saved("rooms", 4, new=True)),
    (
        *("POST", "/rooms/update?where={}", NAMED),
        [each for row in (1, 2, 3, 4) for each in saved("rooms", row, shown=False)],
    ),
    ("DELETE", "/rooms/3", None, deleted("rooms", 3)),
    (
        *("POST", "/rooms", [NAMED, NAMED]),
        saved("rooms", 5, new=True, shown=False)
        + saved("rooms", 6, new=True, shown=False)
        + left(("rooms", 5), ("rooms", 6)),
    ),
    ("GET", "/rooms/1", None, left(ROOM)),
    ("GET", "/rooms/findOne", None, left(ROOM)),
    ("GET", "/rooms?filter[limit]=2", None, left(ROOM, ("rooms", 2))),
    ("GET", "/rooms/count", None, []),
    ("GET", "/rooms/1/exists", None, []),
    ("POST", "/physicians", {"name": "A", "roomId": 1}, saved("physicians", 1, new=True)),
    ("GET", "/physicians?filter[include]=room", None, left(("physicians", 1), ROOM)),
    ("GET", "/rooms/1?filter[include]=physicians", None, left(ROOM, ("physicians", 1))),
    ("GET", "/physicians/1/room", None, left(ROOM)),
    ("POST", "/rooms/1/physicians", NAMED, saved("physicians", 2, new=True)),
    ("GET", "/rooms/1/physicians", None, left(("physicians", 1), ("physicians", 2))),
    ("GET", "/rooms/1/physicians/2", None, left(("physicians", 2))),
    ("PUT", "/rooms/1/physicians/2", NAMED, saved("physicians", 2)),
    ("DELETE", "/rooms/1/physicians/2", None, deleted("physicians", 2)),
    ("POST", "/physicians/1/badge", {"text": "a"}, saved("badges", 1, new=True)),
    ("GET", "/physicians/1/badge", None, left(("badges", 1))),
    ("PUT", "/physicians/1/badge", {"text": "b"}, saved("badges", 1)),
    ("DELETE", "/physicians/1/badge", None, deleted("badges", 1)),
    ("DELETE", "/rooms/1/physicians", None, deleted("physicians", 1)),
    (
        *("POST", "/rooms/1/visitors", NAMED),
        [
            *saved("patients", 1, new=True, shown=False),
            *saved("visits", 1, new=True, shown=False),
            *left(("patients", 1)),
        ],
    ),
    ("DELETE", "/rooms/1/visitors/rel/1", None, deleted("visits", 1)),
    ("PUT", "/rooms/1/visitors/rel/1", None, saved("visits", 2, new=True, shown=False)),
    ("DELETE", "/rooms/1/visitors/1", None, deleted("visits", 2) + deleted("patients", 1)),
    ("POST", "/users", {"email": "eve@example.com", "password": PASSWORD}, saved("users", 2, True)),
    ("PATCH", "/users/1", {"username": "ada"}, saved("users", 1)),
    (
        *("POST", "/users/login?include=user", {"email": "ada@example.com", "password": PASSWORD}),
        left(("users", 1)),
    ),
    ("DELETE", "/users/2", None, deleted("users", 2)),
]


@pytest.mark.both_databases
def test_hooks_are_called_on_every_way_by_which_rows_are_written_or_leave(call, told, secrets):
    for verb, path, body, expected in CALLS:
        told.clear()
        response = call(verb, path, body)
        if path.startswith("/users/login"):
            secrets.append(response.json["id"])

        assert (response.status_code < 300, path, told) == (True, path, expected)


def test_a_hook_sees_values_and_row_and_changes_what_is_stored(call, hook, served):
    seen = []

    def shout(resource, event):
        seen.append((event.values.copy(), event.row and event.row.name, event.is_new))
        event.values["name"] = event.values["name"].upper()

    def note(resource, event):
        seen.append((event.values, event.row.name, event.is_new))

    hook("rooms", "before_save", shout)
    hook("rooms", "after_save", note)
    created = call("POST", "/rooms", {"name": "a"}).json
    changed = call("PATCH", "/rooms/1", {"name": "b"}).json
    counted = call("POST", "/rooms/update?where={}", {"name": "c"}).json

    assert [created["name"], changed["name"], counted] == ["A", "B", {"count": 1}]
    assert call("GET", "/rooms/1").json["name"] == "C"
    assert seen == [
        ({"name": "a", "owner_id": 1}, None, True),
        ({"name": "A", "owner_id": 1}, "A", True),
        ({"name": "b"}, "A", False),
        ({"name": "B"}, "B", False),
        ({"name": "c"}, "B", False),
        ({"name": "C"}, "C", False),
    ]


def test_rows_of_one_change_may_get_different_values(call, hook):
    call("POST", "/rooms", [{"name": f"{number}"} for number in range(4)])

    def number(resource, event):
        if event.row.id % 2:
            event.values["name"] = f"odd {event.row.name}"

    hook("rooms", "before_save", number)
    answer = call("POST", "/rooms/update?where={}", {"name": "even"})

    assert answer.json == {"count": 4}
    names = [each["name"] for each in call("GET", "/rooms").json]
    assert names == ["odd 0", "even", "odd 2", "even"]


def count_physicians(*conditions):
    return db.session.scalar(select(func.count(Physician.id)).where(*conditions))


@pytest.mark.both_databases
def test_the_hooks_of_a_row_see_what_was_done_with_the_rows_before_it(call, hook):
    def at_most_two(resource, event):
        given = event.values["name"]
        if count_physicians(Physician.name == given) >= 2:
            raise AccessDenied(f"There are two called {given}.")

    def at_least_one(resource, event):
        if count_physicians() <= 1:
            raise AccessDenied("One must stay.")

    def names():
        return [each["name"] for each in call("GET", "/rooms/1/physicians").json]

    call("POST", "/rooms", {"name": "a"})
    hook("physicians", "before_save", at_most_two)
    hook("physicians", "before_delete", at_least_one)

    for number, status in [(3, 403), (2, 200), (1, 403)]:
        body = [{"name": "a", "roomId": 1}] * number
        assert call("POST", "/physicians", body).status_code == status
        assert names() == (["a", "a"] if number < 3 else [])
    call("POST", "/physicians", {"name": "b", "roomId": 1})
    for where, status in [("{}", 403), ('{"name":"a"}', 200)]:
        answer = call("POST", f"/physicians/update?where={where}", {"name": "c"})
        assert answer.status_code == status
        assert names() == (["a", "a", "b"] if status == 403 else ["c", "c", "b"])
    assert refusal(call("DELETE", "/rooms/1/physicians")) == (403, "ACCESS_DENIED")
    assert names() == ["c", "c", "b"]


def test_what_a_hook_leaves_is_checked_by_the_rules_of_the_schema(call, hook, caplog):
    left = {}

    def leave(resource, event):
        event.values.update(left)

    hook("physicians", "before_save", leave)
    for values, codes in [
        ({"name": "x" * 51}, {"name": ["invalid"]}),
        ({"name": None}, {"name": ["presence"]}),
        ({"room_id": 2**70}, {"roomId": ["invalid"]}),
    ]:
        left = values
        assert field_codes(call("POST", "/physicians", {"name": "a"})) == codes
    for values in ({"nam": "x"}, {"room_id": "nine"}):
        left = values
        assert call("POST", "/physicians", {"name": "a"}).status_code == 500
    assert "before_save gives a value to nam, which is no attribute" in caplog.text
    assert call("GET", "/physicians/count").json == {"count": 0}


@pytest.mark.parametrize(
    ("error", "status"),
    [(AccessDenied(), 403), (TooManyRequests(7), 429), (RuntimeError("a bug"), 500)],
    ids=["ours", "with a header", "another"],
)
def test_an_error_of_a_hook_is_answered_and_nothing_is_stored(call, hook, caplog, error, status):
    def refuse(resource, event):
        raise error

    call("POST", "/rooms", [{"name": "a"}, {"name": "b"}])
    call("POST", "/patients", {"name": "p"})
    before = call("GET", "/rooms").json
    for name in ("after_save", "after_delete"):
        hook("rooms", name, refuse)
    hook("visits", "after_save", refuse)
    calls = [
        ("POST", "/rooms", {"name": "c"}),
        ("PATCH", "/rooms/1", {"name": "c"}),
        ("POST", "/rooms/update?where={}", {"name": "c"}),
        ("DELETE", "/rooms/1", None),
        ("POST", "/rooms/1/visitors", {"name": "q"}),
    ]

    answers = [call(*each) for each in calls]

    assert [each.status_code for each in answers] == [status] * len(calls)
    assert call("GET", "/rooms").json == before
    assert call("GET", "/patients/count").json == {"count": 1}
    assert caplog.text.count("RuntimeError: a bug") == (len(calls) if status == 500 else 0)
    if status == 500:
        assert "failed to answer rooms.create" in caplog.text
    if status == 429:
        assert answers[0].headers["Retry-After"] == "7"


def test_a_hook_writes_in_the_transaction_and_acts_after_its_commit(call, hook, served):
    done = []

    def follow(resource, event):
        patients = served_collections.of(served)["patients"]
        patients.insert([{"name": event.values["name"], "owner_id": event.caller.user_id}])
        after_commit(lambda: done.append((event.values["name"], in_transaction())))
        if event.values["name"] == "b":
            raise AccessDenied()

    hook("rooms", "after_save", follow)
    answers = [call("POST", "/rooms", {"name": name}).status_code for name in ("a", "b")]

    assert answers == [200, 403]
    assert [each["name"] for each in call("GET", "/patients").json] == ["a"]
    assert done == [("a", False)]


def test_what_leaves_may_be_changed_and_only_there(call, hook, served):
    def mask(resource, event):
        event.values["name"] = f"{event.row.name[0]}…"

    call("POST", "/rooms", {"name": "secret"})
    call("POST", "/rooms/1/physicians", {"name": "A"})
    hook("rooms", "loaded", mask)

    for path in ("/rooms/1", "/physicians/1/room", "/rooms/findOne"):
        assert call("GET", path).json["name"] == "s…"
    assert call("GET", "/physicians/1?filter[include]=room").json["room"]["name"] == "s…"
    assert call("PATCH", "/rooms/1", {"name": "still"}).json["name"] == "s…"
    assert call("GET", '/rooms/count?where={"name":"still"}').json == {"count": 1}


def test_a_new_user_keeps_the_names_that_a_hook_gives_and_shows_no_password(call, hook, served):
    seen = []

    def name(resource, event):
        seen.append({**event.values})
        event.values["username"] = event.values["email"].partition("@")[0].upper()

    hook("users", "before_save", name)
    body = {"email": "Eve@Example.com", "password": PASSWORD}
    first, second = (
        call("POST", "/users", body),
        call("POST", "/users", {**body, "email": "eve@example.org"}),
    )
    hook("users", "before_save", lambda resource, event: event.values.update(email="x"))
    wrong = call("POST", "/users", {**body, "email": "joe@example.com"})

    assert first.json["username"] == "EVE"
    assert field_codes(second) == {"username": ["uniqueness"]}
    assert field_codes(wrong) == {"email": ["invalid"]}
    assert seen[0].keys() == {"email", "username", "realm", "email_verified"}
    with served.app_context():
        keys = db.session.scalars(select(User.username_key).order_by(User.id)).all()
    assert keys == [None, "eve"]


def test_a_hook_cannot_change_an_email_without_the_password_being_asked_for(call, hook):
    seen = []

    def move(resource, event):
        seen.append({**event.values})
        event.values["email"] = "mallory@example.com"

    hook("users", "before_save", move)
    answers = [
        call("PATCH", "/users/1", {"username": "ada"}),
        call("PATCH", "/users/1", {"email": "eve@example.com", "password": PASSWORD}),
    ]

    assert refusal(answers[0]) == (403, "ACCESS_DENIED")
    assert answers[1].json["email"] == "mallory@example.com"
    assert seen == [{"username": "ada"}, {"email": "eve@example.com"}]


def test_a_change_of_too_many_rows_is_refused_where_hooks_are_called_for_each(
    call, hook, monkeypatch
):
    monkeypatch.setattr("app.rest.rows.writer.MAX_ROWS", 2)
    call("POST", "/rooms", {"name": "a"})
    call("POST", "/physicians", [{"name": "a", "roomId": 1}] * 3)
    calls = [
        ("POST", "/physicians/update?where={}", {"name": "b"}),
        ("DELETE", "/rooms/1/physicians", None),
    ]
    hook("physicians", "before_save", lambda resource, event: None)
    hook("physicians", "before_delete", lambda resource, event: None)

    for each in calls:
        assert refusal(call(*each)) == (400, "TOO_MANY_ROWS")
    assert [each["name"] for each in call("GET", "/physicians").json] == ["a"] * 3
    assert call("POST", '/physicians/update?where={"id":1}', {"name": "b"}).json == {"count": 1}


@pytest.mark.both_databases
def test_concurrent_changes_wait_for_each_other_where_hooks_read_the_row(call, hook, served, token):
    def count(resource, event):
        event.values["name"] = event.row.name + "x"

    call("POST", "/rooms", {"name": ""})
    hook("rooms", "before_save", count)

    def change(client):
        headers = {"Authorization": token}
        return client.patch("/api/rooms/1", json={"name": "y"}, headers=headers)

    responses = at_once(served, *[change] * 6)

    assert [each.status_code for each in responses] == [200] * 6
    assert call("GET", "/rooms/1").json["name"] == "x" * 6


@pytest.mark.both_databases
def test_concurrent_registrations_with_hooks_make_one_user(hook, served):
    hook("users", "after_save", lambda resource, event: None)

    def register(client):
        body = {"email": "eve@example.com", "password": PASSWORD}
        return client.post("/api/users", json=body)

    responses = at_once(served, *[register] * 6)

    statuses = [each.status_code for each in responses]
    assert statuses.count(200) == 1
    assert set(statuses) <= {200, 409, 422}


def test_receivers_are_kept_and_called_in_order_and_a_copy_has_further_ones(app):
    rooms = hospital()["rooms"]
    calls = []

    def connect(resource, name):
        @resource.loaded.connect
        def receive(sender, event):
            calls.append(name)

    for number in range(5):
        connect(rooms, number)
    # A copy of a copy that is kept by nobody else.
    copied = replace(replace(rooms))
    connect(rooms, "original")
    connect(copied, "copy")
    rooms.loaded.send(rooms, event=None)
    copied.loaded.send(copied, event=None)

    assert calls == [*range(5), "original", *range(5), "original", "copy"]


class WardSchema(PatientSchema):
    """A schema that extends the one that the endpoint is declared with."""


def test_the_own_endpoint_of_a_copy_gets_and_shows_its_rows(served, call):
    rooms = hospital()["rooms"]

    @rooms.endpoint("open", WRITE, "POST /<id>/open", answer=PatientSchema)
    def open_room(room):
        return room

    @rooms.endpoint("all", WRITE, "POST /all", answer=[rooms.schema])
    def all_rooms():
        return [Room(id=7, name="any")]

    wards = replace(
        rooms,
        name="wards",
        singular="ward",
        model=Patient,
        schema=WardSchema,
        owner=Patient.owner_id,
        relations={},
    )
    wards.loaded.connect(lambda resource, event: event.values.update(name=f"{resource.name}!"))
    register_resource(served, wards)
    call("POST", "/patients", {"name": "p"})

    assert call("POST", "/wards/1/open").json == {"id": 1, "name": "wards!"}
    assert call("POST", "/wards/2/open").status_code == 404
    assert len(rooms.own_endpoints) == len(wards.own_endpoints) == 2


def listener(kind):
    """Return a new model that listens to SQLAlchemy in one way."""

    class Apart(DeclarativeBase):
        """Each has a registry of its own."""

    class Thing(Apart):
        __tablename__ = "things"

        id: Mapped[int] = mapped_column(RowId, primary_key=True)
        name: Mapped[str] = mapped_column(String(50))
        data: Mapped[dict] = mapped_column(MutableDict.as_mutable(Json(dict)))

        if kind == "validates":

            @validates("name")
            def check(self, key, value):
                return value

    def listen(*arguments):
        """Do nothing."""

    if kind in ("set", "init_scalar"):
        event.listen(Thing.name, kind, listen)
    elif kind not in ("validates", "nothing"):
        event.listen(Thing, kind, listen)
    return Thing


def test_listeners_that_would_never_be_called_stop_the_start(make_app):
    app = make_app()
    for kind, said in [
        ("before_insert", "a listener for before_insert"),
        ("after_update", "a listener for after_update"),
        ("before_delete", "a listener for before_delete"),
        ("load", "a listener for load"),
        ("set", "a listener for set of name"),
        ("init_scalar", "a listener for init_scalar of name"),
        ("validates", "@validates for name"),
    ]:
        things = Resource("things", "thing", listener(kind), RoomSchema, lambda settings: [])
        with pytest.raises(ConfigurationError, match=f"the model of things has {said}, which"):
            register_resource(app, things)
    register_resource(app, replace(things, model=listener("nothing")))


class RoomSchema(Schema):
    id = fields.Integer(dump_only=True)


def test_the_hooks_of_the_document_work_as_printed(serve_notes, capsys):  # noqa: F811
    [code] = blocks("docs/hooks.md", "python")[:1]
    api = serve_notes(code)
    token = api.logged_in()

    created = api("POST", "/notes", {"text": f" a  {'x' * 100}", "stars": 1}, token=token).json
    refused = api("DELETE", "/notes/1", token=token)

    assert created["text"] == f"a {'x' * 78}"
    assert refused.json["message"] == "Notes with stars are not deleted."
    assert capsys.readouterr().out == "saved 1\n"


def test_the_relation_of_the_document_is_added_to_users(serve_notes):  # noqa: F811
    code = blocks("docs/relations.md", "python")[0]
    api = serve_notes(code)
    token = api.logged_in()

    made = api("POST", "/users/1/notes", {"text": "a"}, token=token).json

    assert api("GET", "/users/1/notes", token=token).json == [made]


CALLS_AT_ONCE = 20


@pytest.mark.both_databases
def test_the_hook_of_the_document_that_counts_is_passed_by_no_array_and_no_race(
    serve_notes,  # noqa: F811
    database_url,
):
    [code] = blocks("docs/hooks.md", "python", "Hooks that count")
    api = serve_notes(code, {"THREADS": CALLS_AT_ONCE})
    app, token = api.client.application, api.logged_in()
    client, headers = app.test_client(), {"Authorization": token}
    barrier = Barrier(CALLS_AT_ONCE)

    def wait_for_all(resource, event):
        # SQLite lets one write at a time.
        if event.row.text == "b" and database_url.startswith("postgresql"):
            barrier.wait(timeout=60)

    def create(client, body):
        return client.post("/api/notes", json=body, headers=headers)

    def texts():
        return [each["text"] for each in client.get("/api/notes", headers=headers).json]

    # Called first: each request has stored its row, and none has committed.
    hook = served_collections.of(app)["notes"].resource.after_save
    limit = next(iter(hook.receivers_for(None)))
    hook.disconnect(limit)
    hook.connect(wait_for_all)
    hook.connect(limit)
    array = create(client, [{"text": "a", "stars": 1}] * CALLS_AT_ONCE)
    after_array = texts()
    race = at_once(app, *[lambda each: create(each, {"text": "b", "stars": 1})] * CALLS_AT_ONCE)
    unstarred = create(client, {"text": "c"}).json
    path = f"/api/notes/{unstarred['id']}"
    starred = client.patch(path, json={"stars": 1}, headers=headers)

    assert refusal(array) == (403, "ACCESS_DENIED")
    assert array.json["message"] == "There are five notes with stars."
    assert after_array == []
    assert sorted(each.status_code for each in race) == [200] * 5 + [403] * 15
    assert refusal(starred) == (403, "ACCESS_DENIED")
    assert texts() == ["b"] * 5 + ["c"]


def test_a_row_is_locked_in_a_transaction_only(app):
    with app.app_context(), pytest.raises(RuntimeError, match="there is none"):
        users.lock(1)
