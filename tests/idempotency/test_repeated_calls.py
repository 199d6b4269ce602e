"""A request that is sent again with its key is done once, and answered in the same way."""

from datetime import timedelta
from io import BytesIO

import pytest
from sqlalchemy import func, select
from werkzeug.exceptions import Conflict

from app.access.roles import grant
from app.audit.models import AuditRecord
from app.database.purging import purger
from app.database.session import db
from app.rest.collection import served_collections
from app.times import now
from app.todos.models import Todo
from app.users.models import User
from tests.conftest import PASSWORD, Api
from tests.definitions.conftest import make_models, serve, write_models  # noqa: F401 fixtures
from tests.definitions.library import OPEN
from tests.support.answers import field_codes, refusal
from tests.support.rows import count, expire, put_into_past, statements

from .conftest import KEYED, is_replayed

TODO = {"title": "water the plants"}
NEWCOMER = {"email": "bob@example.com", "password": PASSWORD}


def is_same(answer, again):
    """Tell whether an answer repeats another one: the status, the body and what belongs to it."""
    headers = [
        (each.headers.get("ETag"), each.headers.get("Content-Type")) for each in (answer, again)
    ]
    same = answer.status_code == again.status_code and answer.data == again.data
    return same and headers[0] == headers[1] and is_replayed(again) and not is_replayed(answer)


@pytest.mark.both_databases
def test_each_call_of_rows_is_done_once(app, call):
    with app.app_context():
        grant(1, "admin")
    calls = [
        ("POST", "/todos", TODO),
        ("POST", "/todos", [TODO, TODO]),
        ("PATCH", "/todos/1", {"desc": "all"}),
        ("PUT", "/todos/1", {"title": "feed the cat"}),
        ("POST", "/todos/1/replace", {"title": "feed the cats"}),
        ("PATCH", "/todos", {"id": 1, "desc": "some"}),
        ("PUT", "/todos", {"title": "replaced or created"}),
        ("POST", '/todos/upsertWithWhere?where={"id":2}', {"desc": "few"}),
        ("POST", '/todos/update?where={"desc":null}', {"isComplete": True}),
        ("POST", "/users/1/todos", TODO),
        ("PUT", "/users/1/todos/2", {"desc": "none"}),
        ("DELETE", "/users/1/todos/2", None),
        ("DELETE", "/todos/1", None),
        ("PATCH", "/users/1", {"username": "ada"}),
    ]
    for number, (verb, path, body) in enumerate(calls):
        first = call(verb, path, body, f"{number}")
        rows = call("GET", "/todos").data
        again = call(verb, path, body, f"{number}")

        assert first.status_code in (200, 204), (verb, path, first.json)
        assert is_same(first, again), (verb, path)
        assert call("GET", "/todos").data == rows, (verb, path)
    assert count(app, Todo) == 3


@pytest.mark.both_databases
def test_a_repeated_answer_writes_nothing_but_reads_its_record(app, call, token):
    call("PATCH", "/users/1", {"username": "ada"})
    records = count(app, AuditRecord)
    app.test_client().get("/api/todos")

    with statements(app) as sent:
        assert is_replayed(call("PATCH", "/users/1", {"username": "ada"}))

    assert len(sent) == 3
    assert sent[1].startswith("INSERT INTO idempotent_calls")
    assert sent[2].startswith("SELECT idempotent_calls")
    assert count(app, AuditRecord) == records


def test_a_call_without_a_key_sends_the_same_statements_as_without_the_setting(
    app, shared_app, api, token
):
    sent = []
    for each in (app, shared_app()):
        with statements(each) as found:
            each.test_client().post("/api/todos", json=TODO, headers={"Authorization": token})
        sent.append([text.split()[0] for text in found])

    assert sent == [["SELECT", "INSERT"]] * 2


def test_the_answer_is_the_first_one_whatever_happened_to_the_row(call):
    first = call("POST", "/todos", TODO)
    call("PATCH", "/todos/1", {"title": "changed"}, "another")
    assert is_same(first, call("POST", "/todos", TODO))
    call("DELETE", "/todos/1", key="third")

    assert is_same(first, call("POST", "/todos", TODO))
    assert call("GET", "/todos").json == []


def test_another_body_or_precondition_is_refused(call):
    call("POST", "/todos", TODO)

    for body in ({**TODO, "desc": "x"}, {}, [TODO], None):
        answer = call("POST", "/todos", body)
        assert refusal(answer) == (422, "IDEMPOTENCY_KEY_REUSED"), body
    for header in ("If-Match", "If-None-Match"):
        answer = call("POST", "/todos", TODO, headers={header: '"x"'})
        assert refusal(answer) == (422, "IDEMPOTENCY_KEY_REUSED"), header


