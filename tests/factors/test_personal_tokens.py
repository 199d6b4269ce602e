"""Personal tokens: made by a user, for programs that may do less than the user."""

import re
from base64 import b64encode
from datetime import UTC, datetime, timedelta
from zlib import crc32

import pytest
from sqlalchemy import select, update

from app.access.roles import grant
from app.audit.models import AuditRecord
from app.database.session import db
from app.factors.personal_tokens.service import MAX_TOKENS, new_value
from app.times import now
from app.users.models import AccessToken, User, token_digest
from app.users.service import (
    delete_user,
    destroy_all_tokens,
    disable_user,
    enable_user,
    set_password,
)
from tests.conftest import PASSWORD, Api
from tests.support.answers import field_codes, refusal
from tests.support.rows import expire, make_old, statements

READING = {"todos": ["READ"]}
EVERYTHING = {"todos": ["*"], "users": ["*"]}


@pytest.fixture
def app(shared_app):
    return shared_app(PERSONAL_TOKENS={})


@pytest.fixture
def make(api, token, secrets):
    """Make a personal token of the user with id 1; return the answer, whose value is a secret."""

    def make(scopes=READING, name="backup", **fields):
        body = {"name": name, "scopes": scopes, **fields}
        response = api("POST", "/users/1/personalTokens", body, token=token)
        if response.status_code == 200:
            secrets.append(response.json["token"])
        return response

    return make


@pytest.fixture
def personal(make):
    """The value of a token that may call every method that a token may."""
    return make(EVERYTHING).json["token"]


def rows(app):
    with app.app_context():
        return db.session.scalars(select(AccessToken).where(AccessToken.scope == "personal")).all()


def test_the_value_is_shown_once_and_stored_as_a_digest(app, api, token, make):
    made = make().json

    listed = api("GET", "/users/1/personalTokens", token=token).json
    shown = api("GET", f"/users/1/personalTokens/{made['handle']}", token=token).json
    [row] = rows(app)
    assert set(made) == {
        *("handle", "name", "scopes", "created", "expiresAt", "lastUsed", "address", "token")
    }
    assert listed == [shown] == [{key: made[key] for key in made if key != "token"}]
    assert (made["name"], made["scopes"], made["lastUsed"]) == ("backup", READING, None)
    assert row.digest == token_digest(made["token"])


def test_a_value_has_a_prefix_and_a_checksum(make):
    value = make().json["token"]

    found = re.fullmatch(r"ost_([A-Za-z0-9]{40})([A-Za-z0-9]{6})", value)
    number = 0
    for character in found[2]:
        digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
        number = number * 62 + digits.index(character)
    assert number == crc32(found[1].encode())


def test_it_lives_as_long_as_is_said(make):
    end = (datetime.now(UTC) + timedelta(days=3)).isoformat(timespec="milliseconds")

    def seconds(answer):
        times = [datetime.fromisoformat(answer.json[name]) for name in ("created", "expiresAt")]
        return (times[1] - times[0]).total_seconds()

    assert seconds(make()) == pytest.approx(2592000, abs=1)
    assert seconds(make(ttl=60)) == pytest.approx(60, abs=1)
    assert seconds(make(expiresAt=end)) == pytest.approx(3 * 86400, abs=60)


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"ttl": 0}, "ttl"),
        ({"ttl": -1}, "ttl"),
        ({"ttl": 31556927}, "ttl"),
        ({"ttl": "x"}, "ttl"),
        ({"ttl": 60, "expiresAt": "2999-01-01T00:00:00Z"}, "ttl"),
        ({"expiresAt": "2999-01-01T00:00:00Z"}, "expiresAt"),
        ({"expiresAt": "2020-01-01T00:00:00Z"}, "expiresAt"),
        ({"name": " "}, "name"),
        ({"name": "x" * 101}, "name"),
        ({"scopes": {}}, "scopes"),
        ({"scopes": None}, "scopes"),
        ({"scopes": ["todos"]}, "scopes"),
        ({"scopes": {"todos": []}}, "scopes"),
        ({"scopes": {"todos": "READ"}}, "scopes"),
        ({"scopes": {"todos": [1]}}, "scopes"),
        ({"scopes": {"todos": ["read"]}}, "scopes"),
        ({"scopes": {"todos": ["create through a relation"]}}, "scopes"),
        ({"scopes": {"nothing": ["READ"]}}, "scopes"),
        ({"scopes": {"todos": ["export"]}}, "scopes"),
        ({"scopes": {"users": ["login"]}}, "scopes"),
        ({"scopes": {"users": ["__create__personalTokens"]}}, "scopes"),
        ({"scopes": {"todos": ["find"] * 201}}, "scopes"),
        ({"token": "ost_mine"}, "token"),
        ({"handle": "0" * 16}, "handle"),
    ],
)
def test_what_cannot_be_made_is_refused(app, make, fields, field):
    answer = make(**fields)

    assert answer.status_code == 422
    assert list(field_codes(answer)) == [field]
    assert rows(app) == []


