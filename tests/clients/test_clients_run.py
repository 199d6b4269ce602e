"""Clients in node and in Chromium call a service as their types say, on both databases."""

import json
import shutil
import subprocess
from urllib.parse import urlsplit

import pytest

from tests.conftest import PASSWORD, Api
from tests.oauth.provider import serve_provider
from tests.support.live import serve_app
from tests.support.ports import free_port
from tests.support.second_factors import enrol
from tests.support.shop import JSON, Shops

from .applications import everything, served
from .hostile import hostile_service
from .unreliable import unreliable_service

pytestmark = pytest.mark.live

# What a page may do that has the client: a strict policy, without inline scripts and `eval`.
POLICY = "default-src 'none'; script-src 'self'; connect-src 'self'"
PAGE = "<!doctype html><title>Shop</title>"
NOT_FOUND = [404, "MODEL_NOT_FOUND", {}]
# What `programs/shop.ts` sees.
EXPECTED = {
    "named": [{"name": "Desk"}, {"name": "Lamp"}],
    "included": [["Lamp", 1, 0]],
    "deep": [["Desk", {"height": 70}, False]],
    "pages": [["Lamp"], ["Desk"]],
    "batch": [3, True, "paid"],
    "items": [["Lamp", 3], ["Desk", 1]],
    "second": 1,
    "total": {"total": "136.50"},
    "sums": [
        {"product.name": "Lamp", "pieces": 3, "lines": 1},
        {"product.name": "Desk", "pieces": 1, "lines": 1},
    ],
    "sent": "sent",
    "refused": [
        "TypeError",
        [412, "PRECONDITION_FAILED", {}],
        "TypeError",
        NOT_FOUND,
        NOT_FOUND,
        "TypeError",
        "AbortError",
    ],
    "messages": ["name"],
    "orders": 1,
    "loggedOut": [401, "AUTHORIZATION_REQUIRED", {}],
    "invalid": [401, "AUTHORIZATION_REQUIRED", {}],
    "codes": ["TypeError", "AUTHORIZATION_REQUIRED", "AUTHORIZATION_REQUIRED"],
}


@pytest.fixture(scope="module")
def shops(tmp_path_factory):
    with Shops(JSON, tmp_path_factory.mktemp("shop")) as shops:
        yield shops


@pytest.fixture
def url(shops, database_url, api, runner):
    """The address of a shop with a clerk."""
    api.register("clerk@example.com")
    runner.invoke(args=["roles", "grant", "clerk@example.com", "clerk"])
    with shops.get(database_url) as shop, serve_app(shop.app) as url:
        yield url