def test_another_method_path_or_query_is_another_call(call):
    call("POST", "/todos", TODO)
    call("POST", "/todos", TODO, "k")
    answers = [
        call("PATCH", "/todos/1", TODO),
        call("PATCH", "/todos/2", TODO),
        call("PUT", "/todos/1", TODO),
        call("POST", "/users/1/todos", TODO),
        call("POST", "/todos?x=1", TODO),
        call("POST", "/todos?x=2", TODO),
        call("POST", "/todos", TODO, "K"),
    ]

    assert [answer.status_code for answer in answers] == [200] * 7
    assert not any(map(is_replayed, answers))
    # The name of a collection may be written in any case.
    assert is_replayed(call("POST", "/Todos", TODO))


def test_a_token_in_the_query_is_no_part_of_the_call(call, api, token, secrets):
    other = api.login()["id"]
    first = call("POST", f"/todos?access_token={token}&x=1", TODO, token=None)

    again = call("POST", f"/todos?x=1&access_%74oken={other}", TODO, token=None)
    third = call("POST", "/todos?x=1", TODO)

    assert first.status_code == 200
    assert is_same(first, again)
    assert is_same(first, third)


def test_a_key_belongs_to_a_user(call, api):
    bob = api.logged_in("bob@example.com")
    first, other = call("POST", "/todos", TODO), call("POST", "/todos", TODO, token=bob)

    assert (first.json["ownerId"], other.json["ownerId"]) == (1, 2)
    assert not is_replayed(other)
    assert is_replayed(call("POST", "/todos", TODO, token=bob))


@pytest.mark.both_databases
def test_errors_are_not_kept(call, stored, api):
    bob = api.logged_in("bob@example.com")
    api("POST", "/todos", TODO, token=bob)
    etag = {"If-Match": '"old"'}
    call("POST", "/todos", TODO, "mine")
    for verb, path, body, status, headers in [
        ("POST", "/todos", {"title": ""}, 422, {}),
        ("POST", "/todos", "text", 400, {}),
        ("PATCH", "/todos/9", TODO, 404, {}),
        ("DELETE", "/todos/1", None, 404, {}),
        ("PATCH", "/todos/2", TODO, 412, etag),
        ("POST", "/todos/update", TODO, 400, {}),
    ]:
        for _ in range(2):
            answer = call(verb, path, body, headers=headers)
            assert answer.status_code == status, (verb, path)
            assert not is_replayed(answer)
    assert len(stored()) == 1
    assert call("POST", "/todos", TODO).status_code == 200


def test_a_caller_without_a_valid_token_or_permission_gets_no_repeated_answer(
    shared_app, app, call, token
):
    call("POST", "/todos", TODO)
    rules = {"todos": [{"principalType": "ROLE", "principalId": "$everyone", "permission": "DENY"}]}
    denying = shared_app(IDEMPOTENCY_TTL=86400, ACLS=rules).test_client()
    headers = {**KEYED, "Authorization": token}

    assert denying.post("/api/todos", json=TODO, headers=headers).status_code == 403
    assert refusal(call("POST", "/todos", TODO, token=None))[0] == 401
    expire(app, token)
    assert refusal(call("POST", "/todos", TODO)) == (401, "INVALID_TOKEN")


def test_a_repeated_answer_of_a_relation_takes_the_permission_for_its_target(
    shared_app, call, token
):
    assert call("POST", "/users/1/todos", TODO).status_code == 200
    rules = [
        {"principalType": "ROLE", "principalId": "$everyone", "permission": "DENY"},
        {"principalType": "ROLE", "principalId": "$owner", "permission": "ALLOW"}
        | {"property": ["findById"]},
    ]
    denying = shared_app(IDEMPOTENCY_TTL=86400, ACLS={"todos": rules}).test_client()

    answer = denying.post(
        "/api/users/1/todos", json=TODO, headers={**KEYED, "Authorization": token}
    )

    assert answer.status_code == 403
    assert answer.json["error"]["details"] == {"relation": "todos"}


def test_a_personal_token_repeats_what_its_scopes_allow(shared_app, api, token, secrets):
    client = shared_app(IDEMPOTENCY_TTL=60, PERSONAL_TOKENS={}).test_client()

    def post(value):
        headers = {**KEYED, "Authorization": value}
        return client.post("/api/todos", json=TODO, headers=headers)

    def personal(*words):
        body = {"name": f"{words}", "scopes": {"todos": words}}
        headers = {"Authorization": token}
        made = client.post("/api/users/1/personalTokens", json=body, headers=headers)
        secrets.append(made.json["token"])
        return secrets[-1]

    first = post(token)

    assert is_same(first, post(personal("create")))
    assert refusal(post(personal("find"))) == (403, "INSUFFICIENT_SCOPE")


