"""The programmatic API: plain functions with plain arguments."""

import pytest
from werkzeug.security import generate_password_hash

from app import errors
from app.database import purging
from app.database.session import db
from app.users import service
from app.users.models import AccessToken
from app.users.sessions import tokens
from tests.conftest import NEW, PASSWORD
from tests.support.rows import count, expire, store_hash
from tests.support.waiting import is_recent

CREDENTIALS = {"email": "ada@example.com", "password": PASSWORD}


@pytest.fixture(autouse=True)
def _context(app):
    with app.app_context():
        yield


@pytest.fixture
def login(secrets):
    def login(*arguments, **options):
        token = service.login(*arguments, **options)
        secrets.append(token.id)
        return token

    return login


@pytest.fixture
def user():
    return service.create_user("ada@example.com", PASSWORD, username="ada")


def test_create_user_returns_the_user(user):
    assert (user.id, user.email, user.username) == (1, "ada@example.com", "ada")
    assert user.created.tzinfo is not None


def test_create_user_rejects_a_taken_name(user):
    with pytest.raises(errors.ValidationError) as caught:
        service.create_user("ada@example.com", PASSWORD)

    assert caught.value.details["codes"] == {"email": ["uniqueness"]}


def test_login_returns_the_token(user, login):
    token = login({**CREDENTIALS, "ttl": 600})

    assert len(token.id) == 64
    assert (token.ttl, token.user_id, token.user) == (600, user.id, None)
    assert is_recent(token.created)


@pytest.mark.parametrize(
    ("include", "included"),
    [
        (None, False),
        ("user", True),
        ("USER", True),
        (["user"], True),
        (("roles", "user"), True),
        ("roles", False),
        ([], False),
    ],
)
def test_login_includes_the_user_on_request(user, login, include, included):
    token = login(CREDENTIALS, include)

    assert (token.user is not None) is included


def test_login_raises_the_errors_of_the_endpoint(user):
    with pytest.raises(errors.LoginFailed, match="login failed"):
        service.login({**CREDENTIALS, "password": "wrong"})
    with pytest.raises(errors.UsernameOrEmailRequired, match="username or email is required"):
        service.login({})


def test_the_repr_of_a_token_hides_its_value(user, login):
    token = login(CREDENTIALS)

    assert token.id not in repr(token)
    assert token.id not in str(token)


def test_logout_ends_the_token(app, user, login):
    token, other = login(CREDENTIALS), login(CREDENTIALS)

    service.logout(token.id)

    assert count(app, AccessToken) == 1
    with pytest.raises(errors.AccessTokenRequired):
        service.logout(token.id)
    service.logout(other.id)


def test_destroy_all_tokens_ends_those_of_one_user(app, user, login):
    service.create_user("bob@example.com", PASSWORD)
    for email in ("ada@example.com", "ada@example.com", "bob@example.com"):
        login({**CREDENTIALS, "email": email})

    destroyed = service.destroy_all_tokens(user.id)

    assert destroyed == 2
    assert count(app, AccessToken) == 1
    assert service.destroy_all_tokens(user.id) == 0


def test_request_password_reset_emits_the_event(user, reset_events):
    answer = service.request_password_reset("ada@example.com")

    assert answer is None
    assert reset_events[0]["user"].id == user.id


def test_request_password_reset_for_an_unknown_user_emits_nothing(user, reset_events):
    service.request_password_reset("eve@example.com")
    service.request_password_reset("ada@example.com", "acme")

    assert reset_events == []


def test_change_password_requires_the_old_password(user, login, secrets):
    secrets.append(NEW)
    with pytest.raises(errors.InvalidPassword):
        service.change_password(user.id, "wrong", NEW)

    service.change_password(user.id, PASSWORD, NEW)

    assert login({**CREDENTIALS, "password": NEW}).user_id == user.id


def test_a_user_with_an_imported_hash_logs_in_repeatedly(app, user, login):
    store_hash(app, generate_password_hash(PASSWORD, "pbkdf2:sha256:1000"))
    db.session.expire_all()

    assert [login(CREDENTIALS).user_id for _ in range(3)] == [user.id] * 3


def test_change_password_ends_every_token(app, user, login):
    login(CREDENTIALS)

    service.change_password(user.id, PASSWORD, NEW)

    assert count(app, AccessToken) == 0


def test_change_password_for_an_unknown_user_is_not_found():
    with pytest.raises(errors.ModelNotFound):
        service.change_password(7, PASSWORD, NEW)


def test_purge_works_in_batches(app, user, login, monkeypatch):
    monkeypatch.setattr(purging, "PURGE_BATCH", 2)
    for _ in range(5):
        expire(app, login(CREDENTIALS).id)

    assert tokens.purge_tokens() == 5
    assert count(app, AccessToken) == 0
