"""The throttled endpoints of users: what is counted, by what, and what tells nobody anything."""

import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from threading import Event

import argon2
import pytest
from sqlalchemy import select

from app import hash_slots
from app.audit.models import AuditRecord
from app.database.session import db
from app.signals import reset_password_request
from app.users.passwords import hashing
from tests.conftest import NEW, PASSWORD, Api
from tests.support.answers import field_codes, refusal
from tests.support.rows import make_old, statements
from tests.support.throttles import WRONG, counts, log_in, log_in_right, pass_time
from tests.support.waiting import eventually

LOCKED = (429, "TOO_MANY_REQUESTS")

pytestmark = pytest.mark.usefixtures("stopped_clock")


@pytest.fixture
def app(shared_app):
    return shared_app(THROTTLE_ENABLED=True)


@pytest.fixture
def with_settings(shared_app, secrets):
    """Return the API with further settings."""
    return lambda **settings: Api(
        shared_app(THROTTLE_ENABLED=True, **settings).test_client(), secrets
    )


def clients(number):
    """Return addresses, each of another client."""
    return [f"198.51.100.{n}" for n in range(number)]


def lock(api, **who):
    """Fail to log in, from several clients, as often as it takes."""
    statuses = {log_in(api, client=client, **who).status_code for client in clients(5)}
    assert statuses == {401}


def facts(response):
    """Return all of a response that a client sees, but for what differs from each to the next."""
    headers = {name: value for name, value in response.headers if name != "X-Request-Id"}
    return response.status_code, headers, response.data


def test_after_five_failures_the_right_password_is_refused_as_well(app, api):
    api.register()
    lock(api)

    wrong, right = log_in(api), log_in_right(api)

    assert refusal(right) == LOCKED
    assert right.headers["Retry-After"] == "60"
    assert right.json["message"] == "Too many attempts. Try again later."
    assert facts(wrong) == facts(right)
    pass_time(app, 60)
    assert log_in_right(api).status_code == 200


def test_successful_logins_are_not_limited_and_hide_no_failures(api):
    api.register()

    statuses = [log_in_right(api).status_code for _ in range(12)]
    for client in clients(4):
        statuses.append(log_in(api, client=client).status_code)
        statuses.append(log_in_right(api).status_code)
    statuses += [log_in(api, client=c).status_code for c in ("203.0.113.1", "203.0.113.2")]

    assert statuses == [200] * 12 + [401, 200] * 4 + [401, 429]


@pytest.mark.parametrize(
    "who",
    [
        {"email": "ada@example.com"},
        {"email": "Ada@Example.com"},
        {"email": "ADA@EXAMPLE.COM", "username": "somebody else"},
        {"username": "Ada Lovelace"},
        {"username": "\uff21\uff24\uff21  lovelace"},
        {"username": "ada lovelace", "email": ""},
        {"username": "ada lovelace", "email": None, "realm": ""},
    ],
)
def test_every_spelling_of_a_name_has_the_same_budget(api, who):
    api.register(username="Ada Lovelace")
    plain = "email" if who.get("email") else "username"
    name = {"email": "ada@example.com", "username": "ada lovelace"}[plain]
    assert log_in_right(api, **who).status_code == 200

    lock(api, **who)

    assert refusal(log_in_right(api, **{plain: name})) == LOCKED


def test_the_forms_of_a_realm_have_the_same_budget(with_settings):
    api = with_settings(REALM_DELIMITER=":")
    api.register(realm="acme")
    lock(api, email="acme:ada@example.com")

    forms = [
        {"email": "ada@example.com", "realm": "acme"},
        {"email": "acme:ada@example.com", "realm": "other"},
    ]

    assert [refusal(log_in_right(api, **form)) for form in forms] == [LOCKED] * 2
    assert log_in(api, email="ada@example.com", realm="other").status_code == 401


def test_email_and_username_have_a_budget_each(api):
    api.register(username="ada")
    lock(api, email="ada@example.com")

    assert refusal(log_in_right(api)) == LOCKED
    assert log_in_right(api, username="ada").status_code == 200


