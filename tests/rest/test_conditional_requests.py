"""Conditional requests: the `ETag` of rows, `If-None-Match` on reads, `If-Match` on changes."""

from collections import Counter
from contextlib import ExitStack

import pytest
from sqlalchemy import update

from app.access.rules import EVERYONE, OWNER, allow
from app.database.session import db
from app.rest.collection import served_collections
from app.rest.resource import Resource
from app.rest.views.representations import MAX_TAGS_LENGTH
from app.todos.models import Todo
from app.users.models import User
from tests.conftest import PASSWORD
from tests.definitions.conftest import make_models, write_models  # noqa: F401 fixtures
from tests.support.answers import field_codes, refusal
from tests.support.races import at_once
from tests.support.rows import expire, make_admin, make_old

from . import samples
from .clinic import Base, Room, RoomSchema

STALE = '"0123456789abcdef0123456789abcdef"'
FAILED = (412, "PRECONDITION_FAILED")
CROWD = 6
# The calls that change the to-do with the id 1, each with its body.
CHANGES = [
    ("PATCH", "/todos/1", {"title": "b"}),
    ("PATCH", "/todos/1", {}),
    ("PUT", "/todos/1", {"title": "b"}),
    ("POST", "/todos/1/replace", {"title": "b"}),
    ("DELETE", "/todos/1", None),
    ("PATCH", "/todos", {"id": 1, "title": "b"}),
    ("PUT", "/todos", {"id": 1, "title": "b"}),
    ("POST", "/todos/replaceOrCreate", {"id": 1, "title": "b"}),
    ("POST", "/todos/upsertWithWhere?where[title]=a", {"title": "b"}),
    ("PUT", "/users/1/todos/1", {"title": "b"}),
    ("DELETE", "/users/1/todos/1", None),
]


@pytest.fixture
def call(api, token):
    """Call the API as Ada, who is 1, or somebody else, with headers."""

    def send(verb, path, body=None, caller=token, **headers):
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        return api(verb, path, body, token=caller, headers=given)

    return send


@pytest.fixture
def todo(call):
    """A to-do of Ada's with the id 1; its tag."""
    created = call("POST", "/todos", {"title": "a"})
    assert created.json["id"] == 1
    return created.headers["ETag"]


@pytest.fixture
def read(call):
    """Read the to-do with the id 1, without conditions."""
    return lambda: call("GET", "/todos/1").json


def test_every_answer_of_one_row_has_the_same_strong_tag(call, todo):
    answers = [
        call("GET", "/todos/1"),
        call("HEAD", "/todos/1"),
        call("GET", "/todos/1?filter[fields]=title"),
        call("GET", "/todos/findOne?filter[fields]=id"),
        call("GET", "/users/1/todos/1"),
        call("PATCH", "/todos/1", {"title": "a"}),
        call("PATCH", "/todos/1", {}),
        call("PUT", "/todos/1", {"title": "a"}),
    ]

    assert {answer.headers["ETag"] for answer in answers} == {todo}
    assert todo.startswith('"')
    assert answers[2].json == {"title": "a"}
    assert answers[1].headers["Content-Length"] == answers[0].headers["Content-Length"]


@pytest.mark.both_databases
def test_rows_that_differ_and_changed_rows_have_other_tags(call, todo):
    other = call("POST", "/todos", {"title": "a"}).headers["ETag"]
    changed = call("PATCH", "/todos/1", {"desc": "b"}).headers["ETag"]

    assert len({todo, other, changed}) == 3
    assert call("GET", "/todos/1").headers["ETag"] == changed


@pytest.mark.both_databases
def test_lists_and_rows_with_others_included_have_no_tag(call, todo):
    answers = [
        call("GET", "/todos"),
        call("POST", "/todos", [{"title": "b"}]),
        call("GET", "/todos/1?filter[include]=owner", If_None_Match=todo),
        call("GET", "/todos/1/exists"),
        call("GET", "/todos/count"),
    ]

    assert [answer.status_code for answer in answers] == [200] * 5
    assert not any("ETag" in answer.headers for answer in answers)


