"""Passkeys of Chromium's virtual authenticator, over two instances of the service."""

import re
from pathlib import Path

import pytest
import requests

from tests.conftest import PASSWORD, hash_of_password
from tests.support.live import serve_app
from tests.support.ports import free_port
from tests.support.rows import store_login
from tests.support.second_factors import OPTIONAL
from tests.support.virtual_authenticator import add_authenticator

pytestmark = pytest.mark.live

MAKE = """async (options) => {
  const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(options);
  return (await navigator.credentials.create({publicKey})).toJSON();
}"""
SIGN = """async (options) => {
  const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(options);
  return (await navigator.credentials.get({publicKey})).toJSON();
}"""
DOCUMENTED = re.compile(r"## Passkeys\n.*?```js\n(.*?)```", re.DOTALL)
CREDENTIALS = {"email": "ada@example.com", "password": PASSWORD}


@pytest.fixture
def service(make_app, secrets):
    """The addresses of two instances on one database, with a user; browsers know the first."""
    port = free_port()
    url = f"http://localhost:{port}"
    settings = {"PASSKEYS": {}, "PUBLIC_URL": url, **OPTIONAL}
    app = make_app(**settings)
    secrets.append(store_login(app, CREDENTIALS["email"], hash_of_password()))
    with serve_app(app, port), serve_app(make_app(**settings)) as second:
        yield f"{url}/api", f"{second}/api"


@pytest.fixture
def page(browser, service):
    # The code of a front end, which has a policy that lets it call the service.
    page = browser.new_page(bypass_csp=True)
    page.goto(f"{service[0]}/")
    add_authenticator(page)
    yield page
    page.close()


def test_a_browser_registers_and_logs_in(service, page, secrets):
    here, there = service

    def post(instance, path, json=None, token=None):
        headers = {"Authorization": token} if token else {}
        return requests.post(f"{instance}{path}", json=json or {}, headers=headers, timeout=30)

    token = post(there, "/users/login", CREDENTIALS).json()["id"]
    made = page.evaluate(MAKE, post(here, "/users/1/passkeys/options", token=token).json())
    added = post(there, "/users/1/passkeys", {"name": "laptop", "credential": made}, token)
    signed = page.evaluate(SIGN, post(here, "/users/login/passkey/options").json())
    login = post(there, "/users/login/passkey", {"credential": signed})
    again = post(here, "/users/login/passkey", {"credential": signed})
    first = post(here, "/users/login", CREDENTIALS)
    ticket = first.json()["error"]["details"]["ticket"]
    proof = page.evaluate(SIGN, post(there, "/users/login/passkey/options").json())
    second = post(there, "/users/login/factor", {"ticket": ticket, "credential": proof})
    secrets.extend([token, login.json()["id"], ticket, second.json()["id"]])

    assert added.json()["name"] == "laptop", added.json()
    assert added.json()["transports"] == ["internal"]
    assert (login.status_code, login.json()["userId"]) == (200, 1)
    assert again.status_code == 401
    assert (first.status_code, second.status_code) == (401, 200)


def test_the_code_of_the_documentation_registers_and_logs_in(service, page, secrets):
    here, _ = service
    token = requests.post(f"{here}/users/login", json=CREDENTIALS, timeout=30).json()["id"]
    page_text = (Path(__file__).parents[2] / "docs" / "identity.md").read_text()
    code = DOCUMENTED.search(page_text)[1]
    calls = "return [await addPasskey(1, token, 'laptop'), await logIn()]"
    added, login = page.evaluate(f"async (token) => {{ {code} {calls} }}", token)
    secrets.extend([token, login["id"]])

    assert (added["id"], added["name"]) == (1, "laptop")
    assert login["userId"] == 1
