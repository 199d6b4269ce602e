"""The audit log: its records, `GET /users/{id}/audit` and `flask audit`."""

import json
from contextlib import contextmanager
from datetime import timedelta
from hashlib import sha256
from urllib.parse import quote

import pytest
from sqlalchemy import select, text, update

from app import signals
from app.access.roles import Role, RoleMapping
from app.audit import entries as audit
from app.audit.entries import Action
from app.audit.models import AuditRecord
from app.database.purging import purger
from app.database.session import db
from app.times import now
from app.users.models import AccessToken, User
from app.users.passwords.hashing import cached_schemes
from app.users.service import issue_token
from tests.conftest import NEW, PASSWORD, Api
from tests.support.answers import refusal
from tests.support.rows import count, make_old, statements
from tests.support.waiting import is_recent

# A data source whose remote is not there: a call is recorded before it is made.
GEO = {
    "connector": "rest",
    "public": True,
    "operations": [
        {"template": {"method": "GET", "url": "http://127.0.0.1:1/x"}, "functions": {"find": []}}
    ],
}
EVERYONE = [{"principalId": "$everyone", "permission": "ALLOW"}]
ADDRESS = "127.0.0.1"


@pytest.fixture
def app(shared_app):
    return shared_app(
        DATA_SOURCES={"geo": GEO}, ACLS={"geo": EVERYONE}, EMAIL_VERIFICATION="optional"
    )


@pytest.fixture
def token(api):
    """The token of the user with id 1, whose registration and login are recorded."""
    return api.newcomer()


def records(app):
    with app.app_context():
        found = db.session.scalars(select(AuditRecord).order_by(AuditRecord.id)).all()
    return [(item.action, item.actor_id, item.user_id, item.details) for item in found]


def forget(app):
    with app.app_context():
        audit.purge(-1)


def handle_of(app, token):
    with app.app_context():
        return db.session.get(AccessToken, sha256(token.encode()).hexdigest()).handle


class World:
    """A user with id 1, who has a session and the role clerk, and an unverified admin, id 2."""

    def __init__(self, app, api, events, reset_events):
        self.app, self.api = app, api
        self.token = api.newcomer()
        self.admin = api.newcomer("root@example.com")
        own, self.verify_token = events.tokens()
        self.confirm(own)
        self.run("roles", "grant", "root@example.com", "admin")
        self.run("roles", "grant", "ada@example.com", "clerk")
        api("POST", "/users/reset", {"email": "ada@example.com"})
        self.reset_token = reset_events[-1]["accessToken"].id
        self.handle = handle_of(app, self.token)
        forget(app)

    def confirm(self, token):
        return self.api.client.post("/confirm-email", data={"token": token})

    def run(self, *arguments, **options):
        return self.app.test_cli_runner().invoke(args=arguments, **options)

    def log_in(self, **fields):
        credentials = {"email": "ada@example.com", "password": PASSWORD, **fields}
        response = self.api("POST", "/users/login", credentials)
        self.api.secrets.append((response.json or {}).get("id") or PASSWORD)
        return response


@pytest.fixture
def world(app, api, events, reset_events):
    return World(app, api, events, reset_events)


def change_password(world):
    body = {"oldPassword": PASSWORD, "newPassword": NEW}
    return world.api("POST", "/users/change-password", body, token=world.token)


def register(world):
    body = {"email": "new@example.com", "password": PASSWORD}
    return world.api("POST", "/users", body, token=world.admin)


