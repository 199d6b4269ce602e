"""Concurrent requests of which only one may succeed."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import create_engine, text

from app.users.models import AccessToken, User
from tests.conftest import NEW, PASSWORD
from tests.support.answers import field_codes, refusal
from tests.support.races import at_once, waiting
from tests.support.rows import count
from tests.support.waiting import eventually

pytestmark = pytest.mark.both_databases

CROWD = 6


@pytest.fixture
def held_back(app, database_url):
    """Run calls that all have to wait for the user's row, until the last of them waits.

    SQLite, which has one writer at a time, has nothing to hold back.
    """

    def held_back(*calls):
        if database_url.startswith("sqlite"):
            return at_once(app, *calls)
        engine = create_engine(database_url)
        with ThreadPoolExecutor(1) as pool, engine.connect() as ours, engine.connect() as watcher:
            ours.execute(text("SELECT 1 FROM users WHERE id = 1 FOR NO KEY UPDATE"))
            answers = pool.submit(at_once, app, *calls)
            eventually(lambda: waiting(watcher) == len(calls))
            ours.rollback()
            result = answers.result()
        engine.dispose()
        return result

    return held_back


def post(path, body=None, token=None, method="POST"):
    """Return a call for `at_once`."""
    headers = {"Authorization": token} if token else {}
    return lambda client: client.open(f"/api{path}", method=method, json=body, headers=headers)


def statuses(answers):
    return Counter(answer.status_code for answer in answers)


@pytest.mark.parametrize("name", ["email", "username"])
def test_one_of_many_concurrent_registrations_succeeds(app, api, name):
    bodies = [
        {"email": f"ada{number}@example.com", "username": f"ada{number}", "password": PASSWORD}
        | {name: {"email": "ada@example.com", "username": "ada"}[name]}
        for number in range(CROWD)
    ]

    answers = at_once(app, *(post("/users", body) for body in bodies))

    assert statuses(answers) == {200: 1, 422: CROWD - 1}
    assert count(app, User) == 1
    losers = [field_codes(answer) for answer in answers if answer.status_code == 422]
    assert losers == [{name: ["uniqueness"]}] * (CROWD - 1)


def test_one_of_many_concurrent_logouts_succeeds(app, token):
    answers = at_once(app, *[post("/users/logout", token=token)] * CROWD)

    assert statuses(answers) == {204: 1, 401: CROWD - 1}
    assert count(app, AccessToken) == 0


def test_one_of_many_concurrent_resets_with_one_token_succeeds(app, api, reset_token):
    passwords = [f"{NEW} {number}" for number in range(CROWD)]

    answers = at_once(
        app,
        *(post("/users/reset-password", {"newPassword": each}, reset_token) for each in passwords),
    )

    assert statuses(answers) == {204: 1, 401: CROWD - 1}
    winner = next(p for p, answer in zip(passwords, answers, strict=True) if answer.data == b"")
    api.secrets.append(winner)
    credentials = {"email": "ada@example.com", "password": winner}
    login = api("POST", "/users/login", credentials)
    api.secrets.append(login.json["id"])
    assert login.status_code == 200


def test_one_of_several_reset_tokens_succeeds_and_revokes_the_others(
    app, api, token, reset_events, held_back
):
    for _ in range(4):
        api("POST", "/users/reset", {"email": "ada@example.com"})
    tokens = [info["accessToken"].id for info in reset_events]

    answers = held_back(
        *(post("/users/reset-password", {"newPassword": NEW}, each) for each in tokens)
    )

    assert statuses(answers) == {204: 1, 401: 3}
    assert count(app, AccessToken) == 0


def test_one_of_many_concurrent_password_changes_succeeds(app, api, token):
    tokens = [token, *(api.login()["id"] for _ in range(CROWD - 1))]

    answers = at_once(
        app,
        *(
            post("/users/change-password", {"oldPassword": PASSWORD, "newPassword": NEW}, each)
            for each in tokens
        ),
    )

    found = statuses(answers)
    assert found.pop(204) == 1
    # Who comes late finds the password wrong, or already the own token gone.
    assert set(found) <= {400, 401}
    assert count(app, AccessToken) == 1


@pytest.mark.parametrize("name", ["email", "username"])
def test_one_of_many_concurrent_changes_to_one_name_succeeds(app, api, name):
    wanted = {"email": "countess@example.com", "username": "countess"}[name]
    tokens = [api.newcomer(f"ada{number}@example.com") for number in range(CROWD)]

    answers = at_once(
        app,
        *(
            post(f"/users/{number}", {name: wanted}, token, "PATCH")
            for number, token in enumerate(tokens, 1)
        ),
    )

    assert statuses(answers) == {200: 1, 422: CROWD - 1}
    # Who lost has lost no session either.
    assert count(app, AccessToken) == CROWD


def test_a_concurrent_login_does_not_survive_a_reset(app, api, reset_token):
    credentials = {"email": "ada@example.com", "password": PASSWORD}

    answers = at_once(
        app,
        post("/users/reset-password", {"newPassword": NEW}, reset_token),
        *[post("/users/login", credentials)] * CROWD,
    )

    found = statuses(answers)
    assert found.pop(204) == 1
    assert set(found) <= {200, 401}
    assert count(app, AccessToken) == 0


def test_either_a_reset_or_a_concurrent_password_change_succeeds(token, reset_token, held_back):
    body = {"oldPassword": PASSWORD, "newPassword": NEW}

    reset, change = held_back(
        post("/users/reset-password", {"newPassword": NEW}, reset_token),
        post("/users/change-password", body, token),
    )

    assert (reset.status_code, change.status_code) in {(204, 400), (204, 401), (401, 204)}


def test_concurrent_changes_of_email_and_password_do_not_deadlock(app, api, token, held_back):
    other = api.login()["id"]
    body = {"oldPassword": PASSWORD, "newPassword": NEW}

    answers = held_back(
        post("/users/1", {"email": "countess@example.com"}, token, "PATCH"),
        post("/users/change-password", body, other),
    )

    assert {answer.status_code for answer in answers} <= {200, 204, 401}
    assert count(app, AccessToken) <= 1


def test_a_concurrent_login_of_a_deleted_user_leaves_no_token(app, api, token):
    credentials = {"email": "ada@example.com", "password": PASSWORD}

    deleted, *logins = at_once(
        app,
        post("/users/1", token=token, method="DELETE"),
        *[post("/users/login", credentials)] * CROWD,
    )

    assert deleted.status_code == 200
    assert {answer.status_code for answer in logins} <= {200, 401}
    assert count(app, AccessToken) == count(app, User) == 0


def test_many_concurrent_requests_all_succeed(app, api, token):
    answers = at_once(app, *[post("/todos", {"title": "x"}, token)] * 8)

    assert statuses(answers) == {200: 8}
    assert len({answer.json["id"] for answer in answers}) == 8


def test_creating_a_todo_for_a_user_deleted_meanwhile_is_409(make_app, token):
    app = make_app()

    @app.before_request
    def vanish():
        # After the token was resolved, before the view runs.
        app.test_cli_runner().invoke(args=["users", "delete", "ada@example.com", "--yes"])

    [response] = at_once(app, post("/todos", {"title": "x"}, token))

    assert refusal(response) == (409, "CONFLICT")
