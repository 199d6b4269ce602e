"""An account that has something gets only an address that its user has proved."""

import pytest
from sqlalchemy import select, update

from app.audit.models import AuditRecord
from app.database.session import db
from app.factors.passkeys.models import Passkey
from app.signals import email_change_request
from app.users.models import AccessToken
from tests.conftest import NEW, PASSWORD
from tests.support.answers import field_codes, refusal
from tests.support.email_codes import (
    ORIGIN,
    SETTINGS,
    TOKEN,
    UNPROVED,
    add,
    email_of,
    is_verified,
    noted,
    prove,
)
from tests.support.passkeys import Authenticator
from tests.support.races import at_once
from tests.support.rows import count, make_admin
from tests.support.second_factors import Device

EMAIL, OTHER = "ada@example.com", "victim@example.com"
CREDENTIALS = {"email": EMAIL, "password": PASSWORD}


@pytest.fixture
def app(shared_app):
    return shared_app(**SETTINGS)


@pytest.fixture
def mailed(app, secrets):
    """The codes that are mailed, and to which address, the oldest first."""
    with noted(app, secrets) as found:
        yield found


@pytest.mark.parametrize("kind", ["totp", "passkey", "personal"])
@pytest.mark.parametrize(
    ("verb", "path"), [("PATCH", "/users/1"), ("PUT", "/users/1"), ("POST", "/users/1/replace")]
)
def test_it_is_not_given_to_somebody_else(app, api, mailed, kind, verb, path):
    token = api.logged_in()
    add(api, token, kind)
    refused = api(verb, path, {"email": OTHER}, token=token)

    assert refusal(refused) == UNPROVED
    assert refused.json["error"]["details"] == {"email": OTHER}
    assert (email_of(app), mailed) == (EMAIL, [])


def test_it_is_given_once_it_is_proved(app, api, mailed):
    token = api.logged_in()
    add(api, token, "totp")
    prove(api, token, mailed, email="Victim@Example.com")
    before = email_of(app)
    changed = api("PATCH", "/users/1", {"email": OTHER}, token=token)
    with app.app_context():
        actions = select(AuditRecord.action).order_by(AuditRecord.id.desc()).limit(2)
        assert db.session.scalars(actions).all() == ["email-verified", "email-changed"]

    assert mailed[0][1] == OTHER
    assert before == EMAIL
    assert (changed.json["email"], changed.json["emailVerified"]) == (OTHER, True)
    # It is one change that it is for.
    api("PATCH", "/users/1", {"email": EMAIL}, token=token)
    assert email_of(app) == OTHER


def test_a_proof_takes_the_rest_that_a_new_address_takes(app, api, mailed):
    token = api.logged_in()
    api.secrets.append(api("POST", "/users/login", CREDENTIALS).json["id"])
    stolen = api.secrets[-1]
    add(api, token, "totp")
    prove(api, stolen, mailed, email=OTHER)
    refused = api("PATCH", "/users/1", {"email": OTHER, "password": PASSWORD}, token=stolen)

    assert refusal(refused) == (401, "STRONGER_LOGIN_REQUIRED")
    assert email_of(app) == EMAIL


@pytest.mark.both_databases
def test_a_proof_is_for_ten_minutes_and_for_one_address(app, api, mailed):
    token = api.logged_in()
    add(api, token, "personal")
    prove(api, token, mailed, email=OTHER)
    other = api("PATCH", "/users/1", {"email": "third@example.com"}, token=token)
    with app.app_context():
        proved = AccessToken.scope == "proved-email"
        row = db.session.scalar(select(AccessToken).where(proved))
        assert (row.expires_at - row.created).total_seconds() == 600
        db.session.execute(update(AccessToken).where(proved).values(expires_at=row.created))
        db.session.commit()
    late = api("PATCH", "/users/1", {"email": OTHER}, token=token)

    assert refusal(other) == refusal(late) == UNPROVED


def test_a_proof_is_for_its_user(app, api, mailed):
    ada, bob = api.logged_in(), api.logged_in("bob@example.com")
    add(api, ada, "personal")
    prove(api, bob, mailed, email=OTHER)

    assert refusal(api("PATCH", "/users/1", {"email": OTHER}, token=ada)) == UNPROVED


def test_an_address_of_another_user_stays_theirs(app, api, mailed):
    token = api.logged_in()
    api.logged_in(OTHER)
    add(api, token, "personal")
    prove(api, token, mailed, email=OTHER)
    taken = api("PATCH", "/users/1", {"email": OTHER}, token=token)

    assert field_codes(taken) == {"email": ["uniqueness"]}