# For each action: a call that does it, and the record that it leaves, as (actor, user, details).
CASES = {
    Action.REGISTERED: (register, (2, "newest", {})),
    Action.LOGIN: (lambda world: world.log_in(), (1, 1, {"session", "methods"})),
    Action.LOGIN_FAILED: (lambda world: world.log_in(password=NEW), (None, 1, {"identity"})),
    Action.LOGOUT: (
        lambda world: world.api("POST", "/users/logout", token=world.token),
        (1, 1, {"session"}),
    ),
    Action.SESSION_REVOKED: (
        lambda world: world.api(
            "DELETE", f"/users/1/accessTokens/{world.handle}", token=world.admin
        ),
        (2, 1, {"session"}),
    ),
    Action.REAUTHENTICATED: (
        lambda world: world.api(
            "POST", "/users/1/reauthenticate", {"password": PASSWORD}, token=world.token
        ),
        (1, 1, {"methods": ["pwd"]}),
    ),
    Action.PASSWORD_CHANGED: (change_password, (1, 1, {})),
    Action.PASSWORD_RESET: (
        lambda world: world.api(
            "POST", "/users/reset-password", {"newPassword": NEW}, token=world.reset_token
        ),
        (1, 1, {}),
    ),
    Action.EMAIL_CHANGED: (
        lambda world: world.api(
            "PATCH", "/users/1", {"email": "new@example.com"}, token=world.admin
        ),
        (2, 1, {"oldEmail": "ada@example.com", "newEmail": "new@example.com"}),
    ),
    Action.EMAIL_VERIFIED: (
        lambda world: world.confirm(world.verify_token),
        (2, 2, {}),
    ),
    Action.ROLE_GRANTED: (
        lambda world: world.run("roles", "grant", "ada@example.com", "writer"),
        (None, 1, {"role": "writer"}),
    ),
    Action.ROLE_REVOKED: (
        lambda world: world.run("roles", "revoke", "ada@example.com", "clerk"),
        (None, 1, {"role": "clerk"}),
    ),
    Action.USER_DISABLED: (
        lambda world: world.run("users", "disable", "ada@example.com"),
        (None, 1, {}),
    ),
    Action.USER_ENABLED: (
        lambda world: world.run("users", "enable", "ada@example.com"),
        (None, 1, {}),
    ),
    Action.USER_DELETED: (
        lambda world: world.api("DELETE", "/users/1", token=world.admin),
        (2, 1, {}),
    ),
    Action.DATA_SOURCE_CALLED: (
        lambda world: world.api("GET", "/geo/find", token=world.token),
        (1, 1, {"dataSource": "geo", "function": "find"}),
    ),
}
# What must be there before.
BEFORE = {Action.USER_ENABLED: lambda world: world.run("users", "disable", "ada@example.com")}


def arrange(world, action):
    if action in BEFORE:
        BEFORE[action](world)
        forget(world.app)


def test_every_action_has_its_case():
    # Throttled requests have a test of their own, as throttles are off here; identities need a
    # provider, and are in tests/oauth.
    elsewhere = {Action.THROTTLED, Action.ACCOUNT_CLAIMED}
    elsewhere |= {Action.IDENTITY_LINKED, Action.IDENTITY_UNLINKED}
    # Those of personal tokens and second factors are in tests/factors.
    elsewhere |= {Action.TOKEN_CREATED, Action.TOKEN_REVOKED, Action.FACTOR_ADDED}
    elsewhere |= {Action.FACTOR_REMOVED, Action.FACTORS_RESET}
    elsewhere |= {Action.PASSKEY_ADDED, Action.PASSKEY_REMOVED}
    elsewhere |= {Action.RECOVERY_CODES_RENEWED, Action.RECOVERY_CODE_USED}
    # Those of administration are in tests/admin.
    elsewhere |= {Action.ROLE_CREATED, Action.ROLE_DELETED, Action.EMAIL_VOUCHED}
    elsewhere |= {Action.RESET_SENT, Action.THROTTLE_RELEASED}
    elsewhere |= {Action.DELIVERY_RETRIED, Action.DELIVERY_GIVEN_UP, Action.JOB_REQUESTED}
    # Those of webhooks are in tests/webhooks.
    elsewhere |= {Action.WEBHOOK_CREATED, Action.WEBHOOK_CHANGED}
    elsewhere |= {Action.WEBHOOK_DELETED, Action.WEBHOOK_GIVEN_UP}
    assert CASES.keys() | elsewhere == set(Action)


@pytest.mark.parametrize("action", CASES)
def test_an_action_leaves_one_record_or_is_not_done(app, world, action):
    call, (actor, user, expected) = CASES[action]
    arrange(world, action)
    before = snapshot(app)

    with hidden_table(app):
        refused = call(world)

    assert getattr(refused, "status_code", 503) == 503
    assert getattr(refused, "exit_code", 1) == 1
    assert snapshot(app) == before
    assert records(app) == []

    call(world)

    [found] = records(app)
    newest = max(row.id for row in snapshot(app)[0])
    assert found[:3] == (action.value, actor, newest if user == "newest" else user)
    details = found[3]
    assert (details if isinstance(expected, dict) else set(details)) == expected


@contextmanager
def hidden_table(app):
    """Let every record fail."""
    with app.app_context():
        db.session.execute(text("ALTER TABLE audit RENAME TO hidden"))
        db.session.remove()
        yield
        db.session.execute(text("ALTER TABLE hidden RENAME TO audit"))