def test_one_client_fails_ten_times_a_minute_whoever_it_tries(app, api):
    api.register()
    statuses = [log_in(api, email=f"{n}@example.com").status_code for n in range(11)]

    assert statuses == [401] * 10 + [429]
    assert log_in_right(api).headers["Retry-After"] == "60"
    assert log_in_right(api, client="192.0.2.2").status_code == 200
    # What is refused by address is not counted against the identity.
    assert counts(app)["login_identity"] == [0, *[1] * 10]
    pass_time(app, 60)
    assert log_in_right(api).status_code == 200


@pytest.mark.parametrize(
    ("client", "same", "other"),
    [
        ("192.0.2.1", "::ffff:192.0.2.1", "192.0.2.2"),
        ("::ffff:c000:201", "192.0.2.1", "::ffff:192.0.2.2"),
        ("2001:db8::1", "2001:db8::ffff:ffff:ffff:ffff", "2001:db8:0:1::1"),
        ("2001:db8::1", "2001:DB8:0:0:9::%eth0", "2001:db8:1::1"),
        ("192.0.2.1:80", "192.0.2.1:81", "192.0.2.2:80"),
        ("[2001:db8::1]:80", "[2001:db8::2]:81", "[2001:db8:0:1::1]:80"),
        ("", "unknown", "192.0.2.1"),
    ],
)
def test_clients_are_counted_by_network(with_settings, client, same, other):
    api = with_settings(THROTTLES={"login_address": {"limit": 1}})
    tries = [client, same, other]

    found = [log_in(api, client=client, email=f"{client}@x").status_code for client in tries]

    assert found == [401, 429, 401]


@pytest.mark.parametrize(
    ("proxies", "expected"),
    # Without a trusted proxy the header counts for nothing; with one, its last entry does.
    [(0, [401, 429, 429, 429]), (1, [401, 401, 429, 401])],
)
def test_the_address_is_taken_from_trusted_proxies_alone(with_settings, proxies, expected):
    api = with_settings(TRUSTED_PROXIES=proxies, THROTTLES={"login_address": {"limit": 1}})
    tried = ["203.0.113.1", "203.0.113.2", "192.0.2.77, 203.0.113.2", "203.0.113.2, 203.0.113.3"]
    found = []
    for number, forwarded in enumerate(tried):
        headers = {"X-Forwarded-For": forwarded, "Forwarded": f"for={forwarded}"}
        headers |= {"X-Real-Ip": forwarded, "Client-Ip": forwarded}
        body = {"email": f"{number}@example.com", "password": WRONG}
        found.append(api("POST", "/users/login", body, headers=headers).status_code)

    assert found == expected


def test_a_client_registers_twenty_users_a_minute(app, api):
    one = api("POST", "/users", {"email": "0@example.com", "password": PASSWORD})
    bodies = [{"email": f"{n}@example.com", "password": PASSWORD} for n in range(1, 20)]
    array = api("POST", "/users", bodies)
    # Taken and not taken alike.
    more = [
        api("POST", "/users", {"email": email, "password": PASSWORD})
        for email in ("0@example.com", "21@example.com")
    ]

    assert [one.status_code, array.status_code] == [200, 200]
    assert [refusal(answer) for answer in more] == [LOCKED] * 2
    assert facts(more[0]) == facts(more[1])
    pass_time(app, 60)
    again = api("POST", "/users", {"email": "0@example.com", "password": PASSWORD})
    assert field_codes(again) == {"email": ["uniqueness"]}


def reset(api, email, client="192.0.2.1", **fields):
    environ = {"REMOTE_ADDR": client}
    return api("POST", "/users/reset", {"email": email, **fields}, environ_overrides=environ)


def complete(api, token, password=NEW):
    response = api("POST", "/users/reset-password", {"newPassword": password}, token=token)
    assert response.status_code == 204


def test_a_client_requests_five_resets_for_an_email_and_then_nothing_is_sent(
    app, api, reset_events
):
    api.register()
    spellings = ["ada@example.com", "ADA@example.com", "Ada@EXAMPLE.com"] * 2

    known = [reset(api, email) for email in spellings]
    sent = len(reset_events)
    unknown = [reset(api, "bob@example.com") for _ in spellings]

    assert [answer.status_code for answer in known] == [200] * 6
    assert list(map(facts, known)) == list(map(facts, unknown))
    assert sent == 5
    # A client of another network is not concerned, and neither is another realm's user.
    assert reset(api, "ada@example.com", "192.0.2.2").status_code == 200
    assert len(reset_events) == 6
    assert counts(app)["reset_email"] == [1, 5, 5]
    reset(api, "ada@example.com", realm="acme")
    assert counts(app)["reset_email"] == [1, 1, 5, 5]


