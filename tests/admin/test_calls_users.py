"""Users as admins see them: found by name, email, property and role, disabled, verified, reset."""

import json
from urllib.parse import parse_qs, urlsplit

import pytest
from sqlalchemy import select, update

from app.audit.models import AuditRecord
from app.database.session import db
from app.outbox.models import OutboxEvent
from app.users.models import User
from tests.conftest import PASSWORD, Api
from tests.support.answers import field_codes, refusal
from tests.support.rows import count_live_tokens, make_admin, make_old

from .conftest import has_role


def found(caller, **filter_):
    """Return the emails of the users that a filter selects."""
    query = {"filter": json.dumps(filter_)}
    return [each["email"] for each in caller.get("/admin/users", query_string=query)]


def actions(app):
    """Return what the audit log has: the action, who did it, and to whom."""
    with app.app_context():
        rows = db.session.execute(
            select(AuditRecord.action, AuditRecord.actor_id, AuditRecord.user_id).order_by(
                AuditRecord.id
            )
        )
        return [tuple(row) for row in rows]


@pytest.mark.both_databases
def test_a_list_has_the_properties_of_users_with_their_roles(app, admin, user):
    has_role(app, 2, "clerk")
    has_role(app, 2, "artist")

    [ada, bob] = admin.get("/admin/users?filter[order]=id")

    assert ada["roles"] == ["admin"]
    assert bob == {
        **admin.get("/users/2"),
        "disabled": None,
        "roles": ["artist", "clerk"],
    }


def test_one_user_has_how_it_logs_in(admin, user):
    shown = admin.get("/admin/users/2")

    own = ("factors", "sessions", "isService", "hasPassword")
    assert {name: shown[name] for name in own} == {
        "factors": [],
        "sessions": 1,
        "isService": False,
        "hasPassword": True,
    }
    assert refusal(admin("GET", "/admin/users/99")) == (404, "MODEL_NOT_FOUND")
    assert refusal(admin("GET", "/admin/users/x")) == (404, "MODEL_NOT_FOUND")


@pytest.mark.both_databases
def test_users_are_found_by_a_part_of_their_email_and_by_what_they_are(admin, user):
    assert found(admin, where={"email": {"like": "%bob%"}}) == ["bob@example.com"]
    assert found(admin, where={"email": "BOB@Example.com"}) == ["bob@example.com"]
    assert found(admin, where={"email": {"like": "%' OR 1=1 --%"}}) == []
    assert found(admin, where={"disabled": None}, order="email DESC") == [
        "bob@example.com",
        "ada@example.com",
    ]
    assert admin.get('/admin/users?filter={"fields":["id"],"limit":1}') == [{"id": 1}]
    answer = admin("GET", '/admin/users?filter={"where":{"passwordHash":"x"}}')
    assert refusal(answer) == (400, "INVALID_FILTER")
    answer = admin("GET", '/admin/users?filter={"include":"todos"}')
    assert refusal(answer) == (400, "INVALID_FILTER")


@pytest.mark.both_databases
def test_users_are_found_by_a_role_in_pages(app, api, admin, user):
    for user_id, email in ((3, "cy@example.com"), (4, "di@example.com")):
        api.logged_in(email)
        has_role(app, user_id, "clerk")

    first = admin("GET", '/admin/users?role=clerk&count=true&filter={"limit":1,"order":"id"}')
    [address] = [part[1:-1] for part in first.headers["Link"].split(";") if part.startswith("<")]
    second = admin("GET", address.removeprefix("/api"))

    assert first.headers["X-Total-Count"] == "2"
    assert [each["id"] for each in (*first.json, *second.json)] == [3, 4]
    assert "Link" not in second.headers
    assert parse_qs(urlsplit(address).query)["role"] == ["clerk"]
    assert admin.get("/admin/users?role=nobody") == []