def snapshot(app):
    """Return all users, tokens and roles."""
    with app.app_context():
        return [
            db.session.execute(select(model.__table__).order_by(*model.__table__.primary_key)).all()
            for model in (User, AccessToken, Role, RoleMapping)
        ]


def test_throttled_requests_are_recorded_alike_for_known_and_unknown_users(shared_app, secrets):
    app = shared_app(THROTTLE_ENABLED=True)
    api = Api(app.test_client(), secrets)
    token = api.newcomer()
    make_old(app, token)
    for email in ("ada@example.com", "bob@example.com"):
        forget(app)
        for number in range(7):
            # Each from another client.
            api(
                "POST",
                "/users/login",
                {"email": email, "password": NEW},
                environ_base={"REMOTE_ADDR": f"198.51.100.{number}"},
            )

        found = records(app)
        assert [item[0] for item in found] == [*["login-failed"] * 5, *["throttled"] * 2]
        assert found[-1][1:3] == (None, None)
        assert found[-1][3] == {"throttle": "login_identity", "key": found[0][3]["identity"]}
    forget(app)

    for _ in range(6):
        body = {"oldPassword": "a wrong password", "newPassword": NEW}
        api("POST", "/users/change-password", body, token=token)

    [found] = records(app)
    assert found[:3] == ("throttled", 1, 1)
    assert found[3]["throttle"] == "password_check"


OTHER_DOORS = {
    "registration": (
        lambda world: world.api(
            "POST", "/users", {"email": "new@example.com", "password": PASSWORD}
        ),
        ("registered", None, 3, {}),
    ),
    "command that creates": (
        lambda world: world.run(
            "users", "create", "new@example.com", "--password-stdin", input=f"{NEW}\n"
        ),
        ("registered", None, 3, {}),
    ),
    "command that sets a password": (
        lambda world: world.run(
            "users", "set-password", "ada@example.com", "--password-stdin", input=f"{NEW}\n"
        ),
        ("password-changed", None, 1, {}),
    ),
    "command that deletes": (
        lambda world: world.run("users", "delete", "ada@example.com", "--yes"),
        ("user-deleted", None, 1, {}),
    ),
    "command that revokes": (
        lambda world: world.run("tokens", "revoke", "ada@example.com"),
        ("session-revoked", None, 1, {"tokens": 2}),
    ),
    "all sessions": (
        lambda world: world.api("DELETE", "/users/1/accessTokens", token=world.token),
        ("session-revoked", 1, 1, {"tokens": 2}),
    ),
    "page for a new password": (
        lambda world: world.api.client.post(
            "/reset-password", data={"access_token": world.reset_token, "newPassword": NEW}
        ),
        ("password-reset", 1, 1, {}),
    ),
    "anonymous call of a data source": (
        lambda world: world.api("GET", "/geo/find"),
        ("data-source-called", None, None, {"dataSource": "geo", "function": "find"}),
    ),
}


@pytest.mark.parametrize("door", OTHER_DOORS)
def test_other_doors_are_recorded_too(app, world, door):
    call, expected = OTHER_DOORS[door]

    call(world)

    assert records(app) == [expected]


NOTHING = {
    "reading": lambda world: world.api("GET", "/users/1", token=world.token),
    "listing": lambda world: world.api("GET", "/users/1/accessTokens", token=world.token),
    "own to-do": lambda world: world.api("POST", "/todos", {"title": "x"}, token=world.token),
    "another property": lambda world: world.api(
        "PATCH", "/users/1", {"username": "ada"}, token=world.token
    ),
    "the same email": lambda world: world.api(
        "PATCH", "/users/1", {"email": "ada@example.com"}, token=world.token
    ),
    "a taken email": lambda world: world.api(
        "PATCH", "/users/1", {"email": "root@example.com"}, token=world.token
    ),
    "a weak password": lambda world: world.api(
        "POST", "/users", {"email": "x@example.com", "password": "x"}
    ),
    "an unknown token": lambda world: world.api("POST", "/users/logout", {"sid": "x" * 64}),
    "an unknown session": lambda world: world.api(
        "DELETE", f"/users/1/accessTokens/{'0' * 16}", token=world.token
    ),
    "a wrong argument": lambda world: world.api("GET", "/geo/missing", token=world.token),
    "a role that is held": lambda world: world.run("roles", "grant", "ada@example.com", "clerk"),
    "a user who is not disabled": lambda world: world.run("users", "enable", "ada@example.com"),
}


