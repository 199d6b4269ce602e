"""A client in node follows changes of a service, over lost connections."""

from concurrent.futures import ThreadPoolExecutor

import pytest
import requests

from app.changes.hub import hubs
from tests.support.live import serve_app
from tests.support.shop import JSON, Shops
from tests.support.waiting import eventually

from .test_clients_run import run_in_node

pytestmark = pytest.mark.live


@pytest.fixture(scope="module")
def shops(tmp_path_factory):
    with Shops(JSON, tmp_path_factory.mktemp("followed"), CHANGES=["orders"]) as shops:
        yield shops


@pytest.fixture
def token(api, runner):
    """The token of a clerk."""
    token = api.logged_in("clerk@example.com")
    runner.invoke(args=["roles", "grant", "clerk@example.com", "clerk"])
    return token


@pytest.mark.both_databases
def test_a_client_follows_changes_over_lost_connections(compiled, shops, database_url, token):
    with (
        shops.get(database_url) as shop,
        serve_app(shop.app) as url,
        ThreadPoolExecutor() as threads,
    ):
        hub = hubs.of(shop.app)

        def call(verb, path, **body):
            headers = {"Authorization": token}
            answer = requests.request(
                verb, f"{url}/api/orders{path}", json=body, headers=headers, timeout=20
            )
            answer.raise_for_status()
            return answer.json()

        built = compiled.folder / "built"
        running = threads.submit(run_in_node, built, "followed", f"{url}/api", token)
        eventually(lambda: hub.number == 1 or running.done())
        first = call("POST", "", status="paid")["id"]
        eventually(lambda: running.done() or call("GET", "/count")["count"] == 2)
        hub.stop()
        second = call("POST", "", status="paid")["id"]
        call("DELETE", f"/{first}")
        seen = running.result()

    assert seen == {
        "seen": [["create", first, "paid"], ["create", second, "paid"], ["remove", first]],
        "refused": 401,
        "stopped": "AbortError",
    }