@pytest.mark.parametrize(
    ("verb", "path"),
    [
        ("GET", "/todos/1"),
        ("HEAD", "/todos/1"),
        ("GET", "/todos/1?filter[fields]=id"),
        ("GET", "/todos/findOne"),
        ("GET", "/users/1/todos/1"),
    ],
)
def test_a_read_of_what_the_client_has_is_304(call, todo, verb, path):
    for form in ("{}", "W/{}", '"x", W/"y" ,{}', "*", ",, {}"):
        answer = call(verb, path, If_None_Match=form.format(todo))

        assert (answer.status_code, answer.data) == (304, b""), form
        assert answer.headers["ETag"] == todo
        assert answer.headers["Cache-Control"] == "no-store"
        assert "Content-Type" not in answer.headers


def test_a_read_of_anything_else_is_answered(call, todo, read):
    for sent in (STALE, "", '"', '"a', 'W/"a", b', "é", '"a" "b"', ",,,", "**"):
        answer = call("GET", "/todos/1", If_None_Match=sent)

        assert (answer.status_code, answer.headers["ETag"]) == (200, todo), sent
        assert answer.json == read()


def test_a_read_after_a_change_is_answered(call, todo):
    call("PATCH", "/todos/1", {"title": "b"})

    assert call("GET", "/todos/1", If_None_Match=todo).json["title"] == "b"


@pytest.mark.parametrize("form", ['"x", {}', "*"])
@pytest.mark.parametrize(("verb", "path", "body"), CHANGES)
def test_a_change_of_the_row_that_was_read_is_done(call, todo, verb, path, body, form):
    answer = call(verb, path, body, If_Match=form.format(todo))

    assert answer.status_code in (200, 204)
    left = call("GET", "/todos/1")
    if verb == "DELETE":
        assert left.status_code == 404
    else:
        assert left.json["title"] == (body or {}).get("title", "a")
        assert answer.headers["ETag"] == left.headers["ETag"]


@pytest.mark.parametrize(("verb", "path", "body"), CHANGES)
def test_a_change_of_another_row_than_was_read_is_412(call, todo, read, verb, path, body):
    before = read()

    for sent in (STALE, "W/{}", "", '"', "é", f"{STALE},{STALE}", "**"):
        answer = call(verb, path, body, If_Match=sent.format(todo))
        assert refusal(answer) == FAILED, sent
    for sent in ("{}", "W/{}", "*"):
        answer = call(verb, path, body, If_None_Match=sent.format(todo))
        assert refusal(answer) == FAILED, sent
    assert read() == before


def test_a_change_overtaken_by_another_is_412(call, todo, read):
    first = call("PATCH", "/todos/1", {"title": "first"}, If_Match=todo)
    second = call("PATCH", "/todos/1", {"title": "second"}, If_Match=todo)

    assert first.status_code == 200
    assert refusal(second) == FAILED
    assert read()["title"] == "first"
    again = call("PATCH", "/todos/1", {"title": "second"}, If_Match=first.headers["ETag"])
    assert again.json["title"] == "second"


@pytest.mark.both_databases
def test_a_whole_object_that_was_overtaken_is_412_whatever_it_echoes(app, call, todo, read):
    body = read()
    with app.app_context():
        db.session.execute(update(Todo).values(created=Todo.created, is_complete=True, owner_id=1))
        db.session.commit()

    assert refusal(call("PUT", "/todos/1", {**body, "ownerId": 2}, If_Match=todo)) == FAILED


@pytest.mark.parametrize(
    ("verb", "path", "body"),
    [
        ("PATCH", "/users", {"email": "new@example.com", "password": PASSWORD}),
        ("PUT", "/users", {"email": "new@example.com", "password": PASSWORD}),
        (
            "POST",
            "/users/upsertWithWhere?where[email]=new@example.com",
            {"email": "new@example.com", "password": PASSWORD},
        ),
    ],
)
def test_an_upsert_of_a_row_that_must_exist_creates_none(app, call, verb, path, body):
    make_admin(app)

    assert refusal(call(verb, path, body, If_Match="*")) == FAILED
    created = call(verb, path, body, If_None_Match="*")

    assert created.json["id"] == 2
    assert created.headers["ETag"] == call("GET", "/users/2").headers["ETag"]