def test_what_changes_nothing_is_not_recorded(app, world):
    for name, call in NOTHING.items():
        call(world)

        assert records(app) == [], name


def test_a_record_has_address_request_id_and_time(app, api, secrets):
    api(
        "POST",
        "/users",
        {"email": "ada@example.com", "password": PASSWORD},
        headers={"X-Request-Id": "a-request"},
    )
    app.test_cli_runner().invoke(args=["users", "disable", "ada@example.com"])
    with app.app_context():
        by_request, by_command = db.session.scalars(select(AuditRecord).order_by(AuditRecord.id))

    assert (by_request.address, by_request.request_id) == (ADDRESS, "a-request")
    assert (by_command.address, by_command.request_id) == (None, None)
    assert is_recent(by_request.time)
    assert is_recent(by_command.time)


def test_a_mailed_token_makes_nobody_the_actor(app, world):
    body = {"email": "new@example.com", "password": PASSWORD}

    world.api("POST", "/users", body, token=world.reset_token)
    world.api("POST", "/users/login", {**body, "password": NEW}, token=world.verify_token)

    found = [(action, actor, user) for action, actor, user, _ in records(app)]
    assert found == [("registered", None, 3), ("login-failed", None, 3)]


@pytest.mark.both_databases
def test_failed_logins_tell_neither_the_text_nor_the_password(app, api, token):
    forget(app)
    bodies = [
        {"email": PASSWORD, "password": "typed into the wrong field"},
        {"username": PASSWORD, "password": ""},
        {"email": "ada@example.com", "password": "typed into the wrong field"},
        {"email": "ADA@example.com", "password": None},
    ]

    for body in bodies:
        assert api("POST", "/users/login", body).status_code == 401

    api.secrets.append("typed into the wrong field")
    found = records(app)
    assert [item[2] for item in found] == [None, None, 1, 1]
    digests = [item[3]["identity"] for item in found]
    assert digests[2] == digests[3] != digests[0] != digests[1]
    assert all(len(digest) == 64 for digest in digests)


def test_a_login_costs_one_statement_more_and_a_read_none(shared_app, secrets):
    sent = {}
    for days in (90, None):
        app = shared_app(AUDIT_DAYS=days)
        api = Api(app.test_client(), secrets)
        token = api.newcomer(f"user{days}@example.com")
        user_id = len(sent) // 2 + 1
        # What a process looks up once a minute.
        cached_schemes.set(app, (float("inf"), {}))
        with statements(app) as sent[days, "login"]:
            api.login(f"user{days}@example.com")
        with statements(app) as sent[days, "read"]:
            assert api("GET", f"/users/{user_id}", token=token).status_code == 200

    extra = [statement for statement in sent[90, "login"] if "audit" in statement]
    assert [statement.split()[0] for statement in extra] == ["INSERT"]
    assert len(sent[90, "login"]) == len(sent[None, "login"]) + 1
    assert len(sent[90, "read"]) == len(sent[None, "read"]) == 2


def test_without_days_nothing_is_recorded_and_nothing_begins_a_transaction(shared_app, secrets):
    app = shared_app(AUDIT_DAYS=None)
    api = Api(app.test_client(), secrets)
    token, other = api.newcomer(), api.login()["id"]

    with statements(app) as sent:
        api("POST", "/users/logout", token=other)

    assert {statement.split()[0] for statement in sent} == {"SELECT", "DELETE"}
    # This has a transaction, so that the last admin stays.
    assert api("DELETE", "/users/1", token=token).status_code == 200
    assert records(app) == []


@pytest.mark.both_databases
def test_attempts_beyond_the_limit_of_an_hour_are_not_recorded(app, api, monkeypatch):
    monkeypatch.setattr(audit, "MAX_ATTEMPTS", 3)
    body = {"email": "nobody@example.com", "password": PASSWORD}

    statuses = [api("POST", "/users/login", body).status_code for _ in range(5)]
    calls = [api("GET", "/geo/find").status_code for _ in range(5)]

    assert statuses == [401] * 5
    assert calls == [502] * 5
    found = [(action, details.get("limitReached")) for action, _, _, details in records(app)]
    assert found == [
        (action, limit)
        for action in ("login-failed", "data-source-called")
        for limit in (None, None, True)
    ]
    with app.app_context():
        db.session.execute(update(AuditRecord).values(time=now() - timedelta(hours=1)))
    api("POST", "/users/login", body)
    assert len(records(app)) == 7