def test_resets_for_an_email_are_counted_by_network(app, api, reset_events):
    api.register()

    for number in range(8):
        reset(api, "ada@example.com", f"2001:db8::{number}")
    reset(api, "ada@example.com", "2001:db8:0:1::1")

    assert len(reset_events) == 6


def test_ten_resets_in_a_quarter_of_an_hour_are_mailed_to_one_mailbox(app, api, reset_events):
    # Many servers deliver what differs behind a + to one mailbox; realms do so in any case.
    api.register()
    api.register("ada+1@example.com")
    api.register(realm="acme")
    who = [{"email": "ada@example.com"}, {"email": "ada+1@example.com"}]
    who.append({"email": "Ada@example.com", "realm": "acme"})

    answers = [reset(api, client=client, **who[n % 3]) for n, client in enumerate(clients(12))]
    other = [reset(api, f"bob+{n}@example.com", client) for n, client in enumerate(clients(12))]

    assert [answer.status_code for answer in answers] == [200] * 12
    assert list(map(facts, answers)) == list(map(facts, other))
    assert len(reset_events) == 10
    pass_time(app, 900)
    reset(api, "ada@example.com")
    assert len(reset_events) == 11


def test_requests_for_addresses_that_nobody_has_use_up_no_budget(app, api, reset_events):
    api.register()
    for number, client in enumerate(clients(12)):
        reset(api, f"ada+{number}@example.com", client)
    reset(api, "ada@example.com", "203.0.113.1")

    assert [info["email"] for info in reset_events] == ["ada@example.com"]


def test_accounts_of_strangers_use_up_no_budget_of_a_verified_address(app, api, reset_events):
    api.register()
    reset(api, "ada@example.com")
    complete(api, reset_events[0]["accessToken"].id)
    for number, client in enumerate(clients(12)):
        api.register(f"ada+{number}@example.com")
        reset(api, f"ada+{number}@example.com", client)
    # Those of a mailbox share its budget, as did ada's until the reset.
    assert len(reset_events) == 10
    reset(api, "ada@example.com", "203.0.113.1")

    assert reset_events[-1]["email"] == "ada@example.com"


def test_whoever_is_over_the_budget_of_resets_has_a_link_that_works(app, api, reset_events):
    """Its windows end no later than the links that were mailed within them."""
    throttles = app.config["THROTTLES"]

    for name in ("reset_email", "reset_recipient"):
        assert throttles[name]["seconds"] <= app.config["RESET_TOKEN_TTL"]

    api.register()
    for client in clients(20):
        reset(api, "ada@example.com", client)
    first = reset_events[0]["accessToken"].id
    complete(api, first)
    assert log_in(api, NEW).status_code == 200


def test_a_stranger_locks_nobody_out_by_failed_logins_and_resets(app, api, reset_events):
    api.register()
    stranger, owner = "198.51.100.1", "203.0.113.1"
    for _ in range(5):
        assert log_in(api, client=stranger).status_code == 401
    for _ in range(7):
        reset(api, "ada@example.com", stranger)
    del reset_events[:]
    locked = log_in_right(api, owner)

    answer = reset(api, "ada@example.com", owner)
    complete(api, reset_events[0]["accessToken"].id)

    assert refusal(locked) == LOCKED
    assert (answer.status_code, answer.json) == (200, {})
    assert log_in(api, NEW, owner).status_code == 200


def test_resets_that_are_not_sent_are_in_the_audit_log(app, api):
    for _ in range(6):
        reset(api, "ada@example.com")

    with app.app_context():
        [record] = db.session.scalars(select(AuditRecord))
    assert (record.action, record.details["throttle"]) == ("throttled", "reset_email")


def test_a_client_requests_twenty_resets_a_minute(api):
    statuses = [reset(api, f"{n}@example.com").status_code for n in range(21)]

    assert statuses == [200] * 20 + [429]
    assert reset(api, "1@example.com", "192.0.2.2").status_code == 200