def run_in_node(built, program, *values):
    """Run a program; return what it has seen."""
    done = subprocess.run(
        ["node", built / "node.js", program, *values],
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture
def page(compiled, browser):
    """A page of any service, with a strict policy, whose scripts are the compiled programs."""
    with browser.new_context() as context:
        page = context.new_page()
        # A call that hangs ends with an error.
        page.set_default_timeout(60_000)
        problems = []
        page.on("pageerror", lambda error: problems.append(str(error)))

        def serve(route):
            file = urlsplit(route.request.url).path.removeprefix("/program/")
            path = compiled.folder / "built" / file
            kind = "text/javascript" if path.suffix == ".js" else "text/html"
            text = path.read_text() if path.suffix == ".js" else PAGE
            headers = {"Content-Security-Policy": POLICY, "Content-Type": kind}
            route.fulfill(body=text, headers=headers)

        page.route("**/program/**", serve)
        yield page
        assert problems == []


def run_program(page, program, *values):
    """Run a program in a page; return what it has seen."""
    call = f"async (values) => (await import('/program/{program}.js')).run(...values)"
    return page.evaluate(call, list(values))


@pytest.fixture
def run_in_browser(page):
    """Return a function that runs a program in a page of a service."""

    def run(url, program, *values):
        page.goto(f"{url}/program/page")
        return run_program(page, program, *values)

    return run


def check_shop(seen, email):
    assert seen.pop("user") == [email, email, True]
    assert seen.pop("customer") == {"email": email}
    failed = seen.pop("failed")
    assert failed[:2] == [422, "VALIDATION_ERROR"]
    assert failed[2]["request"] == 1
    assert seen.pop("token") in (None, "a" * 64)
    assert seen == EXPECTED


@pytest.mark.both_databases
def test_a_client_in_node_does_what_its_types_say(compiled, url):
    seen = run_in_node(compiled.folder / "built", "shop", f"{url}/api", "ada@example.com", PASSWORD)

    check_shop(seen, "ada@example.com")


@pytest.mark.both_databases
def test_a_client_in_a_browser_does_what_its_types_say(run_in_browser, url):
    seen = run_in_browser(url, "shop", "/api", "ada@example.com", PASSWORD)

    check_shop(seen, "ada@example.com")


def test_what_the_document_shows_works(compiled, url):
    values = (f"{url}/api", "clerk@example.com", PASSWORD)

    seen = run_in_node(compiled.folder / "built", "documented", *values)

    assert seen.pop("problems").keys() == {"sku"}
    assert seen == {
        "done": "done",
        "lamp": "on sale",
        "dear": [{"name": "Lamp", "price": "60.00"}],
        "order": "open: 2",
        "customers": ["clerk@example.com: 1"],
        "names": ["Desk", "Lamp"],
    }


def test_a_client_in_javascript_does_the_same(compiled, sqlite_url, shops, api, runner, tmp_path):
    api.register("clerk@example.com")
    runner.invoke(args=["roles", "grant", "clerk@example.com", "clerk"])
    built = shutil.copytree(compiled.folder / "built", tmp_path / "built")
    shutil.copy(compiled.folder / "package.json", tmp_path)
    shutil.copy(compiled.folder / "plain" / "shop.js", built / "clients" / "shop.js")

    with shops.get(sqlite_url) as shop, serve_app(shop.app) as url:
        seen = run_in_node(built, "shop", f"{url}/api", "ada@example.com", PASSWORD)

    check_shop(seen, "ada@example.com")


def test_calls_that_are_safe_are_repeated_and_none_waits_for_ever(compiled):
    with unreliable_service() as server:
        url = f"http://127.0.0.1:{server.server_port}/api"
        closed = f"http://127.0.0.1:{free_port()}/api"
        seen = run_in_node(compiled.folder / "built", "unreliable", url, closed)

    assert seen["repeated"] == [2, ""]
    assert seen["refused"] == [503, "TOO_MANY_REQUESTS", 0]
    assert seen["repeatable"] == [2, ""]
    assert seen["ignored"] == [503, "TOO_MANY_REQUESTS", 0]
    assert seen["far"] == [503, "TOO_MANY_REQUESTS", 3600]
    assert seen["broken"] == [500, "TOO_MANY_REQUESTS", None]
    assert seen["slow"] == [0, "TIMEOUT", None]
    assert "AbortError" in seen["stopped"]
    assert seen["closed"] == [0, "NETWORK_ERROR", None]
    assert seen["odd"] == [[200, None, None], [502, None, None]]
    assert seen["pages"] == [[1, ""], [2, "skip=1"]]


def test_a_client_survives_a_hostile_service_and_storage(compiled):
    with hostile_service() as other, hostile_service() as server:
        server.other = other.url
        seen = run_in_node(compiled.folder / "built", "hostile", f"{server.url}/api")

    # No redirect is followed, so that no other service gets the token or the body.
    assert seen["moved"] == [[0, "NETWORK_ERROR"]] * 3
    assert other.calls == {}
    assert server.calls["/products"] == 2
    # Dates of `Retry-After`: one that is past, and one that is far.
    assert seen["dated"] == [{}, [503, ""]]
    assert (seen["stopped"].split(":")[0], seen["waited"]) == ("AbortError", True)
    # The link to the next page leads to the same page.
    assert (seen["pages"], seen["html"]) == ([[1], [1]], [200, None])
    assert seen["values"] == [
        {"filter": ['{"where":{"created":"1970-01-01T00:00:00.000Z"}}']},
        "TypeError: title is undefined.",
        "TypeError: title is undefined.",
        "TypeError: id is undefined.",
        "TypeError: title is NaN.",
        "TypeError: Do not know how to serialize a BigInt",
        "TypeError: [object Object] is no id.",
        {"filter": ["{}"]},
    ]
    # In a form, lists and objects are JSON, and dates are texts.
    assert seen["form"] == {
        "title": "a",
        "tags": '["b","c"]',
        "size": '{"height":1}',
        "at": "1970-01-01T00:00:00.000Z",
        "file": "x",
    }
    assert seen["polluted"] == [["__proto__", "id"], None]
    assert seen["refused"] == {
        "calls": [[401, "INVALID_TOKEN"]] * 3,
        "once": 1,
        "again": 2,
        "kept": ["new", 0],
        "loggedOut": None,
    }
    assert seen["storage"] == ["a token"] * 6


def test_odd_names_have_calls(compiled):
    with hostile_service() as server:
        seen = run_in_node(compiled.folder / "built", "odd", f"{server.url}/api")

    assert seen == {
        "thing": False,
        "related": [{}, {}],
        "many": {"filter": ['{"where":{"id":4}}']},
        "below": {},
        "beside": {},
    }
    assert set(server.calls) == {
        *("/__proto__", "/__proto__/1/new", "/__proto__/2/then", "/__proto__/3/toString"),
        *("/shop/items", "/bookitems"),
    }


def test_a_browser_uploads_with_progress_and_a_cookie(run_in_browser, sqlite_url, api, tmp_path):
    api.register()
    port = free_port()
    settings = {**everything(tmp_path), "PUBLIC_URL": f"http://localhost:{port}"}
    with served(tmp_path, sqlite_url, **settings) as app, serve_app(app, port):
        seen = run_in_browser(settings["PUBLIC_URL"], "files", "/api", "ada@example.com", PASSWORD)

    assert seen == {
        "container": "notes",
        "stored": "note.txt",
        "progress": True,
        "listed": [["note.txt", 100_000]],
        "bytes": 100_000,
        "token": None,
    }


def test_a_browser_logs_in_by_a_provider_and_by_a_second_factor(
    page, sqlite_url, secrets, tmp_path
):
    port = free_port()
    url = f"http://localhost:{port}"
    returns = {
        "successRedirect": "/program/page",
        "failureRedirect": "/program/page",
        "failureQueryString": True,
    }
    with serve_provider() as provider:
        provider.reset(secrets)
        providers = {"test": provider.settings(**returns)}
        settings = {**everything(tmp_path), "PUBLIC_URL": url, "PROVIDERS": providers}
        with served(tmp_path, sqlite_url, **settings) as app, serve_app(app, port):
            page.goto(f"{url}/program/page")
            anonymous = run_program(page, "provider", "/api")
            page.goto(anonymous["address"])
            cookies = {cookie["name"]: cookie["value"] for cookie in page.context.cookies()}
            secrets.append(cookies["access_token"])
            device = enrol(Api(app.test_client(use_cookies=False), secrets), secrets[-1])
            logged_in = run_program(page, "provider", "/api")
            page.goto(anonymous["address"])
            half = run_program(page, "provider", "/api")
            with_factor = run_program(page, "provider", "/api", device.code())

    known = {"address": f"{url}/auth/test", "error": None}
    seen = {**known, "email": "ada@example.com", "token": None}
    assert anonymous == {**known, "refused": "AUTHORIZATION_REQUIRED"}
    assert logged_in == seen
    assert half == {**anonymous, "error": "SECOND_FACTOR_REQUIRED"}
    assert with_factor == {**seen, "error": "SECOND_FACTOR_REQUIRED"}
