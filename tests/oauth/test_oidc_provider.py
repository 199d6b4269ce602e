"""A real provider: a person in Chromium, two instances behind nginx, and a wrong verifier."""

import json
import re
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, urlsplit

import pytest
from playwright.sync_api import Page
from sqlalchemy import update

from app.database.session import db
from app.oauth.models import LoginFlow
from app.users.models import User
from tests.support.answers import refusal
from tests.support.live import Server, serve
from tests.support.nginx import nginx
from tests.support.ports import free_port
from tests.support.rows import count

from .conftest import Browser

pytestmark = pytest.mark.live

CALLBACK = "http://127.0.0.1:3000/auth/node/callback"


@dataclass
class Person:
    """Somebody at the service with a browser, and what of it nobody else may read."""

    page: Page
    url: str
    codes: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.page.on("request", lambda request: self._note(request.url))

    def _note(self, url: str) -> None:
        query = dict(parse_qsl(urlsplit(url).query))
        self.codes += [query[name] for name in ("code", "state") if name in query]

    def go(self, path: str) -> None:
        self.page.goto(f"{self.url}{path}")

    def record(self) -> dict:
        """Return the record of the user, which the browser shows after a login."""
        self.page.wait_for_url(f"{self.url}/api/users/me")
        return json.loads(self.page.inner_text("pre"))

    def call(self, method: str, path: str) -> tuple[int, dict | list | None]:
        """Call the API from a page of the service."""
        self.go("/health")
        script = """async ([method, path]) => {
            const response = await fetch(`/api${path}`, {method});
            return [response.status, await response.text()];
        }"""
        status, text = self.page.evaluate(script, [method, path])
        return status, json.loads(text) if text else None

    def cookies(self) -> dict[str, bool]:
        """Return the names of the service's cookies, and whether scripts cannot read them."""
        cookies = self.page.context.cookies(self.url)
        # The provider's, on the same machine, begin with a line.
        return {
            cookie["name"]: cookie["httpOnly"] for cookie in cookies if cookie["name"][0] != "_"
        }

    def forget_provider(self) -> None:
        self.page.context.clear_cookies(name=re.compile("^_"))


@pytest.fixture(scope="session")
def browser(chrome):
    return chrome


@pytest.fixture
def instances(database_url, node_provider, tmp_path, secrets):
    """Yield the address of two instances, the second of which gets the callbacks, and both."""
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    client = node_provider.register(f"{url}/auth/node/callback", f"{url}/link/node/callback")
    secrets.append(client.secret)
    settings = {
        "issuer": node_provider.issuer,
        "clientID": client.id,
        "clientSecret": client.secret,
        "successRedirect": "/api/users/me",
    }
    environment = {
        "APP_PUBLIC_URL": url,
        "APP_PROVIDERS": json.dumps({"node": settings}),
        "APP_TOKEN_MIDDLEWARE": '{"currentUserLiteral": "me"}',
        "WEB_CONCURRENCY": "1",
    }

    def start(name: str) -> Server:
        (tmp_path / name).mkdir()
        return stack.enter_context(serve(tmp_path / name, database_url, **environment))

    with ExitStack() as stack:
        with ThreadPoolExecutor(2) as pool:
            first, second = pool.map(start, ["first", "second"])
        paths = {"/callback$": second.url, "/": first.url}
        stack.enter_context(nginx(tmp_path, port, paths))
        yield url, first, second


def test_a_person_logs_in_links_unlinks_and_logs_out(instances, browser, node_provider, secrets):
    url, first, second = instances
    with browser.new_context() as context:
        person = Person(context.new_page(), url)

        person.go("/auth/node")
        node_provider.log_in(person.page, "ada")
        record = person.record()
        cookies = person.cookies()
        left = person.call("POST", "/users/logout")
        after = person.cookies()
        stranger = person.call("GET", "/users/me")

        # The provider knows the person still.
        person.go("/auth/node")
        again = person.record()
        person.forget_provider()
        person.go("/link/node")
        node_provider.log_in(person.page, "eve")
        linked = person.record()
        _, identities = person.call("GET", "/users/me/identities")
        ada, eve = (f"/users/me/identities/{identity['id']}" for identity in identities)
        unlinked = person.call("DELETE", ada)
        last = person.call("DELETE", eve)
        person.call("POST", "/users/logout")
        person.go("/auth/node")
        by_other = person.record()

    assert (record["email"], record["emailVerified"]) == ("ada@example.com", True)
    assert cookies == {"login_flow": True, "access_token": True, "userId": False}
    assert (left[0], after, stranger[0]) == (204, {"login_flow": True}, 401)
    assert again == linked == by_other == record
    assert [identity["subject"] for identity in identities] == ["ada", "eve"]
    assert (unlinked[0], last[0]) == (204, 400)
    assert last[1]["error"]["code"] == "LAST_CREDENTIAL"

    logs = first.log.read_text(), second.log.read_text()
    assert re.findall(r'"GET /(\w+/node\S*)" (\d+)', logs[0]) == [
        *[("auth/node", "302")] * 2,
        ("link/node", "302"),
        ("auth/node", "302"),
    ]
    assert re.findall(r'"GET /(\w+/node\S*)" (\d+)', logs[1]) == [
        *[("auth/node/callback", "302")] * 2,
        ("link/node/callback", "302"),
        ("auth/node/callback", "302"),
    ]
    assert len(person.codes) >= 12
    for secret in [*secrets, *person.codes]:
        assert secret not in logs[0] + logs[1]


def test_the_provider_refuses_another_verifier(shared_app, node_provider, secrets):
    client = node_provider.register(CALLBACK)
    settings = {
        "issuer": node_provider.issuer,
        "clientID": client.id,
        "clientSecret": client.secret,
    }
    app = shared_app(PROVIDERS={"node": settings}, TOKEN_MIDDLEWARE={})
    window = Browser(app.test_client(), None, secrets)
    callback = node_provider.authorize(window.begin("/auth/node").location)
    with app.app_context():
        db.session.execute(update(LoginFlow).values(verifier="v" * 43))
        db.session.commit()

    assert refusal(window.open(callback)) == (401, "LOGIN_FAILED")
    assert count(app, User) == 0
    callback = node_provider.authorize(window.begin("/auth/node").location)
    assert window.open(callback).status_code == 302