@pytest.mark.both_databases
def test_an_admin_disables_a_user_whose_sessions_end_and_enables_it(app, admin, user):
    assert admin("POST", "/users/2/disable").status_code == 204
    assert user("GET", "/users/2").status_code == 401
    assert found(admin, where={"disabled": {"neq": None}}) == ["bob@example.com"]
    assert admin("POST", "/users/2/disable").status_code == 204
    assert admin("POST", "/users/2/enable").status_code == 204
    assert admin.get("/admin/users/2")["disabled"] is None
    assert actions(app) == [("user-disabled", 1, 2), ("user-enabled", 1, 2)]


def test_an_admin_marks_an_email_as_verified(app, api, admin):
    api.logged_in("bob@example.com", verified=False)
    assert admin("POST", "/users/2/markVerified").status_code == 204
    assert admin("POST", "/users/2/markVerified").status_code == 204

    assert admin.get("/users/2")["emailVerified"]
    assert actions(app) == [("email-vouched", 1, 2)]


@pytest.mark.both_databases
def test_an_admin_sends_a_reset(app, api, admin, user, reset_events):
    assert admin("POST", "/users/2/sendReset").status_code == 204

    assert [each["email"] for each in reset_events] == ["bob@example.com"]
    token = reset_events[0]["accessToken"].id
    answer = api("POST", "/users/reset-password", {"newPassword": "a new harbour"}, token=token)
    assert answer.status_code == 204
    assert actions(app)[0] == ("reset-sent", 1, 2)
    with app.app_context():
        assert "resetPasswordRequest" in db.session.scalars(select(OutboxEvent.event)).all()


@pytest.mark.both_databases
@pytest.mark.parametrize("column", ["disabled_at", "service_account"])
def test_who_cannot_log_in_gets_no_reset(app, admin, user, column):
    with app.app_context():
        value = User.created if column == "disabled_at" else True
        db.session.execute(update(User).where(User.id == 2).values({column: value}))
        db.session.commit()

    tokens = count_live_tokens(app)
    assert field_codes(admin("POST", "/users/2/sendReset")) == {"id": ["invalid"]}
    assert count_live_tokens(app) == tokens


def test_resets_to_one_mailbox_are_counted(make_app, secrets):
    rate = {"reset_recipient": {"limit": 1, "seconds": 60}}
    app = make_app(THROTTLE_ENABLED=True, THROTTLES=rate)
    api = Api(app.test_client(), secrets)
    token = api.logged_in()
    make_admin(app)

    answers = [api("POST", "/users/1/sendReset", token=token) for _ in range(2)]

    assert [answer.status_code for answer in answers] == [204, 429]


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/users/2/disable"),
        ("POST", "/users/2/enable"),
        ("POST", "/users/2/markVerified"),
        ("PUT", "/admin/users/2/roles/clerk"),
        ("DELETE", "/admin/users/2/roles/clerk"),
        ("DELETE", "/admin/roles/clerk"),
    ],
)
def test_changes_of_privileges_ask_for_a_recent_login(app, admin, user, method, path):
    has_role(app, 2, "clerk")
    make_old(app, admin.token)

    refused = admin(method, path)
    again = admin("POST", "/users/1/reauthenticate", {"password": PASSWORD})

    assert refusal(refused) == (401, "STRONGER_LOGIN_REQUIRED")
    assert refused.json["error"]["details"] == {"kinds": ["password"], "maxAge": 300}
    assert again.status_code == 204
    assert admin(method, path).status_code == 204


def test_other_calls_take_no_recent_login(app, admin, user):
    make_old(app, admin.token)

    assert admin("POST", "/users/2/sendReset").status_code == 204
    assert admin.get("/admin/access")["isRecent"] is False


@pytest.mark.parametrize("path", ["/admin/users", "/admin/users/1", "/admin/access"])
def test_without_the_setting_there_is_nothing(make_app, secrets, path):
    rules = [{"principalId": "support", "permission": "ALLOW"}]
    app = make_app(ADMIN_ENABLED=False, ACLS={"admin": rules})
    api = Api(app.test_client(), secrets)
    token = api.logged_in()
    make_admin(app)

    answers = [
        api("GET", path, token=token),
        api("POST", "/users/1/disable", token=token),
    ]

    assert [answer.status_code for answer in answers] == [404, 404]
    assert "/admin/users" not in api("GET", "/openapi.json").json["paths"]
