"""The statements and round trips of requests on PostgreSQL, counted by a proxy."""

from datetime import UTC, datetime

import pytest

from app.testing.apps import close
from tests.conftest import Api
from tests.support.apps import build

from .conftest import store

# The status; the statements and round trips of the token and of the rows. BEGIN, COMMIT or
# ROLLBACK would be counted as well.
TWO = (200, 2, 2)
CALLS = {
    ("GET", "/todos/1001", None): TWO,
    ("POST", "/todos", '{"title": "b"}'): TWO,
    ("GET", "/todos", None): TWO,
    ("GET", '/todos?filter={"where":{"isComplete":false},"order":"title DESC"}', None): TWO,
    ("GET", "/todos/count", None): TWO,
    ("GET", "/todos?count=true", None): TWO,
    ("GET", "/todos?count=true&filter[limit]=1", None): TWO,
    ("GET", "/todos/1001/exists", None): TWO,
    ("GET", "/users/1", None): TWO,
    ("PATCH", "/todos/1001", '{"title": "c"}'): TWO,
    ("POST", "/todos/update?where={}", '{"isComplete": false}'): TWO,
    # The path says whose it is, so that the token is all that there is to ask.
    ("GET", "/todos/x", None): (404, 1, 1),
    ("GET", "/users/2", None): (403, 1, 1),
}
# The driver prepares a statement at its sixth execution, which takes one more round trip.
WARM_UP = 8


@pytest.fixture
def database_url(postgres_url):
    return postgres_url


@pytest.fixture
def client(traffic, tmp_path):
    """A client of an app that reaches its database through the proxy."""
    app = build(traffic.url, tmp_path / "mail")
    yield app.test_client()
    close(app)


def test_a_request_takes_two_round_trips_and_no_transaction(client, traffic, secrets):
    api = Api(client, secrets)
    headers = {"Authorization": api.logged_in()}
    todo = {"title": "a", "desc": None, "is_complete": False, "owner_id": 1}
    store(client.application, [{"id": 1001, "created": datetime.now(UTC), **todo}])
    found = {}

    for verb, path, body in CALLS:
        for _ in range(WARM_UP + 1):
            traffic.messages.clear()
            kind = "application/json" if body else None
            response = client.open(
                f"/api{path}", method=verb, data=body, content_type=kind, headers=headers
            )
        found[verb, path, body] = response.status_code, traffic.statements, traffic.round_trips

    assert found == CALLS


def test_a_request_without_a_token_takes_no_round_trip(client, traffic):
    for path in ("/todos/1001", "/openapi.json", "/users"):
        client.get(f"/api{path}")
        traffic.messages.clear()
        client.get(f"/api{path}")

        # A connection that was closed before may be counted late, as that is not answered.
        assert (traffic.statements, traffic.round_trips) == (0, 0)
