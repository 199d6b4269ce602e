"""Each model of users has its own accounts: what logs in, and what a token is for."""

import pytest

from app.signals import reset_password_request, verification_request
from app.users import service
from tests.conftest import PASSWORD

from .shop import CONFIG, CUSTOMERS, MODELS, STAFF_PATH

pytestmark = pytest.mark.both_databases
OTHER = {CUSTOMERS: STAFF_PATH, STAFF_PATH: CUSTOMERS}
NEW = "an even quieter harbour"


def log_in(api, path, email, password=PASSWORD, **more):
    answer = api("POST", f"{path}/login", {"email": email, "password": password, **more})
    if answer.status_code == 200:
        api.secrets.append(answer.json["id"])
    return answer


def status(answer):
    return answer.status_code


@pytest.fixture
def mailed(api):
    """The tokens that were mailed, by the name of the event."""
    app, tokens = api.client.application, {}

    def note(name):
        def receive(sender, info):
            api.secrets.append(info["accessToken"].id)
            tokens.setdefault(name, []).append(info["accessToken"].id)

        return receive

    receivers = [
        (event, note(event.name)) for event in (reset_password_request, verification_request)
    ]
    for event, receive in receivers:
        event.connect(receive, sender=app)
    yield tokens
    for event, receive in receivers:
        event.disconnect(receive, sender=app)


def test_an_address_may_be_that_of_a_user_of_each_model(api, customer, staff):
    assert customer.id != staff.id
    assert (customer.login["userId"], staff.login["userId"]) == (customer.id, staff.id)
    types = customer.login["principalType"], staff.login["principalType"]
    assert types == ("Customer", "Staff")
    for path in OTHER:
        taken = api("POST", path, {"email": staff.email, "password": PASSWORD})
        assert taken.json["error"]["details"]["codes"] == {"email": ["uniqueness"]}


def test_a_username_may_be_that_of_a_user_of_each_model(api):
    given = {"username": "ada", "password": PASSWORD}
    for path, email in ((CUSTOMERS, "a@example.com"), (STAFF_PATH, "b@example.com")):
        assert status(api("POST", path, {**given, "email": email})) == 200
        answer = api("POST", f"{path}/login", given)
        api.secrets.append(answer.json["id"])
        assert answer.status_code == 200
    taken = api("POST", STAFF_PATH, {**given, "email": "c@example.com"})
    assert taken.json["error"]["details"]["codes"] == {"username": ["uniqueness"]}


@pytest.mark.parametrize("path", OTHER)
def test_a_login_finds_users_of_its_own_model_only(api, path):
    api("POST", path, {"email": "only@example.com", "username": "only", "password": PASSWORD})

    assert status(log_in(api, path, "only@example.com")) == 200
    assert status(log_in(api, OTHER[path], "only@example.com")) == 401
    named = api("POST", f"{OTHER[path]}/login", {"username": "only", "password": PASSWORD})
    assert named.status_code == 401


def test_the_password_of_one_model_does_not_open_the_account_of_the_other(api, customer):
    given = {"email": customer.email, "password": "another quiet harbour"}
    assert status(api("POST", STAFF_PATH, given)) == 200

    assert status(log_in(api, STAFF_PATH, customer.email)) == 401
    assert status(log_in(api, CUSTOMERS, customer.email, given["password"])) == 401
    assert status(log_in(api, STAFF_PATH, customer.email, given["password"])) == 200


@pytest.mark.parametrize("path", OTHER)
def test_failed_logins_of_one_model_do_not_lock_the_other(serve, path):
    limits = {"login_identity": {"limit": 2}}
    api = serve(MODELS, CONFIG, THROTTLE_ENABLED=True, THROTTLES=limits)
    for each in OTHER:
        api("POST", each, {"email": "ada@example.com", "password": PASSWORD})
    for _ in range(2):
        log_in(api, path, "ada@example.com", "wrong")

    assert status(log_in(api, path, "ada@example.com")) == 429
    assert status(log_in(api, OTHER[path], "ada@example.com")) == 200


def test_options_apply_to_the_tokens_of_their_model(api, customer, staff):
    assert (customer.login["ttl"], staff.login["ttl"]) == (1209600, 3600)