def test_models_are_named_as_in_rules_or_by_what_errors_call_a_row(make):
    scopes = {"todo": ["create"], "todos": ["READ", "create"]}

    assert make(scopes).json["scopes"] == {"todos": ["READ", "create"]}


def test_a_user_has_a_bounded_number_of_tokens(app, make):
    for _ in range(MAX_TOKENS):
        make()

    assert list(field_codes(make())) == ["name"]
    assert len(rows(app)) == MAX_TOKENS


def test_it_does_what_its_scopes_name_and_no_more(api, make):
    reader = make({"todos": ["READ"], "users": ["findById"]}).json["token"]
    writer = make({"todos": ["create", "deleteById"]}).json["token"]

    created = api("POST", "/todos", {"title": "Mine"}, token=writer)
    row = f"/todos/{created.json['id']}"
    calls = [
        ("GET", "/todos", None),
        ("GET", row, None),
        ("GET", "/users/1", None),
        ("PATCH", row, {"title": "Yours"}),
        ("DELETE", row, None),
    ]
    given = [[api(*call, token=value) for call in calls] for value in (reader, writer)]

    assert [[answer.status_code for answer in answers] for answers in given] == [
        [200, 200, 200, 403, 403],
        [403, 403, 403, 403, 200],
    ]
    refused = given[0][3]
    assert refusal(refused) == (403, "INSUFFICIENT_SCOPE")
    assert refused.json["error"]["details"] == {"model": "todos", "method": "patchAttributes"}
    assert refused.headers["WWW-Authenticate"] == 'Bearer error="insufficient_scope"'


def test_it_never_does_more_than_the_user_may(app, api, personal, make):
    api.logged_in("bob@example.com")
    bobs = api.login("bob@example.com")["id"]
    row = api("POST", "/todos", {"title": "His"}, token=bobs).json["id"]

    assert api("GET", "/todos", token=personal).json == []
    assert [
        api(verb, path, {"title": "x"} if verb == "PATCH" else None, token=personal).status_code
        for verb, path in [
            ("GET", f"/todos/{row}"),
            ("PATCH", f"/todos/{row}"),
            ("DELETE", f"/todos/{row}"),
            ("GET", "/users/2"),
            ("GET", "/users"),
            ("DELETE", "/users/2"),
        ]
    ] == [404, 404, 404, 403, 403, 403]


@pytest.mark.parametrize(
    "headers",
    [
        lambda value: {"Authorization": value},
        lambda value: {"Authorization": f"Bearer {value}"},
        lambda value: {"Authorization": f"Bearer {b64encode(value.encode()).decode()}"},
        lambda value: {"Authorization": f"Basic {b64encode(f'{value}:'.encode()).decode()}"},
        lambda value: {"Authorization": f"Basic {b64encode(f'git:{value}'.encode()).decode()}"},
        lambda value: {"X-Access-Token": value},
    ],
)
def test_it_is_accepted_in_headers(api, personal, headers):
    assert api("GET", "/todos", headers=headers(personal)).status_code == 200


