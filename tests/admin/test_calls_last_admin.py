"""The last admin who can log in stays one, and is not disabled or deleted; commands may do so."""

from collections import Counter

import pytest
from sqlalchemy import update

from app.database.session import db
from app.users.models import User
from tests.support.answers import refusal
from tests.support.races import at_once

from .conftest import has_role

WAYS = {
    "disabling": ("POST", "/users/{}/disable"),
    "deleting": ("DELETE", "/users/{}"),
    "revoking": ("DELETE", "/admin/users/{}/roles/admin"),
}


@pytest.mark.parametrize("way", WAYS)
def test_the_last_admin_stays(admin, user, way):
    method, path = WAYS[way]

    assert refusal(admin(method, path.format(1))) == (422, "LAST_ADMIN")
    assert admin.get("/admin/users/1")["roles"] == ["admin"]
    assert admin.get("/admin/users/1")["disabled"] is None


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("column", ["disabled_at", "service_account"])
def test_an_admin_who_cannot_log_in_does_not_count(app, admin, user, way, column):
    has_role(app, 2, "admin")
    with app.app_context():
        value = User.created if column == "disabled_at" else True
        db.session.execute(update(User).where(User.id == 2).values({column: value}))
        db.session.commit()
    method, path = WAYS[way]

    assert refusal(admin(method, path.format(1))) == (422, "LAST_ADMIN")
    assert admin(method, path.format(2)).status_code in (200, 204)


@pytest.mark.parametrize("way", WAYS)
def test_one_of_two_admins_goes(app, admin, user, way):
    has_role(app, 2, "admin")
    method, path = WAYS[way]

    assert admin(method, path.format(1)).status_code in (200, 204)
    assert refusal(user(method, path.format(2))) == (422, "LAST_ADMIN")


@pytest.mark.both_databases
@pytest.mark.parametrize("first", WAYS)
@pytest.mark.parametrize("second", WAYS)
def test_of_two_admins_who_remove_each_other_at_once_one_stays(app, admin, user, first, second):
    has_role(app, 2, "admin")

    def call(way, token, user_id):
        method, path = WAYS[way]
        headers = {"Authorization": token}
        return lambda client: client.open(
            f"/api{path.format(user_id)}", method=method, headers=headers
        )

    answers = at_once(app, call(first, admin.token, 2), call(second, user.token, 1))

    kinds = Counter(answer.status_code < 300 for answer in answers)
    assert kinds == {True: 1, False: 1}
    # The other is the last admin, or none any more.
    assert {answer.status_code for answer in answers} <= {200, 204, 401, 403, 422}


def test_where_nobody_is_admin_users_go_as_before(app, api):
    token = api.logged_in()

    assert api("DELETE", "/users/1", token=token).status_code == 200


@pytest.mark.parametrize(
    "words",
    [
        ("users", "disable", "ada@example.com"),
        ("users", "delete", "ada@example.com", "--yes"),
        ("roles", "revoke", "ada@example.com", "admin"),
    ],
)
def test_a_command_may_and_says_so(app, admin, user, runner, words):
    result = runner.invoke(args=[*words])

    assert result.exit_code == 0
    assert result.stderr.startswith("Warning: this was the last user with the role admin")
    # There is none to lose any more.
    other = runner.invoke(args=["users", "disable", "bob@example.com"])
    assert (other.exit_code, other.stderr) == (0, "")
