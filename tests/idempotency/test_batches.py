"""Batches with a key, and endpoints of a project that write in a transaction."""

from threading import Barrier, Thread

import pytest

from tests.conftest import Api
from tests.definitions.conftest import make_models, serve, write_models  # noqa: F401 fixtures
from tests.definitions.library import OPEN

from .conftest import KEYED, is_replayed


def batch_of(*titles):
    calls = [
        {"id": f"c{n}", "method": "POST", "path": "/todos", "body": {"title": title}}
        for n, title in enumerate(titles)
    ]
    return {"requests": calls}


def titles(call):
    return [row["title"] for row in call("GET", "/todos").json]


@pytest.mark.both_databases
def test_a_batch_is_done_once(call):
    first, again = (call("POST", "/batch", batch_of("a", "b")) for _ in range(2))

    assert first.status_code == 200
    assert (again.status_code, again.data) == (200, first.data)
    assert is_replayed(again)
    assert titles(call) == ["a", "b"]


def test_a_batch_that_fails_is_not_kept(call):
    for _ in range(2):
        assert call("POST", "/batch", batch_of("a", "")).status_code == 422

    assert call("POST", "/batch", batch_of("a")).status_code == 200
    assert titles(call) == ["a"]


def test_of_a_long_batch_statuses_and_ids_are_kept(call):
    row = {"title": "x" * 200, "desc": "y" * 990}
    long = {"requests": [{"method": "POST", "path": "/todos", "body": row}] * 50}
    first, again = (call("POST", "/batch", long, key="long") for _ in range(2))

    assert len(first.data) > 64 * 1024
    assert is_replayed(again)
    kept = [(each["status"], each["etag"], each["body"]) for each in again.json["responses"]]
    assert kept == [
        (each["status"], each["etag"], {"id": each["body"]["id"]})
        for each in first.json["responses"]
    ]


def test_a_batch_is_not_repeated_for_a_caller_who_may_no_longer_make_its_calls(serve):  # noqa: F811
    clerks = [{**OPEN[0], "principalId": "clerk"}]
    api = serve({"note": {"name": "Note", "acls": clerks}}, IDEMPOTENCY_TTL=60)
    runner = api.client.application.test_cli_runner()
    token = api.logged_in()
    sent = {"requests": [{"method": "POST", "path": "/Notes", "body": {}}]}
    runner.invoke(args=["roles", "grant", "ada@example.com", "clerk"])
    first = api("POST", "/batch", sent, token=token, headers=KEYED)
    runner.invoke(args=["roles", "revoke", "ada@example.com", "clerk"])

    refused = api("POST", "/batch", sent, token=token, headers=KEYED)

    assert first.status_code == 200
    assert refused.status_code == 403
    assert refused.json["error"]["details"] == {"request": 0, "id": None}


@pytest.mark.both_databases
def test_eight_same_batches_at_once_are_done_once(app, call, token, secrets):
    barrier, answers = Barrier(8), []

    def send():
        client = Api(app.test_client(), secrets)
        barrier.wait()
        answers.append(
            client("POST", "/batch", batch_of("a", "b"), token=token, headers=KEYED).status_code
        )

    threads = [Thread(target=send) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)

    assert sorted(answers)[0] == 200
    assert set(answers) <= {200, 409}
    assert titles(call) == ["a", "b"]


CODE = """
from ostiary.database import db
from ostiary.resources import get_resource
from ostiary.rules import WRITE
from sqlalchemy import insert


def extend(notes):
    @notes.endpoint("add", WRITE, "POST /add", answer={}, atomic=True)
    def add():
        db.session.execute(insert(notes.model).values(text="by statement"))
        [row] = notes.insert([{"text": "by the resource"}])
        return {"id": row.id}

    @notes.endpoint("tell", WRITE, "POST /tell", answer={})
    def tell():
        return {}
"""


@pytest.mark.both_databases
def test_an_own_endpoint_is_done_once_if_it_is_atomic(serve):  # noqa: F811
    note = {"name": "note", "properties": {"text": "string"}, "acls": OPEN}
    api = serve({"note": note}, None, {"note": CODE}, IDEMPOTENCY_TTL=60)
    token = api.logged_in()

    first, again = (api("POST", "/notes/add", token=token, headers=KEYED) for _ in range(2))
    refused = api("POST", "/notes/tell", token=token, headers=KEYED)

    assert first.status_code == 200
    assert again.data == first.data
    assert is_replayed(again)
    assert refused.json["error"]["code"] == "IDEMPOTENCY_KEY_UNSUPPORTED"
    assert api("GET", "/notes/count", token=token).json == {"count": 2}


UNUSUAL = """
from flask import Response
from ostiary.rules import WRITE

ANSWERS = {
    "binary": Response(b"\\xff\\x00", content_type="image/png"),
    "zero": Response("a\\0b", content_type="text/plain"),
    "long": Response("x" * 70_000, content_type="text/plain"),
    "ids": [{"id": "x" * 70_000}],
    "text": Response("caf\u00e9", content_type="text/plain"),
}


def extend(notes):
    @notes.endpoint("answer", WRITE, "POST /answer/<name>", answer={}, atomic=True)
    def answer(name):
        notes.insert([{"text": name}])
        return ANSWERS[name]
"""


@pytest.mark.both_databases
@pytest.mark.parametrize("name", ["binary", "zero", "long", "ids", "text"])
def test_of_an_answer_that_cannot_be_stored_the_status_is_kept(serve, name):  # noqa: F811
    note = {"name": "note", "properties": {"text": "string"}, "acls": OPEN}
    api = serve({"note": note}, None, {"note": UNUSUAL}, IDEMPOTENCY_TTL=60)
    token = api.logged_in()

    first, again = (
        api("POST", f"/notes/answer/{name}", token=token, headers=KEYED) for _ in range(2)
    )

    assert (first.status_code, again.status_code) == (200, 200)
    assert is_replayed(again)
    assert again.data == (first.data if name == "text" else b"")
    assert api("GET", "/notes/count", token=token).json == {"count": 1}