def test_it_is_refused_in_queries_and_cookies(shared_app, api, personal):
    other = shared_app(PERSONAL_TOKENS={}, TOKEN_MIDDLEWARE={}).test_client()
    other.set_cookie("access_token", personal)

    for answer in (api("GET", f"/todos?access_token={personal}"), other.get("/api/todos")):
        assert refusal(answer) == (401, "INVALID_TOKEN")
        assert "headers only" in answer.json["message"]


def test_a_mistyped_value_is_refused_without_a_query(app, api, personal):
    swapped = personal[:10] + personal[11] + personal[10] + personal[12:]
    wrong = [swapped, personal[:-1], personal + "x", "ost_", personal[:-1] + "é", f"ost_{'x' * 46}"]
    wrong = [value for value in wrong if value != personal]
    with statements(app) as sent:
        answers = [
            api("GET", "/todos", headers={"Authorization": value.encode().decode("latin-1")})
            for value in wrong
        ]

    assert {refusal(answer) for answer in answers} == {(401, "INVALID_TOKEN")}
    assert sent == []
    assert api("GET", "/todos", token=new_value()).status_code == 401


def test_a_request_takes_two_statements(app, api, personal):
    api("GET", "/todos", token=personal)
    with statements(app) as sent:
        assert api("GET", "/todos", token=personal).status_code == 200

    assert len(sent) == 2


@pytest.mark.both_databases
def test_the_last_use_and_its_address_are_kept_with_few_writes(app, api, token, make):
    made = make().json

    def used(address):
        api("GET", "/todos", token=made["token"], environ_base={"REMOTE_ADDR": address})
        shown = api("GET", f"/users/1/personalTokens/{made['handle']}", token=token).json
        return shown["lastUsed"] is not None, shown["address"]

    first, second = used("203.0.113.1"), used("203.0.113.2")
    with app.app_context():
        an_hour_ago = now() - timedelta(hours=1)
        db.session.execute(
            update(AccessToken).where(AccessToken.scope == "personal").values(last_used=an_hour_ago)
        )
        db.session.commit()
    assert (first, second) == ((True, "203.0.113.1"),) * 2
    assert used("203.0.113.2") == (True, "203.0.113.2")


def test_an_expired_one_is_refused_and_not_listed(app, api, token, personal):
    expire(app, personal)

    assert refusal(api("GET", "/todos", token=personal)) == (401, "INVALID_TOKEN")
    assert api("GET", "/users/1/personalTokens", token=token).json == []


def test_it_is_ended_by_its_user(api, token, make):
    made = make().json
    path = f"/users/1/personalTokens/{made['handle']}"

    assert api("DELETE", path, token=token).status_code == 204
    assert api("GET", "/todos", token=made["token"]).status_code == 401
    assert api("DELETE", path, token=token).status_code == 404
    assert api("GET", path, token=token).status_code == 404


def test_an_admin_lists_and_ends_those_of_others_and_makes_none(app, api, make, secrets):
    made = make().json
    admin = api.newcomer("admin@example.com")
    with app.app_context():
        grant(2, "admin")
    bob = api.newcomer("bob@example.com")
    path = "/users/1/personalTokens"

    assert len(api("GET", path, token=admin).json) == 1
    body = {"name": "x", "scopes": READING}
    assert refusal(api("POST", path, body, token=admin)) == (403, "ACCESS_DENIED")
    assert [
        api(verb, f"{path}/{made['handle']}", token=caller).status_code
        for verb, caller in [("GET", bob), ("DELETE", bob), ("GET", admin), ("DELETE", admin)]
    ] == [403, 403, 200, 204]
    assert api("GET", "/todos", token=made["token"]).status_code == 401


def test_making_one_takes_a_recent_authentication(app, api, token, make):
    make_old(app, token)

    refused = make()
    wrong = api("POST", "/users/1/reauthenticate", {"password": "wrong"}, token=token)
    right = api("POST", "/users/1/reauthenticate", {"password": PASSWORD}, token=token)

    assert refusal(refused) == (401, "STRONGER_LOGIN_REQUIRED")
    assert refused.json["error"]["details"] == {"kinds": ["password"], "maxAge": 300}
    assert refused.headers["WWW-Authenticate"] == (
        'Bearer error="insufficient_user_authentication", max_age="300"'
    )
    assert refusal(wrong) == (400, "INVALID_PASSWORD")
    assert (right.status_code, make().status_code) == (204, 200)


