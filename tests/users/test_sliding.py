"""TOKEN_SLIDING: a login token that is used is prolonged."""

from datetime import timedelta
from hashlib import sha256

import pytest
from sqlalchemy import create_engine, delete, select, text, update

from app.database.session import db
from app.factory import create_app
from app.problems import ConfigurationError
from app.times import now
from app.users.models import AccessToken
from app.users.sessions.tokens import prolong
from tests.conftest import Api
from tests.support.answers import refusal
from tests.support.races import at_once
from tests.support.rows import age, expire, statements

SAME_SITE = {"Sec-Fetch-Site": "same-origin"}
TTL, MAX_TTL, INTERVAL = 600, 1200, 60


@pytest.fixture
def app(shared_app):
    return shared_app(TOKEN_SLIDING=True, TOKEN_TTL=TTL, TOKEN_MAX_TTL=MAX_TTL, TOKEN_MIDDLEWARE={})


@pytest.fixture
def client(app):
    """A client that is no browser and keeps no cookies."""
    return app.test_client(use_cookies=False)


def row(app, token):
    with app.app_context():
        return db.session.get(AccessToken, sha256(token.encode()).hexdigest())


def lifetime_from_last_use(app, token):
    found = row(app, token)
    return (found.expires_at - found.last_used).total_seconds()


def test_a_token_that_is_used_is_prolonged_to_its_ttl(app, api, token):
    age(app, token, 100)
    before = row(app, token).expires_at

    assert api("GET", "/users/1", token=token).status_code == 200

    assert row(app, token).expires_at > before
    assert lifetime_from_last_use(app, token) == TTL


def test_a_session_shows_its_last_use(app, api, token):
    age(app, token, 100)

    [before] = api("GET", "/users/1/accessTokens", token=token).json

    assert before["lastUsed"] > before["created"]
    [after] = api("GET", "/users/1/accessTokens", token=token).json
    assert after["lastUsed"] == before["lastUsed"]


def test_the_login_is_the_first_use(api, token):
    [session] = api("GET", "/users/1/accessTokens", token=token).json

    assert session["lastUsed"] == session["created"]


