"""Fixtures: an admin, and somebody of support with the rights that ACLS opens."""

import pytest

from app.access.roles import grant
from app.access.rules import EVERYONE, OWNER
from tests.conftest import Api
from tests.support.rows import make_admin
from tests.webhooks.conftest import receiver  # noqa: F401 a fixture

# What users need that everybody may call, beside what a test opens.
LOGIN = {"principalId": EVERYONE, "permission": "ALLOW", "property": ["create", "login"]}
OWN = {"principalId": OWNER, "permission": "ALLOW", "property": ["findById", "reauthenticate"]}


def support(*methods):
    """Return the rule that lets support call these methods, by default all."""
    opened = {"property": [*methods]} if methods else {}
    return {"principalId": "support", "permission": "ALLOW", **opened}


def has_role(app, user_id, name):
    """Give a user a role, as the command does."""
    with app.app_context():
        grant(user_id, name)


class As:
    """Calls the API with a token."""

    def __init__(self, api: Api, token: str) -> None:
        self.api, self.token = api, token

    def __call__(self, method, path, body=None, **options):
        return self.api(method, path, body, token=self.token, **options)

    def get(self, path, **options):
        """Return the JSON of a successful answer."""
        answer = self("GET", path, **options)
        assert answer.status_code == 200, answer.json
        return answer.json


@pytest.fixture
def admin(app, api) -> As:
    """What calls as an admin, the user with id 1."""
    caller = As(api, api.logged_in("ada@example.com"))
    make_admin(app)
    return caller


@pytest.fixture
def user(api, admin) -> As:
    """What calls as a user without roles, the one with id 2."""
    return As(api, api.logged_in("bob@example.com"))


@pytest.fixture
def helper(app, api, user) -> As:
    """What calls as somebody of support, the user with id 3."""
    caller = As(api, api.logged_in("sue@example.com"))
    has_role(app, 3, "support")
    return caller