def test_calls_of_users_have_no_limit(app, api, token, monkeypatch):
    monkeypatch.setattr(audit, "MAX_ATTEMPTS", 1)
    forget(app)

    for _ in range(3):
        api("GET", "/geo/find", token=token)

    assert len(records(app)) == 3


def write_old_records(app, number, days=91):
    with app.app_context():
        db.session.add_all(
            AuditRecord(action="login", time=now() - timedelta(days=days), details={})
            for _ in range(number)
        )
        db.session.commit()


def test_old_records_are_purged_and_new_ones_delete_none(app, api):
    write_old_records(app, 150)
    write_old_records(app, 1, days=89)

    api.register()
    before = count(app, AuditRecord)
    more = purger.of(app).purge_some()

    assert (before, more) == (152, False)
    assert [record[0] for record in records(app)] == ["login", "registered"]


def test_the_owner_lists_the_records_of_the_own_account_newest_first(app, api, token):
    api("POST", "/users/login", {"email": "ada@example.com", "password": NEW})
    app.test_cli_runner().invoke(args=["roles", "grant", "ada@example.com", "clerk"])
    api.newcomer("bob@example.com")

    response = api("GET", "/users/1/audit", token=token)

    assert [item["action"] for item in response.json] == [
        "role-granted",
        "login-failed",
        "login",
        "registered",
    ]
    assert {item["userId"] for item in response.json} == {1}
    newest = response.json[0]
    assert list(newest) == [
        "id",
        "time",
        "action",
        "actorId",
        "userId",
        "address",
        "requestId",
        "details",
    ]
    assert newest["details"] == {"role": "clerk"}
    assert newest["time"].endswith("Z")
    assert response.json[1]["address"] == ADDRESS


@pytest.mark.both_databases
def test_a_list_has_pages_and_a_filter_as_others(api, token):
    for _ in range(3):
        api.login()
    filter_ = {"limit": 2, "where": {"action": "login"}, "fields": ["id"]}

    first = api("GET", f"/users/1/audit?filter={quote(json.dumps(filter_))}", token=token)
    next_page = first.headers["Link"].partition(">")[0].removeprefix("</api")
    second = api("GET", next_page, token=token)

    ids = [item["id"] for item in first.json + second.json]
    assert len(ids) == 4
    assert ids == sorted(ids, reverse=True)
    assert "Link" not in second.headers


@pytest.mark.both_databases
@pytest.mark.parametrize(
    "filter_",
    [
        {"where": {"details.role": "clerk"}, "order": "details.role"},
        {"order": ["actorId DESC", "time", "requestId"]},
        {"where": {"time": {"gt": "2026-01-02"}, "actorId": {"neq": None}}},
        {"fields": {"details": False}},
    ],
)
def test_every_property_can_be_filtered_and_ordered_by(api, token, filter_):
    response = api(
        "GET", "/users/1/audit", token=token, query_string={"filter": json.dumps(filter_)}
    )

    assert response.status_code == 200


@pytest.mark.parametrize(
    "filter_", [{"include": "user"}, {"where": {"digest": "x"}}, {"limit": -1}, {"order": "x"}]
)
def test_a_bad_filter_is_400(api, token, filter_):
    response = api(
        "GET", "/users/1/audit", token=token, query_string={"filter": json.dumps(filter_)}
    )

    assert refusal(response) == (400, "INVALID_FILTER")


def test_the_records_of_a_deleted_user_stay(app, world):
    world.api("DELETE", "/users/1", token=world.token)

    assert [record[0] for record in records(app)] == ["user-deleted"]
    listed = json.loads(world.run("audit", "list", "--user", "1", "--json").output)
    assert [item["action"] for item in listed] == ["user-deleted"]


@pytest.mark.both_databases
def test_the_command_lists_the_newest_records_first(app, world):
    world.log_in()
    world.log_in(password=NEW)
    world.run("roles", "revoke", "ada@example.com", "clerk")
    world.api("DELETE", f"/users/1/accessTokens/{world.handle}", token=world.admin)

    def listed(*options):
        output = world.run("audit", "list", "--json", *options).output
        return [record["action"] for record in json.loads(output)]

    assert listed() == ["session-revoked", "role-revoked", "login-failed", "login"]
    assert listed("--limit", "1") == ["session-revoked"]
    assert listed("--action", "login") == ["login"]
    # The admin is the actor of one, and the user of none.
    assert listed("--user", "root@example.com") == ["session-revoked"]
    assert listed("--user", "1", "--action", "login-failed") == ["login-failed"]
    assert listed("--since", "2999-01-01") == []
    with app.app_context():
        db.session.execute(
            update(AuditRecord)
            .where(AuditRecord.action == "login")
            .values(time=now() - timedelta(days=2))
        )
    yesterday = (now() - timedelta(days=1)).strftime("%Y-%m-%dT%H:%M:%S")
    assert listed("--since", yesterday) == ["session-revoked", "role-revoked", "login-failed"]


