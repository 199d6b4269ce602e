"""Servers that answer as GitHub and Facebook document it: OAuth 2.0 without OpenID Connect."""

from base64 import urlsafe_b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from typing import Any
from urllib.parse import parse_qsl, urlencode

from flask import Flask, Response, jsonify, request

from tests.support.live import serve_app

from .provider import CLIENT_ID, CLIENT_SECRET

CODE = "0123456789abcdef0123"


class OAuth2Server:
    """What both have in common: one code, for one flow, and a token for it."""

    token: str

    def __init__(self) -> None:
        self.url = ""
        self.reset()

    def reset(self) -> None:
        """Forget what a test has changed."""
        self.flow: dict[str, str] = {}

    def authorize(self, location: str) -> dict[str, str]:
        """Act as a person who logs in and consents; return the query of the callback."""
        self.flow = dict(parse_qsl(location.partition("?")[2]))
        return {"code": CODE, "state": self.flow["state"]}

    def is_granted(self, given: dict[str, str]) -> bool:
        """Tell whether a token request has the code, the verifier and the client's secret."""
        flow, self.flow = self.flow, {}
        return (
            bool(flow)
            and given["code"] == CODE
            and given["client_id"] == CLIENT_ID
            and given["client_secret"] == CLIENT_SECRET
            and given["redirect_uri"] == flow["redirect_uri"]
            and self.is_proven(flow, given)
        )

    def is_proven(self, flow: dict[str, str], given: dict[str, str]) -> bool:
        digest = sha256(given["code_verifier"].encode()).digest()
        return urlsafe_b64encode(digest).decode().rstrip("=") == flow["code_challenge"]


class GitHub(OAuth2Server):
    """docs.github.com, "Authorizing OAuth apps" and "REST API endpoints for users"."""

    token = "gho_16C7e42F292c6912E7710c838347Ae178B4a"

    def reset(self) -> None:
        super().reset()
        # The public email of the profile, which nothing says to be verified.
        self.user: dict[str, Any] = {
            "login": "octocat",
            "id": 583231,
            "node_id": "MDQ6VXNlcjU4MzIzMQ==",
            "type": "User",
            "name": "The Octocat",
            "email": None,
        }
        self.emails = [
            {"email": "old@example.com", "primary": False, "verified": True, "visibility": None},
            {
                "email": "ada@example.com",
                "primary": True,
                "verified": True,
                "visibility": "private",
            },
        ]

    def add_to(self, app: Flask) -> None:
        app.add_url_rule("/login/oauth/access_token", view_func=self.on_token, methods=["POST"])
        app.add_url_rule("/user", view_func=self.on_user)
        app.add_url_rule("/user/emails", view_func=self.on_emails)

    def on_token(self) -> Any:
        if self.is_granted(request.form.to_dict()):
            answer = {"access_token": self.token, "scope": "user:email", "token_type": "bearer"}
        else:
            answer = {
                "error": "bad_verification_code",
                "error_description": "The code passed is incorrect or expired.",
                "error_uri": "https://docs.github.com/apps/managing-oauth-apps/troubleshooting",
            }
        # Errors have the status 200, and who does not ask for JSON gets a form.
        if request.accept_mimetypes.best == "application/json":
            return jsonify(answer)
        return Response(urlencode(answer), mimetype="application/x-www-form-urlencoded")

    def on_user(self) -> Any:
        return jsonify(self.user) if self._is_authorized() else self._refuse()

    def on_emails(self) -> Any:
        return jsonify(self.emails) if self._is_authorized() else self._refuse()

    def _is_authorized(self) -> bool:
        headers = request.headers
        scheme, _, token = headers.get("Authorization", "").partition(" ")
        return scheme.lower() in ("bearer", "token") and token == self.token

    def _refuse(self) -> Any:
        return jsonify({"message": "Bad credentials", "status": "401"}), 401


class Facebook(OAuth2Server):
    """developers.facebook.com, "Manually Build a Login Flow" and "Handling Errors"."""

    token = "EAABwzLixnjYBO0123456789"

    def reset(self) -> None:
        super().reset()
        self.user = {"id": "10158000000000000", "name": "Ada Lovelace", "email": "ada@example.com"}

    def add_to(self, app: Flask) -> None:
        methods = ["GET", "POST"]
        app.add_url_rule("/oauth/access_token", view_func=self.on_token, methods=methods)
        app.add_url_rule("/me", view_func=self.on_me)

    def on_token(self) -> Any:
        if self.is_granted(request.values.to_dict()):
            return jsonify(
                {"access_token": self.token, "token_type": "bearer", "expires_in": 5183944}
            )
        return self._refuse("This authorization code has been used.", 100)

    def on_me(self) -> Any:
        token = request.args.get("access_token") or request.headers["Authorization"].split()[1]
        if token != self.token:
            return self._refuse("Invalid OAuth access token.", 190)
        wanted = request.args.get("fields", "id,name").split(",")
        return jsonify({name: self.user[name] for name in wanted if name in self.user})

    def _refuse(self, message: str, code: int) -> Any:
        error = {"message": message, "type": "OAuthException", "code": code, "fbtrace_id": "AbC1"}
        return jsonify({"error": error}), 400


@contextmanager
def serving(server: OAuth2Server) -> Iterator[str]:
    """Serve one of them by threads of this process; yield its address."""
    app = Flask("provider")
    server.add_to(app)
    with serve_app(app) as server.url:
        yield server.url
