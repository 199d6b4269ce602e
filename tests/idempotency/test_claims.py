"""Of several requests with one key, one is done at a time: claims, how they end and are lost."""

import os
import signal
from collections import Counter
from datetime import timedelta
from multiprocessing import get_context

import pytest
from sqlalchemy import text

from app.database.session import db
from app.idempotency import repeating
from app.rest.collection import served_collections
from app.times import now
from app.todos.models import Todo
from app.users.models import User
from tests.conftest import PASSWORD, Api
from tests.support.answers import refusal
from tests.support.apps import build
from tests.support.races import at_once
from tests.support.rows import count

from .conftest import KEYED, is_replayed

CROWD = 8
TODO = {"title": "water the plants"}
NEWCOMER = {"email": "bob@example.com", "password": PASSWORD}
IN_USE = (409, "IDEMPOTENCY_KEY_IN_USE")


def post(path, body, token=None):
    """Return a call for `at_once`."""
    headers = {**KEYED, **({"Authorization": token} if token else {})}
    return lambda client: client.post(f"/api{path}", json=body, headers=headers)


def claimed(seconds, age=0.0):
    """Return the columns of a call that runs, and whose claim ends in so many seconds."""
    started, end = now() - timedelta(seconds=age), now() + timedelta(seconds=seconds)
    return {"status": None, "started": started, "claimed_until": end, "claim": "another"}


@pytest.mark.both_databases
@pytest.mark.parametrize(("path", "body"), [("/todos", TODO), ("/users", NEWCOMER)])
def test_one_of_many_requests_at_once_is_done(app, token, path, body):
    caller = token if path == "/todos" else None
    before = count(app, User)

    answers = at_once(app, *[post(path, body, caller)] * CROWD)

    done = [each for each in answers if each.status_code == 200 and not is_replayed(each)]
    others = [each for each in answers if each not in done]
    assert len(done) == 1
    assert all(is_replayed(each) or refusal(each) == IN_USE for each in others)
    assert count(app, Todo) + count(app, User) - before == 1


@pytest.mark.both_databases
def test_requests_with_keys_of_their_own_are_all_done(app, token):
    calls = [
        lambda client, key=key: client.post(
            "/api/todos",
            json=TODO,
            headers={"Idempotency-Key": key, "Authorization": token},
        )
        for key in "abcdefgh"
    ]

    answers = at_once(app, *calls)

    assert Counter(each.status_code for each in answers) == {200: CROWD}
    assert len({each.json["id"] for each in answers}) == CROWD


@pytest.mark.both_databases
@pytest.mark.parametrize(
    ("age", "left", "seconds"),
    [(0.0, 30, {1}), (5.5, 24.5, {6, 7}), (28.5, 1.5, {1, 2}), (500, 20, {20})],
)
def test_a_call_that_runs_says_when_to_ask_again(call, change, age, left, seconds):
    call("POST", "/todos", TODO)
    change(**claimed(left, age))

    answer = call("POST", "/todos", TODO)

    assert refusal(answer) == IN_USE
    assert int(answer.headers["Retry-After"]) in seconds
    assert refusal(call("POST", "/todos", {}))[1] == "IDEMPOTENCY_KEY_REUSED"


@pytest.mark.both_databases
@pytest.mark.parametrize("seconds", [-1, 86400])
def test_a_claim_that_has_ended_is_taken_over(app, call, change, seconds):
    """One that ends later than any is from before the clock was set back."""
    call("POST", "/todos", TODO)
    change(**claimed(seconds))

    # As nothing was done, the body may be another one.
    answer = call("POST", "/todos", {"title": "another"})

    assert (answer.status_code, is_replayed(answer)) == (200, False)
    assert is_replayed(call("POST", "/todos", {"title": "another"}))


@pytest.mark.both_databases
def test_a_claim_of_a_host_whose_clock_is_ahead_is_not_taken_over(app, call, change):
    """It ends later than one of this host, as that of a request of the same millisecond may."""
    call("POST", "/todos", TODO)
    lease = 4 * app.config["STATEMENT_TIMEOUT"] + app.config["PASSWORD_HASH_WAIT"]
    change(**claimed(lease + 1))

    assert refusal(call("POST", "/todos", TODO)) == IN_USE


@pytest.mark.both_databases
@pytest.mark.parametrize("verb", ["POST", "PATCH", "DELETE"])
def test_a_request_whose_claim_was_taken_over_stores_nothing(make_app, secrets, verb):
    app = make_app(IDEMPOTENCY_TTL=60)
    api = Api(app.test_client(), secrets)
    token = api.logged_in()
    first = api("POST", "/todos", TODO, token=token).json
    resource = served_collections.of(app)["todos"].resource
    hook = resource.before_delete if verb == "DELETE" else resource.before_save

    def take_over(_resource, event):
        db.session.execute(text("UPDATE idempotent_calls SET claim = 'another'"))

    body = None if verb == "DELETE" else {"title": "changed"}
    path = "/todos" if verb == "POST" else "/todos/1"
    with hook.connected_to(take_over):
        answer = api(verb, path, body, token=token, headers=KEYED)

    assert refusal(answer) == IN_USE
    assert api("GET", "/todos", token=token).json == [first]


# Processes that are killed


@pytest.fixture(scope="module")
def forks():
    """Forks of a process that has imported what they need, and has neither threads nor an app."""
    context = get_context("forkserver")
    context.set_forkserver_preload([__name__])
    return context


@pytest.mark.live
@pytest.mark.both_databases
@pytest.mark.parametrize(
    ("moment", "todos"), [("before_write", 0), ("before_record", 0), ("after_commit", 1)]
)
def test_a_repetition_finds_what_a_killed_request_has_done(
    app, call, token, database_url, tmp_path, forks, change, stored, moment, todos
):
    process = forks.Process(target=post_and_die, args=(database_url, tmp_path, moment, token))
    process.start()
    process.join(60)
    assert process.exitcode == -signal.SIGKILL
    assert count(app, Todo) == todos

    answer = call("POST", "/todos", TODO)
    if moment != "after_commit":
        assert refusal(answer) == IN_USE
        change(claimed_until=now() - timedelta(seconds=1))
        answer = call("POST", "/todos", TODO)

    assert answer.status_code == 200
    assert is_replayed(answer) is (moment == "after_commit")
    assert count(app, Todo) == 1
    assert call("POST", "/todos", TODO).data == answer.data


def post_and_die(database_url, folder, moment, token):
    """Create a to-do, and be killed in the middle, at the latest before the answer."""
    app = build(database_url, folder, IDEMPOTENCY_TTL=86400)
    if moment == "before_write":
        served_collections.of(app)["todos"].resource.before_save.connect(die)
    elif moment == "before_record":
        repeating.keep = die
    else:
        app.after_request(die)
    post("/todos", TODO, token)(app.test_client())


def die(*_, **__):
    os.kill(os.getpid(), signal.SIGKILL)