def test_a_new_password_keeps_it_and_a_reset_ends_it(app, api, token, personal, reset_events):
    new = {"oldPassword": PASSWORD, "newPassword": "an even quieter harbour"}
    api("POST", "/users/change-password", new, token=token)
    kept = api("GET", "/todos", token=personal).status_code
    api("DELETE", "/users/1/accessTokens", token=token)
    logged_out = api("GET", "/todos", token=token).status_code
    still = api("GET", "/todos", token=personal).status_code
    api("POST", "/users/reset", {"email": "ada@example.com"})
    api(
        "POST",
        "/users/reset-password",
        {"newPassword": PASSWORD},
        token=reset_events[-1]["accessToken"].id,
    )

    assert (kept, logged_out, still) == (200, 401, 200)
    assert api("GET", "/todos", token=personal).status_code == 401


@pytest.mark.parametrize("ended_by", ["disabling", "deleting", "operator", "tokens"])
def test_it_ends_with_the_user(app, api, token, personal, ended_by):
    end = {
        "disabling": lambda: disable_user(1),
        "deleting": lambda: delete_user(1),
        "operator": lambda: set_password(1, "another quiet harbour"),
        "tokens": lambda: destroy_all_tokens(1),
    }
    with app.app_context():
        end[ended_by]()
        if ended_by == "disabling":
            enable_user(1)

    assert api("GET", "/todos", token=personal).status_code == 401


@pytest.mark.both_databases
def test_one_of_a_user_who_is_disabled_past_the_service_is_refused(app, api, personal):
    with app.app_context():
        db.session.execute(update(User).values(disabled_at=now()))
        db.session.commit()

    assert api("GET", "/todos", token=personal).status_code == 401


@pytest.mark.both_databases
def test_what_is_done_is_in_the_audit_log(app, api, token, make):
    made = make().json
    api("DELETE", f"/users/1/personalTokens/{made['handle']}", token=token)
    with app.app_context():
        found = db.session.execute(
            select(AuditRecord.action, AuditRecord.details, AuditRecord.actor_id).order_by(
                AuditRecord.id
            )
        ).all()

    assert [tuple(row) for row in found] == [
        ("token-created", {"token": made["handle"], "name": "backup"}, 1),
        ("token-revoked", {"token": made["handle"]}, 1),
    ]


def test_without_the_setting_there_are_none(shared_app, api, personal, secrets):
    other = Api(shared_app().test_client(), secrets)

    assert other("GET", "/todos", token=personal).status_code == 401
    assert other("GET", "/users/1/personalTokens", token=personal).status_code == 404


def test_the_literal_for_the_caller_is_the_user_of_the_token(shared_app, secrets):
    app = shared_app(PERSONAL_TOKENS={}, TOKEN_MIDDLEWARE={"currentUserLiteral": "me"})
    api = Api(app.test_client(), secrets)
    body = {"name": "x", "scopes": {"users": ["findById"]}}
    made = api("POST", "/users/me/personalTokens", body, token=api.logged_in()).json
    secrets.append(made["token"])

    assert api("GET", "/users/me", token=made["token"]).json["id"] == 1


def test_it_is_not_prolonged_with_the_sessions(shared_app, secrets):
    app = shared_app(PERSONAL_TOKENS={}, TOKEN_SLIDING=True)
    api = Api(app.test_client(), secrets)
    body = {"name": "x", "scopes": READING}
    made = api("POST", "/users/1/personalTokens", body, token=api.logged_in()).json
    secrets.append(made["token"])
    expire(app, made["token"], ago=-600)
    [before] = rows(app)
    api("GET", "/todos", token=made["token"])

    assert rows(app)[0].expires_at == before.expires_at
