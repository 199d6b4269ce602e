"""What several requests want at the same time, only one gets."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import create_engine, text

from app.users.models import AccessToken, User
from tests.answers import field_codes, refusal
from tests.conftest import NEW, PASSWORD
from tests.races import at_once
from tests.rows import count
from tests.smtp import eventually

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


def waiting(connection):
    """Count the database's sessions that wait for a lock."""
    connection.rollback()
    return connection.scalar(
        text("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'")
    )


def post(path, body=None, token=None, method="POST"):
    """Return a call for `at_once`."""
    headers = {"Authorization": token} if token else {}
    return lambda client: client.open(f"/api{path}", method=method, json=body, headers=headers)


def statuses(answers):
    return Counter(answer.status_code for answer in answers)


@pytest.mark.parametrize("name", ["email", "username"])
def test_one_of_many_registrations_wins(app, api, name):
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


def test_one_of_many_logouts_wins(app, token):
    answers = at_once(app, *[post("/users/logout", token=token)] * CROWD)

    assert statuses(answers) == {204: 1, 401: CROWD - 1}
    assert count(app, AccessToken) == 0


def test_one_use_of_a_reset_token_wins(app, api, reset_token):
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


def test_one_of_several_reset_tokens_wins_and_ends_the_others(
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


def test_one_change_of_the_same_old_password_wins(app, api, token):
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
def test_one_of_many_changes_to_the_same_name_wins(app, api, name):
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


def test_a_reset_leaves_no_login_alive(app, api, reset_token):
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


def test_a_reset_and_a_change_of_password_have_one_winner(token, reset_token, held_back):
    body = {"oldPassword": PASSWORD, "newPassword": NEW}

    reset, change = held_back(
        post("/users/reset-password", {"newPassword": NEW}, reset_token),
        post("/users/change-password", body, token),
    )

    assert (reset.status_code, change.status_code) in {(204, 400), (204, 401), (401, 204)}


def test_a_change_of_email_beside_one_of_password_is_no_deadlock(app, api, token, held_back):
    other = api.login()["id"]
    body = {"oldPassword": PASSWORD, "newPassword": NEW}

    answers = held_back(
        post("/users/1", {"email": "countess@example.com"}, token, "PATCH"),
        post("/users/change-password", body, other),
    )

    assert {answer.status_code for answer in answers} <= {200, 204, 401}
    assert count(app, AccessToken) <= 1


def test_a_deleted_user_logs_in_no_more(app, api, token):
    credentials = {"email": "ada@example.com", "password": PASSWORD}

    deleted, *logins = at_once(
        app,
        post("/users/1", token=token, method="DELETE"),
        *[post("/users/login", credentials)] * CROWD,
    )

    assert deleted.status_code == 200
    assert {answer.status_code for answer in logins} <= {200, 401}
    assert count(app, AccessToken) == count(app, User) == 0


def test_many_at_once_all_get_through(app, api, token):
    answers = at_once(app, *[post("/todos", {"title": "x"}, token)] * 8)

    assert statuses(answers) == {200: 8}
    assert len({answer.json["id"] for answer in answers}) == 8


def test_a_user_who_goes_while_a_todo_comes_is_a_conflict(make_app, token):
    app = make_app()

    @app.before_request
    def vanish():
        # After the token was resolved, before the view runs.
        app.test_cli_runner().invoke(args=["users", "delete", "ada@example.com", "--yes"])

    [response] = at_once(app, post("/todos", {"title": "x"}, token))

    assert refusal(response) == (409, "CONFLICT")