def test_a_client_sends_twenty_new_passwords_a_minute(app, api, client, reset_token):
    weak = {"access_token": reset_token, "newPassword": "short"}
    strong = {**weak, "newPassword": NEW}
    statuses = [client.post("/reset-password", data=weak).status_code for _ in range(10)]
    for _ in range(10):
        body = {"newPassword": "short"}
        statuses.append(api("POST", "/users/reset-password", body, token=reset_token).status_code)
    page = client.post("/reset-password", data=strong)
    refused = api("POST", "/users/reset-password", {"newPassword": NEW}, token=reset_token)

    assert statuses == [422] * 20
    assert refusal(refused) == LOCKED
    assert (page.status_code, page.headers["Retry-After"]) == (429, "60")
    assert "Too many attempts. Try again later." in page.text
    # Looking at the form is free, and the token is as good as before.
    assert client.get(f"/reset-password?access_token={reset_token}").status_code == 200
    pass_time(app, 60)
    assert client.post("/reset-password", data=strong).status_code == 200


def test_a_completed_reset_unlocks_the_user(api, reset_token):
    api("PATCH", "/users/1", {"username": "ada"}, token=api.login()["id"])
    lock(api, email="ada@example.com")
    lock(api, username="ada")
    lock(api, email="bob@example.com")

    api("POST", "/users/reset-password", {"newPassword": NEW}, token=reset_token)

    assert log_in(api, NEW).status_code == 200
    assert log_in(api, NEW, username="ada").status_code == 200
    assert refusal(log_in(api, NEW, email="bob@example.com")) == LOCKED


def test_a_password_set_by_command_unlocks_the_user(api, runner):
    api.register()
    lock(api)

    runner.invoke(args=["users", "set-password", "ada@example.com", "--password-stdin"], input=NEW)

    assert log_in(api, NEW).status_code == 200


def test_five_wrong_passwords_of_a_session_lock_the_checks_of_its_user(app, api, token):
    other = api.newcomer("bob@example.com")
    make_old(app, token)

    def change(old, who=token):
        body = {"oldPassword": old, "newPassword": NEW}
        return api("POST", "/users/change-password", body, token=who)

    def new_email(password):
        body = {"email": "new@example.com", "password": password}
        return api("PATCH", "/users/1", body, token=token)

    wrong = [change(WRONG), new_email(WRONG), change(WRONG), new_email(WRONG), change(WRONG)]
    right = [change(PASSWORD), new_email(PASSWORD)]

    assert [refusal(answer) for answer in wrong] == [(400, "INVALID_PASSWORD")] * 5
    assert [refusal(answer) for answer in right] == [LOCKED] * 2
    # Neither a login nor another user is concerned.
    assert log_in_right(api).status_code == 200
    assert change(PASSWORD, other).status_code == 204
    pass_time(app, 60)
    assert change(PASSWORD).status_code == 204


def count_hashes(monkeypatch):
    """Note every password hash that is computed from now on."""
    found = []
    for name in ("verify", "hash"):
        compute = getattr(argon2.PasswordHasher, name)

        def counted(*arguments, name=name, compute=compute):
            found.append(name)
            return compute(*arguments)

        monkeypatch.setattr(argon2.PasswordHasher, name, counted)
    return found


@pytest.mark.parametrize(
    ("path", "body"), [("/users/login", {"password": WRONG}), ("/users/reset", {})]
)
def test_known_and_unknown_identities_make_the_same_work(with_settings, monkeypatch, path, body):
    few = {name: {"limit": 2} for name in ("login_identity", "reset_email")}
    api = with_settings(THROTTLES=few)
    api.register()
    # What a process asks or does now and then only.
    log_in(api, email="warm@example.com")
    hashes, work = count_hashes(monkeypatch), []

    with statements(api.client.application) as sent:
        for email in ("ada@example.com", "bob@example.com"):
            for _ in range(3):
                sent.clear()
                hashes.clear()
                response = api("POST", path, {"email": email, **body})
                work.append((facts(response), len(sent), list(hashes)))

    assert work[:3] == work[3:]
    assert [answer[0] for answer, _, _ in work[:3]] in ([401, 401, 429], [200, 200, 200])
    assert work[2][2] == []


def test_throttles_that_are_switched_off_cost_nothing(shared_app, secrets):
    app = shared_app(THROTTLE_ENABLED=False)
    api = Api(app.test_client(), secrets)
    api.register()
    with statements(app) as sent:
        assert {log_in(api).status_code for _ in range(30)} == {401}
        reset(api, "ada@example.com")

    assert not [statement for statement in sent if "throttles" in statement]