@pytest.mark.parametrize("seconds", [0, INTERVAL // 2])
def test_within_the_interval_a_request_writes_nothing(app, api, token, seconds):
    age(app, token, seconds)
    before = row(app, token)
    with statements(app) as sent:
        api("GET", "/users/1", token=token)

    after = row(app, token)
    assert [statement.split()[0] for statement in sent] == ["SELECT", "SELECT"]
    assert (after.expires_at, after.last_used) == (before.expires_at, None)


def test_without_sliding_no_statement_and_no_value_changes(shared_app, secrets):
    app = shared_app(TOKEN_MIDDLEWARE={})
    api = Api(app.test_client(use_cookies=False), secrets)
    token = api.newcomer()
    age(app, token, 100)
    before = row(app, token)
    with statements(app) as sent:
        response = api("GET", "/users/1", headers={"Cookie": f"access_token={token}"})

    after = row(app, token)
    assert [statement.split()[0] for statement in sent] == ["SELECT", "SELECT"]
    assert (after.expires_at, after.last_used) == (before.expires_at, None)
    assert "Set-Cookie" not in response.headers


def test_of_concurrent_uses_one_writes(app, token):
    age(app, token, 100)
    with app.test_request_context():
        found = db.session.execute(select(AccessToken.__table__)).one()

        first, second = prolong(found), prolong(found)

    assert first is not None
    assert second is None


@pytest.mark.both_databases
def test_concurrent_uses_all_succeed(app, token):
    age(app, token, 100)
    headers = {"Authorization": token}

    answers = at_once(app, *[lambda client: client.get("/api/users/1", headers=headers)] * 6)

    assert {answer.status_code for answer in answers} == {200}
    assert lifetime_from_last_use(app, token) == TTL


@pytest.mark.both_databases
def test_no_token_lives_longer_than_the_maximum_from_its_login(app, api, token):
    age(app, token, 500)
    api("GET", "/users/1", token=token)
    age(app, token, 400)

    api("GET", "/users/1", token=token)

    found = row(app, token)
    assert found.expires_at == found.created + timedelta(seconds=MAX_TTL)
    age(app, token, 200)
    assert api("GET", "/users/1", token=token).status_code == 200
    assert row(app, token).expires_at == found.expires_at - timedelta(seconds=200)
    age(app, token, 101)
    assert refusal(api("GET", "/users/1", token=token)) == (401, "INVALID_TOKEN")


def test_a_token_that_expires_later_is_not_shortened(app, api, token):
    age(app, token, 100)
    expire(app, token, ago=-900)
    before = row(app, token).expires_at

    api("GET", "/users/1", token=token)

    found = row(app, token)
    assert found.expires_at == before
    assert found.last_used is not None


CHANGES = {
    "deleted": delete(AccessToken),
    "expired": update(AccessToken).values(expires_at=now() - timedelta(seconds=1)),
    "scoped": update(AccessToken).values(scope="reset-password"),
}


@pytest.mark.both_databases
@pytest.mark.parametrize("change", CHANGES)
def test_a_token_that_ended_meanwhile_is_not_revived(app, token, change):
    age(app, token, 100)
    with app.test_request_context():
        found = db.session.execute(select(AccessToken.__table__)).one()
        db.session.execute(CHANGES[change])
        before = db.session.execute(select(AccessToken.__table__)).all()

        assert prolong(found) is None

        assert db.session.execute(select(AccessToken.__table__)).all() == before


def test_an_expired_token_is_not_revived_by_a_request(app, api, token):
    age(app, token, TTL + 1)
    before = row(app, token).expires_at

    assert refusal(api("GET", "/users/1", token=token)) == (401, "INVALID_TOKEN")

    assert row(app, token).expires_at == before


def test_a_reset_token_is_never_prolonged(app, api, reset_token):
    age(app, reset_token, 100)
    before = row(app, reset_token).expires_at

    api("GET", "/users/1", token=reset_token)
    api("POST", "/users/reset-password", {"newPassword": "short"}, token=reset_token)

    assert row(app, reset_token).expires_at == before


LOCKS = {
    "sqlite": ["BEGIN IMMEDIATE"],
    "postgresql": [
        "SELECT 1 FROM access_tokens FOR UPDATE",
        "LOCK TABLE access_tokens IN SHARE MODE",
    ],
}


def test_a_locked_database_neither_fails_nor_delays_a_request(
    shared_app, secrets, database_url, caplog
):
    # A lock is waited for as long as this, but TOUCH_TIMEOUT is a tenth of a second.
    app = shared_app(TOKEN_SLIDING=True, TOKEN_TTL=TTL, STATEMENT_TIMEOUT=600)
    api = Api(app.test_client(), secrets)
    token = api.newcomer()
    age(app, token, 100)
    engine = create_engine(database_url)
    for lock in LOCKS[engine.name]:
        caplog.clear()
        with engine.connect() as other:
            other.execute(text(lock))
            response = api("GET", "/users/1", token=token)
            other.rollback()

        assert response.status_code == 200
        [record] = [record for record in caplog.records if "not prolonged" in record.getMessage()]
        assert record.levelname == "WARNING"
    engine.dispose()

    api("GET", "/users/1", token=token)

    assert lifetime_from_last_use(app, token) == TTL


@pytest.mark.both_databases
def test_afterwards_the_connection_waits_for_locks_as_before(app, api, token, database_url):
    age(app, token, 100)
    api("GET", "/users/1", token=token)
    is_sqlite = database_url.startswith("sqlite")
    with app.app_context():
        setting = "PRAGMA busy_timeout" if is_sqlite else "SHOW statement_timeout"

        assert db.session.scalar(text(setting)) == (5000 if is_sqlite else "5s")


@pytest.mark.parametrize(("remember_me", "persistent"), [(True, True), (False, False)])
def test_a_cookie_is_renewed_with_its_token(app, api, remember_me, persistent):
    api.register()
    token = api.login(rememberMe=remember_me)["id"]
    cookie = {"Cookie": f"access_token={token}"}
    quiet = api("GET", "/users/1", headers=cookie)
    age(app, token, 100)

    answers = [api("GET", path, headers=cookie) for path in ("/users/2", "/users/1")]

    assert "Set-Cookie" not in quiet.headers
    # The first one, which is refused, was a use as well.
    assert [answer.status_code for answer in answers] == [403, 200]
    renewed = answers[0].headers["Set-Cookie"].split("; ")
    assert renewed[0] == f"access_token={token}"
    assert {"HttpOnly", "SameSite=Lax", "Path=/"} <= set(renewed)
    # A millisecond may have passed since, or none.
    ages = {f"Max-Age={TTL - 1}", f"Max-Age={TTL}"}
    assert {attribute for attribute in renewed if attribute.startswith("Max-Age")} <= ages
    assert any(attribute.startswith("Max-Age") for attribute in renewed) is persistent
    assert "Set-Cookie" not in answers[1].headers


def test_a_token_in_a_header_sets_no_cookie(app, api, token):
    age(app, token, 100)

    response = api("GET", "/users/1", token=token)

    assert "Set-Cookie" not in response.headers
    assert lifetime_from_last_use(app, token) == TTL


def test_a_logout_is_not_undone_by_a_renewed_cookie(app, api, token):
    age(app, token, 100)

    response = api(
        "POST", "/users/logout", headers={"Cookie": f"access_token={token}", **SAME_SITE}
    )

    [cookie] = response.headers.getlist("Set-Cookie")
    assert response.status_code == 204
    assert "Max-Age=0" in cookie


def test_a_refused_cross_site_request_prolongs_nothing(app, api, token):
    age(app, token, 100)
    before = row(app, token)
    headers = {"Cookie": f"access_token={token}", "Sec-Fetch-Site": "cross-site"}

    response = api("PATCH", "/users/1", {}, headers=headers)

    assert response.status_code == 403
    assert "Set-Cookie" not in response.headers
    after = row(app, token)
    assert (after.expires_at, after.last_used) == (before.expires_at, before.last_used)


def test_an_interval_that_no_token_outlives_is_one_sentence(tmp_path):
    settings = {"TOKEN_SLIDING": True, "TOKEN_TTL": 60, "MAIL_FOLDER": str(tmp_path)}

    with pytest.raises(ConfigurationError, match="TOKEN_TOUCH_INTERVAL cannot be used"):
        create_app(settings)