def test_the_records_of_a_user_are_deleted_with_the_user(call, api, stored):
    call("POST", "/todos", TODO)
    call("POST", "/todos", TODO, token=api.logged_in("bob@example.com"))

    assert call("DELETE", "/users/1").json == {"count": 1}
    assert [row["user_id"] for row in stored()] == [2]


@pytest.mark.both_databases
def test_an_answer_is_kept_for_as_long_as_the_setting_says(app, call, stored, change):
    first = call("POST", "/todos", TODO)
    [row] = stored()
    assert timedelta(seconds=86399) < row["expires_at"] - row["started"] <= timedelta(days=1)

    change(expires_at=now() - timedelta(seconds=1))
    second = call("POST", "/todos", {"title": "another body"})
    assert second.json["id"] == first.json["id"] + 1
    assert is_same(second, call("POST", "/todos", {"title": "another body"}))

    put_into_past(app, "idempotent_calls", "expires_at")
    purger.of(app).purge_some()
    assert stored() == []


def test_keys_bodies_and_passwords_are_not_stored(call, stored, shared_app):
    key = "a-key-that-is-not-stored"
    call("POST", "/todos", {"title": "x"}, key)
    call("PATCH", "/users/1", {"email": "a@example.com", "password": PASSWORD}, key)
    call("POST", "/users", NEWCOMER, key, token=None)

    assert len(stored()) == 3
    assert key not in str(stored())


def test_a_body_may_be_a_form_or_arrive_in_chunks(app, call, token):
    form = {"data": "title=tea", "content_type": "application/x-www-form-urlencoded"}
    first, again = (call("POST", "/todos", **form) for _ in range(2))
    assert first.json["title"] == "tea"
    assert is_same(first, again)

    headers = {"Idempotency-Key": "chunks", "Authorization": token}
    answers = [
        app.test_client().post(
            "/api/todos",
            input_stream=BytesIO(body),
            content_type="application/json",
            headers=headers,
            environ_overrides={"wsgi.input_terminated": True, "CONTENT_LENGTH": ""},
        )
        for body in (b'{"title": "x"}', b'{"title": "x"}', b'{"title": "y"}', b"x" * 200_000)
    ]
    assert is_same(*answers[:2])
    assert [answer.status_code for answer in answers[2:]] == [422, 413]


def test_a_body_of_another_type_is_refused_as_without_a_key(call, stored):
    answer = call("POST", "/todos", data={"title": "x"}, content_type="multipart/form-data")

    assert answer.status_code == 415
    assert stored() == []


# Registration


@pytest.mark.both_databases
def test_a_registration_is_done_once_and_its_repeated_answer_shows_no_account(app, call):
    first = call("POST", "/users", NEWCOMER, token=None)
    again = call("POST", "/users", NEWCOMER, token=None)

    assert first.json["email"] == "bob@example.com"
    assert (again.status_code, again.json) == (200, {})
    assert is_replayed(again)
    assert "ETag" not in again.headers
    assert count(app, User) == 2


@pytest.mark.only_on("sqlite")
def test_a_registration_hashes_and_counts_before_its_transaction(shared_app, api, token):
    app = shared_app(IDEMPOTENCY_TTL=60, THROTTLE_ENABLED=True)
    client = app.test_client()
    with statements(app) as sent:
        assert client.post("/api/users", json=NEWCOMER, headers=KEYED).status_code == 200

    kinds = [" ".join(text.split()[:3]) for text in sent]
    counted, begun = kinds.index("INSERT INTO throttles"), kinds.index("BEGIN IMMEDIATE")
    assert kinds[0] == "INSERT INTO idempotent_calls"
    assert counted < begun < kinds.index("INSERT INTO users")
    assert kinds[-2:] == ["UPDATE idempotent_calls SET", "COMMIT"]
    assert kinds.count("COMMIT") == 1


def test_registrations_from_elsewhere_or_with_another_body_are_other_calls(call, stored):
    call("POST", "/users", NEWCOMER, token=None)
    elsewhere = {"REMOTE_ADDR": "192.0.2.7"}

    # The error says what it says without a key.
    answer = call("POST", "/users", NEWCOMER, token=None, environ_base=elsewhere)
    assert field_codes(answer) == {"email": ["uniqueness"]}
    other = call("POST", "/users", {**NEWCOMER, "email": "c@example.com"}, token=None)
    assert other.status_code == 200
    assert not is_replayed(other)
    assert len(stored()) == 2


def test_behind_a_proxy_the_address_is_that_which_it_states(shared_app, api, token):
    client = shared_app(IDEMPOTENCY_TTL=60, TRUSTED_PROXIES=1).test_client()

    def register(address):
        headers = {**KEYED, "X-Forwarded-For": address}
        return client.post("/api/users", json=NEWCOMER, headers=headers)

    assert register("192.0.2.1").status_code == 200
    assert is_replayed(register("192.0.2.1"))
    assert is_replayed(register("spoofed, 192.0.2.1"))
    assert register("192.0.2.2").status_code == 422