@pytest.mark.parametrize("header", ["If-Match", "If-None-Match"])
def test_too_many_tags_are_refused(call, todo, read, header):
    sent = {header: ",".join([STALE] * (MAX_TAGS_LENGTH // len(STALE) + 1))}
    verb, body = ("GET", None) if header == "If-None-Match" else ("PATCH", {"title": "b"})

    answer = call(verb, "/todos/1", body, **sent)

    assert refusal(answer) == (400, "BAD_REQUEST")
    assert answer.json["message"] == f"{header} has more than {MAX_TAGS_LENGTH} characters."
    assert read()["title"] == "a"


def test_a_call_without_preconditions_ignores_the_headers(call, todo):
    tags = ",".join([STALE] * 100)

    created = call("POST", "/todos", {"title": "b"}, If_Match=tags, If_None_Match=tags)
    listed = call("GET", "/todos", If_Match=STALE, If_None_Match="*")
    read = call("GET", "/todos/2", If_Match=STALE)

    assert [created.json] == listed.json[1:] == [read.json]


def test_a_value_that_is_taken_is_told_with_a_precondition_too(call, api, token):
    api.register("bob@example.com", username="bob")

    answer = call("PATCH", "/users/1", {"username": "bob"}, If_Match="*")

    assert field_codes(answer) == {"username": ["uniqueness"]}


@pytest.mark.parametrize(("verb", "path", "body"), CHANGES)
def test_permissions_come_before_preconditions(app, call, todo, api, verb, path, body):
    bob, old = api.logged_in("bob@example.com"), api.logged_in("old@example.com")
    expire(app, old)

    answers = [call(verb, path, body, caller, If_Match=STALE) for caller in (None, old, bob)]

    assert [answer.status_code for answer in answers[:2]] == [401, 401]
    assert answers[2].status_code in (403, 404)


def test_a_row_that_does_not_exist_is_404(call, token):
    answers = [call(verb, "/todos/9", {}, If_Match="*") for verb in ("PATCH", "PUT", "DELETE")]

    assert {refusal(answer) for answer in answers} == {(404, "MODEL_NOT_FOUND")}


@pytest.mark.both_databases
def test_with_compatibility_a_deleted_row_is_no_error(app, shared_app, todo, token):
    make_admin(app)
    client = shared_app(COMPATIBILITY="loopback3").test_client()
    headers = {"Authorization": token, "If-Match": STALE}

    assert refusal(client.delete("/api/todos/1", headers=headers)) == FAILED
    assert client.delete("/api/todos/9", headers=headers).json == {"count": 0}


@pytest.mark.both_databases
def test_of_concurrent_changes_of_what_was_read_one_wins(app, call, todo, token, read):
    def change(number):
        body, headers = {"title": f"t{number}"}, {"Authorization": token, "If-Match": todo}
        return lambda client: client.patch("/api/todos/1", json=body, headers=headers)

    answers = at_once(app, *map(change, range(CROWD)))

    assert Counter(answer.status_code for answer in answers) == {200: 1, 412: CROWD - 1}
    [won] = [answer.json for answer in answers if answer.status_code == 200]
    assert read() == won


@pytest.mark.both_databases
def test_of_a_concurrent_change_and_deletion_of_what_was_read_one_wins(app, call, todo, token):
    headers = {"Authorization": token, "If-Match": todo}

    deleted, changed = at_once(
        app,
        lambda client: client.delete("/api/todos/1", headers=headers),
        lambda client: client.patch("/api/todos/1", json={"title": "b"}, headers=headers),
    )

    # A row that is deleted is found by nobody.
    expected = {(200, 404): 404, (412, 200): 200}
    left = call("GET", "/todos/1").status_code
    assert expected[deleted.status_code, changed.status_code] == left


def test_users_are_changed_and_deleted_as_they_were_read(app, call, token):
    read = call("GET", "/users/1").headers["ETag"]
    changed = call("PATCH", "/users/1", {"username": "ada"}, If_Match=read)

    assert changed.headers["ETag"] == call("GET", "/users/1").headers["ETag"] != read
    assert refusal(call("PUT", "/users/1", {"email": "b@example.com"}, If_Match=read)) == FAILED
    assert refusal(call("DELETE", "/users/1", If_Match=read)) == FAILED
    assert call("GET", "/users/1").json["username"] == "ada"
    assert call("DELETE", "/users/1", If_Match=changed.headers["ETag"]).json == {"count": 1}


@pytest.mark.both_databases
def test_of_concurrent_changes_of_a_user_one_wins(app, call, token):
    read = call("GET", "/users/1").headers["ETag"]

    def change(number):
        headers = {"Authorization": token, "If-Match": read}
        return lambda client: client.patch(
            "/api/users/1", json={"username": f"ada{number}"}, headers=headers
        )

    answers = at_once(app, *map(change, range(CROWD)))

    assert Counter(answer.status_code for answer in answers) == {200: 1, 412: CROWD - 1}


def test_a_registered_user_has_the_tag_that_is_read_later(app, api, call, token):
    make_admin(app)
    created = call("POST", "/users", {"email": "bob@example.com", "password": PASSWORD})

    assert call("GET", "/users/2").headers["ETag"] == created.headers["ETag"]


@pytest.mark.both_databases
def test_hidden_properties_are_not_in_the_tag(app, call, token):
    before = call("GET", "/users/1").headers["ETag"]
    with app.app_context():
        db.session.execute(update(User).values(password_hash="another"))
        db.session.commit()

    assert call("GET", "/users/1").headers["ETag"] == before


def test_wrong_passwords_are_counted_whatever_the_tag_is(app, shared_app, api, token):
    client = shared_app(THROTTLE_ENABLED=True).test_client()
    make_old(app, token)
    headers = {"Authorization": token}
    read = client.get("/api/users/1", headers=headers).headers["ETag"]
    body = {"email": "new@example.com", "password": "wrong"}

    answers = [
        client.patch("/api/users/1", json=body, headers={**headers, "If-Match": read})
        for _ in range(8)
    ]

    statuses = [answer.status_code for answer in answers]
    assert statuses == sorted(statuses)
    assert (statuses[0], statuses[-1]) == (400, 429)


def test_values_of_every_type_have_the_tag_that_is_read_later(serve):
    client = serve(samples.Base.metadata, samples.make_resource()).test_client()

    for number, row in enumerate(samples.ROWS, 1):
        created = client.post("/api/samples", json=row)
        read = client.get(f"/api/samples/{number}")
        replaced = client.put(
            f"/api/samples/{number}", json=row, headers={"If-Match": created.headers["ETag"]}
        )
        tags = {answer.headers["ETag"] for answer in (created, read, replaced)}
        assert tags == {created.headers["ETag"]}


def test_a_precondition_comes_before_the_hooks(clinic):
    make_admin(clinic.app)
    clinic("POST", "/rooms", {"name": "a"})
    read = clinic("GET", "/rooms/1").headers["ETag"]
    client, told = clinic.app.test_client(), []
    rooms = served_collections.of(clinic.app)["rooms"].resource

    def note(resource, event):
        told.append(event.row.name)

    def change(verb, tag, body=None):
        headers = {**clinic.headers, "If-Match": tag}
        return client.open("/api/rooms/1", method=verb, json=body, headers=headers)

    with ExitStack() as connected:
        for name in ("before_save", "after_save", "before_delete", "after_delete"):
            connected.enter_context(getattr(rooms, name).connected_to(note))
        assert refusal(change("PATCH", STALE, {"name": "b"})) == FAILED
        assert refusal(change("DELETE", STALE)) == FAILED
        assert told == []
        changed = change("PATCH", read, {"name": "b"})
        assert told == ["a", "b"]
        assert change("DELETE", changed.headers["ETag"]).json == {"count": 1}
        assert told == ["a", "b", "b", "b"]


def test_the_tag_is_of_what_a_receiver_leaves_the_caller(clinic):
    make_admin(clinic.app)
    clinic("POST", "/rooms", {"name": "a"}, clinic.bob)
    rooms = served_collections.of(clinic.app)["rooms"].resource

    def hide_name(resource, event):
        if event.caller.user_id != 1:
            event.values.pop("name")

    def read_as(*caller):
        return clinic("GET", "/rooms/1", None, *caller).headers["ETag"]

    with rooms.loaded.connected_to(hide_name):
        ada, bob = read_as(), read_as(clinic.bob)
        clinic("PATCH", "/rooms/1", {"name": "b"})
        after = read_as(clinic.bob)
        headers = {"Authorization": clinic.bob, "If-Match": bob}
        changed = clinic.app.test_client().patch(
            "/api/rooms/1", json={"name": "c"}, headers=headers
        )

    assert after == bob != ada
    assert changed.status_code == 200


@pytest.mark.both_databases
def test_relations_to_one_row_are_conditional_too(clinic):
    make_admin(clinic.app)
    clinic("POST", "/physicians", {"name": "Ada"})
    created = clinic("POST", "/physicians/1/badge", {"text": "a"}).headers["ETag"]
    client = clinic.app.test_client()

    def send(verb, body=None, **headers):
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        return client.open(
            "/api/physicians/1/badge", method=verb, json=body, headers={**clinic.headers, **given}
        )

    assert send("GET", If_None_Match=created).status_code == 304
    assert clinic("GET", "/badges/1").headers["ETag"] == created
    changed = send("PUT", {"text": "b"}, If_Match=created)
    assert refusal(send("PUT", {"text": "c"}, If_Match=created)) == FAILED
    assert refusal(send("DELETE", If_Match=created)) == FAILED
    assert clinic("GET", "/badges/1").json["text"] == "b"
    assert send("DELETE", If_Match=changed.headers["ETag"]).status_code == 204


@pytest.mark.both_databases
def test_who_may_ask_whether_a_row_exists_gets_no_tag_of_it(serve, api, token):
    rules = [allow(EVERYONE, "exists", "create"), allow(OWNER)]
    rooms = Resource("rooms", "room", Room, RoomSchema, lambda settings: rules, Room.owner_id)
    client = serve(Base.metadata, rooms).test_client()
    headers = {"Authorization": token}
    created = client.post("/api/rooms", json={"name": "a"}, headers=headers)

    stranger, owner = client.head("/api/rooms/1"), client.head("/api/rooms/1", headers=headers)

    assert (stranger.status_code, stranger.headers.get("ETag")) == (200, None)
    assert owner.headers["ETag"] == created.headers["ETag"]
    assert client.head("/api/rooms/2").status_code == 404


MODELS = {
    "book": {
        "name": "Book",
        "properties": {
            "title": {"type": "string", "required": True},
            "place": "geopoint",
            "more": "object",
            "secret": {"type": "string", "hidden": True},
        },
        "strict": False,
        "hidden": ["shelfId"],
        "relations": {
            "shelf": {"type": "belongsTo", "model": "Shelf", "foreignKey": "shelfId"},
        },
        "acls": [{"principalType": "ROLE", "principalId": "$everyone", "permission": "ALLOW"}],
    },
    "shelf": {
        "name": "Shelf",
        "properties": {"name": "string"},
        "relations": {"books": {"type": "hasMany", "model": "Book", "foreignKey": "shelfId"}},
        "acls": [{"principalType": "ROLE", "principalId": "$everyone", "permission": "ALLOW"}],
    },
}


@pytest.fixture
def books(make_models):  # noqa: F811
    """A client of books and shelves; two shelves, and a book on the first."""
    client = make_models(MODELS).test_client()
    shelves = [client.post("/api/shelves", json={"name": name}) for name in "ab"]
    assert [shelf.status_code for shelf in shelves] == [200, 200]
    body = {"title": "Emma", "place": "1,2", "more": {"b": 1, "a": [2]}, "year": 1815}
    created = client.post("/api/books", json={**body, "shelfId": 1, "secret": "s"})
    assert created.status_code == 200, created.json
    return client


def test_rows_of_a_model_in_json_are_changed_as_they_were_read(books):
    read = books.get("/api/books/1").headers["ETag"]

    changed = books.patch("/api/books/1", json={"pages": 3}, headers={"If-Match": read})
    overtaken = books.patch("/api/books/1", json={"pages": 4}, headers={"If-Match": read})

    assert changed.json["pages"] == 3
    assert refusal(overtaken) == FAILED
    again = books.get("/api/books/1", headers={"If-None-Match": changed.headers["ETag"]})
    assert again.status_code == 304
    tag = changed.headers["ETag"]
    assert books.delete("/api/books/1", headers={"If-Match": tag}).json == {"count": 1}


@pytest.mark.both_databases
def test_hidden_and_withheld_properties_of_a_model_in_json_are_not_in_the_tag(books):
    read = books.get("/api/books/1").headers["ETag"]

    hidden = books.patch("/api/books/1", json={"secret": "t"})
    moved = books.patch("/api/books/1", json={"shelfId": 2})

    assert (hidden.status_code, moved.status_code) == (200, 200)
    assert {answer.headers["ETag"] for answer in (hidden, moved)} == {read}
    assert books.get("/api/books/1/shelf").headers["ETag"]


def test_a_refused_body_is_told_after_the_precondition(call, todo):
    assert refusal(call("PATCH", "/todos/1", {"title": ""}, If_Match=STALE)) == FAILED
    assert field_codes(call("PATCH", "/todos/1", {"title": ""}, If_Match=todo))