def test_the_user_of_a_login_has_the_properties_of_its_model(api, customer, staff):
    users = {}
    for path in OTHER:
        given = {"email": staff.email, "password": PASSWORD}
        answer = api("POST", f"{path}/login?include=user", given)
        api.secrets.append(answer.json["id"])
        users[path] = answer.json["user"]
    assert users[CUSTOMERS].keys() >= {"phone", "level"}
    assert "badge" not in users[CUSTOMERS]
    assert users[STAFF_PATH].keys() >= {"badge", "level", "shopId"}
    assert "phone" not in users[STAFF_PATH]
    assert (users[CUSTOMERS]["id"], users[STAFF_PATH]["id"]) == (customer.id, staff.id)


@pytest.mark.parametrize("path", OTHER)
def test_a_password_is_changed_by_the_path_of_its_model(api, customer, staff, path):
    person = customer if path == CUSTOMERS else staff
    body = {"oldPassword": PASSWORD, "newPassword": NEW}

    refused = api("POST", f"{OTHER[path]}/change-password", body, token=person.token)
    assert refused.status_code == 401
    changed = api("POST", f"{path}/change-password", body, token=person.token)
    assert changed.status_code == 204
    assert status(log_in(api, path, person.email, NEW)) == 200
    assert status(log_in(api, OTHER[path], person.email)) == 200


@pytest.mark.parametrize("path", OTHER)
def test_a_reset_concerns_the_user_of_its_model_only(api, customer, staff, mailed, path):
    assert status(api("POST", f"{path}/reset", {"email": staff.email})) == 200
    [token] = mailed["resetPasswordRequest"]

    refused = api("POST", f"{OTHER[path]}/reset-password", {"newPassword": NEW}, token=token)
    assert refused.status_code == 401
    done = api("POST", f"{path}/reset-password", {"newPassword": NEW}, token=token)
    assert done.status_code == 204
    assert status(log_in(api, path, staff.email, NEW)) == 200
    assert status(log_in(api, OTHER[path], staff.email, PASSWORD)) == 200


@pytest.mark.parametrize("path", OTHER)
def test_a_reset_of_one_model_does_not_find_a_user_of_the_other(api, mailed, path):
    api("POST", path, {"email": "only@example.com", "password": PASSWORD})

    assert status(api("POST", f"{OTHER[path]}/reset", {"email": "only@example.com"})) == 200
    assert mailed == {}


def test_an_address_is_verified_by_the_path_of_its_model(serve_verifying, mailed_of):
    api = serve_verifying()
    mailed = mailed_of(api)
    ids = {
        path: api("POST", path, {"email": "ada@example.com", "password": PASSWORD}).json["id"]
        for path in OTHER
    }
    # Customers only: it is an option of theirs.
    [token] = mailed
    uid = ids[CUSTOMERS]
    assert status(log_in(api, CUSTOMERS, "ada@example.com")) == 401
    assert status(log_in(api, STAFF_PATH, "ada@example.com")) == 200
    refused = api("GET", f"{STAFF_PATH}/confirm?uid={uid}&token={token}")
    assert refused.status_code == 401
    assert status(api("GET", f"{CUSTOMERS}/confirm?uid={uid}&token={token}")) == 204
    assert status(log_in(api, CUSTOMERS, "ada@example.com")) == 200


@pytest.mark.parametrize("path", OTHER)
def test_another_mail_to_verify_is_asked_for_by_the_path_of_the_model(api, customer, staff, path):
    # The answer is the same, whether there is such a user or not.
    for person in (customer, staff):
        assert status(api("POST", f"{path}/{person.id}/verify")) in (204, 404)


def test_a_session_is_ended_by_either_path(api, customer, staff):
    # As in LoopBack 3: a token is its holder's to delete.
    assert status(api("POST", f"{STAFF_PATH}/logout", token=customer.token)) == 204
    assert status(api("POST", f"{STAFF_PATH}/logout", token=staff.token)) == 204
    assert status(api("GET", f"{CUSTOMERS}/{customer.id}", token=customer.token)) == 401


def test_functions_take_the_name_of_the_model(api, customer, staff, secrets):
    with api.client.application.app_context():
        assert service.find_user(staff.email).id == customer.id
        assert service.find_user(staff.email, principal_type="Staff").id == staff.id
        new = service.create_user(
            "eve@example.com", PASSWORD, principal_type="Staff", staff_badge="7"
        )
        token = service.issue_token(new.id)
        secrets.append(token.id)
        assert (new.principal_type, token.ttl) == ("Staff", 3600)
        assert service.find_user("eve@example.com") is None
        credentials = {"email": "eve@example.com", "password": PASSWORD}
        token = service.login(credentials, principal_type="Staff")
        secrets.append(token.id)
    assert api("GET", f"{STAFF_PATH}/{new.id}", token=token.id).json["badge"] == "7"
