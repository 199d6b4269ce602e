"""Users of tests, and the client with which they call the API."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from flask import Flask
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from app.ids import Id
from app.users.service import create_user, issue_token

# The default password of users.
PASSWORD = "correct horse battery"  # noqa: S105 of users in tests


@dataclass(frozen=True)
class Caller:
    """A user in a test's database, logged in by `token`."""

    id: Id
    email: str
    password: str = field(repr=False)
    token: str = field(repr=False)


class Client(FlaskClient):
    """Flask's test client, which can call as a user.

    `user` is the calling Caller; `token` is an access token, such as one returned by `login`::

        client.get("/api/books", user=ada)
    """

    def open(
        self, *args: object, user: Caller | None = None, token: str | None = None, **kwargs: Any
    ) -> TestResponse:
        """Call the app, as this user or with this token if given."""
        if user is not None:
            token = user.token
        if token is not None:
            kwargs["headers"] = {**dict(kwargs.get("headers") or {}), "Authorization": token}
        return super().open(*args, **kwargs)


@dataclass
class Users:
    """Creates users of a test's app."""

    app: Flask
    _number: int = 0

    def __call__(
        self,
        email: str | None = None,
        *,
        role: str | Iterable[str] = (),
        password: str = PASSWORD,
        email_verified: bool = True,
        methods: Iterable[str] = ("pwd",),
        **properties: Any,
    ) -> Caller:
        """Create a user with one or several roles, and log in.

        `methods` are those of `ostiary.users.issue_token`: with `mfa` the session is strong.
        `properties` are those of `ostiary.users.create_user`. Without an email the users are
        user1@example.com, user2@example.com, and so on.
        """
        self._number += 1
        email = email or f"user{self._number}@example.com"
        roles = [role] if isinstance(role, str) else list(role)
        with self.app.app_context():
            user = create_user(
                email, password, roles=roles, email_verified=email_verified, **properties
            )
            token = issue_token(user.id, methods=methods)
            return Caller(user.id, user.email, password, token.id)


@dataclass
class Login:
    """Logs in by the API, as a user does."""

    client: Client

    def __call__(self, user: Caller | str, password: str = PASSWORD, **fields: object) -> str:
        """Log in a user, or with an email and password; return the token.

        `fields` are further fields of the request, such as `ttl` and `realm`. Raises AssertionError
        if the login is refused.
        """
        email = user if isinstance(user, str) else user.email
        password = password if isinstance(user, str) else user.password
        config = self.client.application.config
        path = f"{config['REST_API_ROOT']}/{config['USERS_PATH']}/login"
        answer = self.client.post(path, json={"email": email, "password": password, **fields})
        if answer.status_code != 200:
            raise AssertionError(f"{email} cannot log in: {answer.get_data(as_text=True)}")
        token: str = answer.get_json()["id"]
        return token