def test_admins_see_whom_they_have_registered(app, call):
    with app.app_context():
        grant(1, "admin")

    first, again = (call("POST", "/users", NEWCOMER) for _ in range(2))

    assert first.json["email"] == "bob@example.com"
    assert is_same(first, again)


def test_the_password_is_no_part_of_what_must_be_the_same(call):
    """Its fast digest would be stored otherwise."""
    call("POST", "/users", NEWCOMER, token=None)
    again = call("POST", "/users", {**NEWCOMER, "password": "a quiet harbour"}, token=None)

    assert (again.status_code, again.json) == (200, {})


# Long answers


def test_of_a_long_answer_the_ids_are_kept(call):
    rows = [{"title": "x" * 200, "desc": "y" * 900} for _ in range(60)]
    first, again = (call("POST", "/todos", rows) for _ in range(2))

    assert len(first.data) > 64 * 1024
    assert is_replayed(again)
    assert again.json == [{"id": row["id"]} for row in first.json]
    assert again.headers["Content-Type"] == first.headers["Content-Type"]
    assert len(call("GET", "/todos").json) == 60


@pytest.mark.parametrize("is_hidden", [False, True])
def test_of_a_long_row_the_id_is_kept_if_clients_see_it(serve, is_hidden):  # noqa: F811
    texts = dict.fromkeys("abcdefg", "x" * 10_000)
    long = {"type": "string", "length": 10_000}
    note = {"name": "Note", "properties": dict.fromkeys(texts, long), "acls": OPEN}
    api = serve({"note": note | ({"hidden": ["id"]} if is_hidden else {})}, IDEMPOTENCY_TTL=60)
    token = api.logged_in()

    first, again = (api("POST", "/Notes", texts, token, headers=KEYED) for _ in range(2))

    assert first.json["a"] == texts["a"]
    assert (again.status_code, again.json) == (200, {} if is_hidden else {"id": 1})
    assert is_replayed(again)


# Models in JSON, hooks and links

NOTE = {"name": "Note", "properties": {"text": "string"}, "acls": OPEN} | {
    "relations": {"marks": {"type": "hasAndBelongsToMany", "model": "Mark"}}
}
MARK = {"name": "Mark", "properties": {"name": "string"}, "acls": OPEN} | {
    "relations": {"notes": {"type": "hasAndBelongsToMany", "model": "Note"}}
}


@pytest.mark.both_databases
def test_links_are_made_and_removed_once(serve, secrets):  # noqa: F811
    api = serve({"note": NOTE, "mark": MARK}, IDEMPOTENCY_TTL=60)
    token = api.logged_in()
    for number, (verb, path, body) in enumerate(
        [
            ("POST", "/Notes", {"text": "a"}),
            ("POST", "/Notes/1/marks", {"name": "b"}),
            ("POST", "/Marks", {"name": "c"}),
            ("PUT", "/Notes/1/marks/rel/2", None),
            ("DELETE", "/Notes/1/marks/rel/1", None),
            ("DELETE", "/Notes/1/marks", None),
        ]
    ):
        headers = {"Idempotency-Key": f"{number}"}
        first = api(verb, path, body, token=token, headers=headers)
        linked = api("GET", "/Notes/1/marks", token=token).data
        again = api(verb, path, body, token=token, headers=headers)

        assert first.status_code in (200, 204), (verb, path, first.json)
        assert is_same(first, again), (verb, path)
        assert api("GET", "/Notes/1/marks", token=token).data == linked
    assert len(api("GET", "/Marks", token=token).json) == 2


@pytest.mark.both_databases
def test_a_hook_that_refuses_leaves_neither_row_nor_record(make_app, secrets):
    app = make_app(IDEMPOTENCY_TTL=60)
    api = Api(app.test_client(), secrets)
    token, refusing = api.logged_in(), [True]

    def refuse(_resource, event):
        event.values["desc"] = "from a hook"
        if refusing:
            raise Conflict("not now")

    hook = served_collections.of(app)["todos"].resource.before_save
    with hook.connected_to(refuse):
        refused = api("POST", "/todos", TODO, token=token, headers=KEYED)
        refusing.clear()
        first, again = (api("POST", "/todos", TODO, token=token, headers=KEYED) for _ in range(2))

    assert refused.status_code == 409
    assert first.json["desc"] == "from a hook"
    assert is_same(first, again)
    assert count(app, Todo) == 1


def test_nothing_is_open_after_a_repeated_call(app, call):
    for body in (TODO, TODO, {"title": ""}):
        call("POST", "/todos", body)

    with app.app_context():
        assert db.session.scalar(select(func.count()).select_from(Todo)) == 1
        db.session.remove()
        assert db.engine.pool.checkedout() == 0
