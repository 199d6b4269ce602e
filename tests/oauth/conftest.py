"""Fixtures: a provider, an app that knows it, and browsers that log in by it."""

from dataclasses import dataclass
from urllib.parse import urlsplit

import pytest
from flask import Flask
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from app.oauth import clients
from app.oauth.openid import Discovery
from tests.conftest import Api

from .oidc_provider import oidc_provider
from .provider import CLIENT_SECRET, Provider, serve_provider


@pytest.fixture(scope="session")
def running_provider():
    with serve_provider() as provider:
        yield provider


@pytest.fixture
def provider(running_provider, secrets) -> Provider:
    """A provider that answers as usual; its entry in the settings is `test`."""
    secrets.append(CLIENT_SECRET)
    running_provider.reset(secrets)
    return running_provider


@pytest.fixture(scope="session")
def node_provider():
    """A real provider."""
    with oidc_provider() as provider:
        yield provider


@pytest.fixture
def settings(provider):
    """The settings of the app; a module may have its own."""
    return {"PROVIDERS": {"test": provider.settings()}, "TOKEN_MIDDLEWARE": {}}


@pytest.fixture
def app(shared_app, settings) -> Flask:
    app = shared_app(**settings)
    forget_discovery(app)
    return app


def forget_discovery(app: Flask) -> None:
    """Let an app fetch the metadata and keys of its providers anew."""
    for client in clients.of(app).values():
        client.discovery = Discovery(client.provider, client.http)


@dataclass
class Browser:
    """A browser with its own cookies, in which a user logs in by the provider."""

    client: FlaskClient
    provider: Provider
    secrets: list[str]

    def begin(self, path: str = "/auth/test", **options) -> TestResponse:
        return self.client.get(path, **options)

    def authorize(self, path: str = "/auth/test", **options) -> str:
        """Begin at a path and log in at the provider; return the path that it redirects to."""
        begun = self.begin(path, **options)
        assert begun.status_code == 302, begun.text
        parts = urlsplit(self.provider.authorize(begun.headers["Location"]))
        return f"{parts.path}?{parts.query}"

    def open(self, path: str, **options) -> TestResponse:
        """Open a path; note the token, if there is one, among the secrets."""
        response = self.client.get(path, **options)
        if token := self.token:
            self.secrets.append(token)
        return response

    def log_in(self, path: str = "/auth/test", **options) -> TestResponse:
        return self.open(self.authorize(path, **options), **options)

    @property
    def token(self) -> str | None:
        """The token of the browser's cookie."""
        cookie = self.client.get_cookie("access_token")
        return cookie.value if cookie else None


@pytest.fixture
def make_browser(app, provider, secrets):
    return lambda: Browser(app.test_client(), provider, secrets)


@pytest.fixture
def browser(make_browser) -> Browser:
    return make_browser()


@pytest.fixture
def api(app, secrets) -> Api:
    """A client that keeps no cookies."""
    return Api(app.test_client(use_cookies=False), secrets)