def test_the_command_prints_a_table(app, world):
    world.run("roles", "revoke", "ada@example.com", "clerk")

    header, line = world.run("audit", "list").output.splitlines()

    assert header.split() == [
        *("id", "time", "action", "actorId", "userId", "address", "requestId", "details")
    ]
    assert line.split()[2:] == ["role-revoked", "-", "1", "-", "-", "role=clerk"]


def test_a_list_in_the_details_is_printed_with_commas(app, world):
    with app.app_context():
        token = issue_token(1, methods=["face", "pin", "mfa"])
    world.api.secrets.append(token.id)
    [line] = world.run("audit", "list", "--action", "login").output.splitlines()[1:]

    assert line.endswith(f"session={handle_of(app, token.id)}, methods=face,pin,mfa")


@pytest.mark.both_databases
@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--user", "bob@example.com"], "There is no user bob@example.com."),
        (["--user", "9" * 30], "Unknown"),
        (["--user", "1x"], "Unknown"),
        (["--action", "logon"], "There is no action 'logon'; did you mean login?"),
        (["--since", "yesterday"], "Invalid value"),
        (["--limit", "0"], "Invalid value"),
    ],
)
def test_a_bad_option_is_one_sentence(app, runner, options, words):
    result = runner.invoke(args=["audit", "list", *options])

    assert result.exit_code != 0
    assert words in result.output
    assert "Traceback" not in result.output


@pytest.mark.both_databases
def test_the_command_purges_in_batches(app, runner, monkeypatch):
    write_old_records(app, 250)
    write_old_records(app, 2, days=10)

    said = [
        runner.invoke(args=["audit", "purge", *options]).output for options in ([], ["--days", "9"])
    ]

    assert said == [
        "Purged 250 records that were older than 90 days.\n",
        "Purged 2 records that were older than 9 days.\n",
    ]
    assert count(app, AuditRecord) == 0


def test_without_days_the_purge_asks_for_them(shared_app):
    runner = shared_app(AUDIT_DAYS=None).test_cli_runner()

    result = runner.invoke(args=["audit", "purge"])

    assert result.exit_code == 1
    assert result.output == ("Error: AUDIT_DAYS is null: say with --days how many days to keep.\n")


def test_a_session_with_an_old_login_is_recorded_by_its_actor(app, api, token):
    make_old(app, token)
    forget(app)
    body = {"email": "countess@example.com", "password": PASSWORD}

    api("PATCH", "/users/1", body, token=token)

    [found] = records(app)
    assert found[:3] == ("email-changed", 1, 1)


def test_a_right_password_of_an_unverified_user_is_a_failed_login_with_a_reason(
    shared_app, secrets
):
    app = shared_app(EMAIL_VERIFICATION="required")
    api = Api(app.test_client(), secrets)
    api.register()
    forget(app)

    response = api("POST", "/users/login", {"email": "ada@example.com", "password": PASSWORD})

    assert refusal(response) == (401, "LOGIN_FAILED_EMAIL_NOT_VERIFIED")
    [found] = records(app)
    assert found[:3] == ("login-failed", None, 1)
    assert found[3]["reason"] == "unverified email"


def test_a_confirmed_change_of_email_is_recorded_as_that_of_its_user(shared_app, secrets, events):
    app = shared_app(EMAIL_CHANGE="confirmed")
    api = Api(app.test_client(), secrets)
    token = api.newcomer()

    def note(_sender, info):
        events.append(("emailChangeRequest", info))

    with signals.email_change_request.connected_to(note, sender=app):
        body = {"newEmail": "new@example.com", "password": PASSWORD}
        api("POST", "/users/change-email", body, token=token)
    [mailed] = events.tokens("emailChangeRequest")
    secrets.append(mailed)
    forget(app)

    api.client.post("/confirm-email", data={"token": mailed})

    assert [record[:3] for record in records(app)] == [
        ("email-changed", 1, 1),
        ("email-verified", 1, 1),
    ]