def test_without_anything_it_takes_no_proof_and_is_verified_by_one(app, api, mailed):
    token = api.logged_in()
    changed = api("PATCH", "/users/1", {"email": OTHER}, token=token).json["emailVerified"]
    prove(api, token, mailed, email=EMAIL)
    back = api("PATCH", "/users/1", {"email": EMAIL}, token=token).json["emailVerified"]

    assert (changed, back) == (False, True)


def test_others_who_may_give_an_account_another_address_do_so(app, api):
    add(api, api.logged_in(), "totp")
    admin = api.logged_in("root@example.com")
    make_admin(app, user_id=2)
    changed = api("PATCH", "/users/1", {"email": OTHER}, token=admin)

    assert (changed.status_code, changed.json["emailVerified"]) == (200, False)


def test_what_was_begun_before_the_change_is_not_added_after_it(app, api):
    token = api.logged_in()
    made = api("POST", "/users/1/factors/totp", {}, token=token).json
    given = api("POST", "/users/1/passkeys/options", token=token).json
    api.secrets.append(made["secret"])
    assert api("PATCH", "/users/1", {"email": OTHER}, token=token).status_code == 200
    code = {"code": Device(made["secret"]).code()}
    key = {"credential": Authenticator(ORIGIN).make(given)}

    confirmed = api("POST", "/users/1/factors/totp/confirm", code, token=token)
    added = api("POST", "/users/1/passkeys", key, token=token)
    assert refusal(confirmed) == refusal(added) == UNPROVED
    assert api("GET", "/users/1/factors", token=token).json == []
    assert count(app, Passkey) == 0


@pytest.mark.both_databases
def test_of_a_change_and_an_addition_at_once_one_passes(app, api):
    token = api.logged_in()
    headers = {"Authorization": token}

    def change(client):
        return client.patch("/api/users/1", json={"email": OTHER}, headers=headers)

    def make(client):
        return client.post("/api/users/1/personalTokens", json=TOKEN, headers=headers)

    changed, made = at_once(app, change, make)
    api.secrets.append(made.json.get("token", NEW))

    assert sorted([changed.status_code, made.status_code]) == [200, 401]


class TestConfirmedChange:
    """The same, where a new address is stored when it is confirmed."""

    @pytest.fixture
    def app(self, shared_app):
        return shared_app(**SETTINGS, EMAIL_CHANGE="confirmed")

    @pytest.fixture
    def links(self, app, secrets):
        """The tokens of the links that are mailed."""
        found = []

        def note(_sender, info):
            found.append(info["accessToken"].id)
            secrets.append(found[-1])

        with email_change_request.connected_to(note, sender=app):
            yield found

    def change(self, api, token, password=PASSWORD):
        body = {"newEmail": OTHER, "password": password}
        return api("POST", "/users/change-email", body, token=token)

    @pytest.mark.parametrize("kind", ["totp", "passkey", "personal"])
    def test_no_link_gives_an_account_to_somebody_else(self, app, api, links, kind):
        token = api.logged_in()
        add(api, token, kind)
        refused = self.change(api, token)

        assert refusal(refused) == UNPROVED
        assert refused.json["error"]["details"] == {"email": OTHER}
        assert links == []

    @pytest.mark.parametrize("kind", ["totp", "passkey", "personal"])
    def test_a_link_of_before_gives_it_no_more(self, app, api, links, kind):
        token = api.logged_in()
        assert self.change(api, token).status_code == 204
        add(api, token, kind)
        page = api.client.get(f"/confirm-email?token={links[0]}")
        answer = api.client.post("/confirm-email", data={"token": links[0]})

        assert (page.status_code, answer.status_code) == (400, 400)
        assert email_of(app) == EMAIL

    @pytest.mark.both_databases
    def test_an_address_that_was_proved_is_given_at_once(self, app, api, mailed, links):
        token = api.logged_in()
        api.secrets.append(api("POST", "/users/login", CREDENTIALS).json["id"])
        other = api.secrets[-1]
        add(api, token, "totp")
        prove(api, token, mailed, email=OTHER)
        wrong = self.change(api, token, "not the password")
        done = self.change(api, token)

        assert (refusal(wrong), done.status_code) == ((400, "INVALID_PASSWORD"), 204)
        assert (email_of(app), is_verified(app), links) == (OTHER, True, [])
        assert api("GET", "/users/1", token=token).status_code == 200
        assert api("GET", "/users/1", token=other).status_code == 401

    def test_an_address_of_another_user_is_said_to_who_has_proved_it(self, app, api, mailed):
        token = api.logged_in()
        api.logged_in(OTHER)
        add(api, token, "totp")
        prove(api, token, mailed, email=OTHER)

        assert field_codes(self.change(api, token)) == {"email": ["uniqueness"]}