def test_what_is_not_throttled_counts_nothing(app, api, token):
    with statements(app) as sent:
        for path in ("/todos", "/users/1", "/users/1/accessTokens"):
            assert api("GET", path, token=token).status_code == 200
        api("GET", "/users/login")
        api("POST", "/users/login", {"password": WRONG})
        api("POST", "/users/reset", {"email": "no address"})

    assert not [statement for statement in sent if "throttles" in statement]


@pytest.mark.only_on("sqlite")
def test_nothing_passes_uncounted_while_the_database_is_locked(make_app, database_url, secrets):
    app = make_app(THROTTLE_ENABLED=True, STATEMENT_TIMEOUT=0.3)
    api = Api(app.test_client(), secrets)
    api.register()
    with closing(sqlite3.connect(database_url.removeprefix("sqlite:///"))) as other:
        other.execute("BEGIN IMMEDIATE")
        response = log_in_right(api)

    assert response.status_code == 503
    assert response.headers["Retry-After"]
    assert "id" not in response.json


def test_a_login_that_finds_no_place_to_hash_is_refused(make_app, secrets, monkeypatch):
    app = make_app(THROTTLE_ENABLED=True, PASSWORD_HASHES=1, PASSWORD_HASH_WAIT=0)
    api = Api(app.test_client(), secrets)
    token = api.newcomer()
    requests: list[dict] = []
    with reset_password_request.connected_to(lambda _, info: requests.append(info), sender=app):
        api("POST", "/users/reset", {"email": "ada@example.com"})
    reset_token = requests[0]["accessToken"].id
    secrets.append(reset_token)
    before = counts(app)
    arrived, go = Event(), Event()
    verify = hashing.verify_login

    def slow(*arguments):
        arrived.set()
        assert go.wait(60)
        return verify(*arguments)

    monkeypatch.setattr("app.users.sessions.login.verify_login", slow)
    with ThreadPoolExecutor(1) as pool:
        login = pool.submit(log_in_right, Api(app.test_client(), secrets))
        assert arrived.wait(60)
        during = counts(app)
        tried = [
            log_in_right(api),
            log_in_right(api, email="nobody@example.com"),
            api("POST", "/users", {"email": "bob@example.com", "password": PASSWORD}),
            api(
                "POST",
                "/users/change-password",
                {"oldPassword": PASSWORD, "newPassword": NEW},
                token=token,
            ),
            api("POST", "/users/reset-password", {"newPassword": NEW}, token=reset_token),
        ]
        todos = api("GET", "/todos", token=token)
        found = counts(app)
        go.set()

    assert {(answer.status_code, answer.json["error"]["code"]) for answer in tried} == {
        (503, "TOO_MANY_HASHES")
    }
    assert {answer.headers["Retry-After"] for answer in tried} == {"10"}
    assert facts(tried[0]) == facts(tried[1])
    assert todos.status_code == 200
    assert during == found
    assert login.result().status_code == 200
    assert before["login_identity"] == counts(app)["login_identity"] == [0]


def test_a_login_waits_in_its_thread_where_the_server_has_no_queue(make_app, secrets):
    app = make_app(THROTTLE_ENABLED=True, PASSWORD_HASHES=1)
    Api(app.test_client(), secrets).register()
    places = hash_slots.hash_slots.of(app)
    assert places.take()
    with ThreadPoolExecutor(3) as pool:
        logins = [pool.submit(log_in_right, Api(app.test_client(), secrets)) for _ in range(3)]
        eventually(lambda: places.waiting == 3)
        # As many threads as may have waited already.
        places.most_threads = 4
        refused = log_in_right(Api(app.test_client(), secrets))
        with places.turn(has_place=True):
            pass

    assert [login.result().status_code for login in logins] == [200] * 3
    assert refused.status_code == 503
    assert (places.in_use, places.waiting, places.refused) == (0, 0, 1)


def test_half_of_the_threads_hash_by_default(make_app, monkeypatch):
    limits = []
    monkeypatch.setattr(hash_slots, "Slots", lambda limit, _wait: limits.append(limit))
    for settings in ({"THREADS": 4}, {"THREADS": 1}, {"THREADS": 4, "PASSWORD_HASHES": 3}):
        make_app(**{"PASSWORD_HASHES": None, **settings})

    assert limits == [2, 1, 3]
