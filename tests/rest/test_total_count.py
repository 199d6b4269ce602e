"""`?count=true` on lists: the number of rows of all pages, in `X-Total-Count`."""

import pytest

from tests.support.answers import refusal
from tests.support.rows import statements

from .conftest import store

# The query, the total and the statements of the request; those of the token and of the page are 2.
# An empty page has no row with the total, which takes another statement.
TOTALS = [
    ("", None, 2),
    ("count=false", None, 2),
    ("count=true", 39, 2),
    ("count=true&filter[limit]=39", 39, 2),
    ("count=true&filter[skip]=30", 39, 2),
    ("count=true&filter[where][isComplete]=true&filter[limit]=20", 19, 2),
    ("count=true&filter[where][title]=nothing", 0, 2),
    ("count=true&filter[limit]=5", 39, 2),
    ("count=true&filter[limit]=5&filter[skip]=10&filter[order]=title", 39, 2),
    ("count=true&filter[skip]=100", 39, 3),
    ("count=true&filter[where][isComplete]=true&filter[limit]=5", 19, 2),
    ("count=true&filter[where][owner][id]=1&filter[limit]=5", 39, 2),
    ("count=true&filter[fields]=id&filter[include]=owner&filter[limit]=5", 39, 3),
]


@pytest.mark.parametrize("path", ["/todos", "/users/1/todos"])
def test_the_total_is_that_of_the_filter_without_limit_and_skip(app, api, token, rows, path):
    others = [{**row, "id": row["id"] + 100, "owner_id": 2} for row in rows]
    api.register("bob@example.com")
    store(app, others)

    for query, total, sent in TOTALS:
        with statements(app) as seen:
            response = api("GET", f"{path}?{query}", token=token)

        assert response.status_code == 200
        assert response.headers.get("X-Total-Count") == (None if total is None else str(total))
        assert len(seen) == sent, (query, seen)


def test_the_total_counts_rows_on_both_sides_of_a_relation_once(clinic):
    clinic("POST", "/physicians", {"name": "Dr. One"})
    clinic("POST", "/physicians", {"name": "Dr. Two"})
    for name in "abc":
        clinic("POST", "/physicians/1/patients", {"name": name})
    clinic("PUT", "/physicians/2/patients/rel/1")

    first = clinic("GET", "/physicians/1/patients?filter[limit]=2&count=true")
    second = clinic("GET", "/physicians/2/patients?filter[limit]=0&count=true")
    foreign = clinic("GET", "/physicians/1/patients?count=true", caller=clinic.bob)

    assert (len(first.json), first.headers["X-Total-Count"]) == (2, "3")
    assert (len(second.json), second.headers["X-Total-Count"]) == (1, "1")
    assert foreign.status_code == 404


def test_the_audit_log_of_a_user_is_counted(api, secrets):
    token = api.newcomer()

    page = api("GET", "/users/1/audit?filter[limit]=1&count=true", token=token)

    assert (len(page.json), page.headers["X-Total-Count"]) == (1, "2")


@pytest.mark.parametrize("query", ["count=", "count=1", "count=True", "count=true&count=true"])
def test_a_count_that_is_neither_true_nor_false_is_400(api, token, query):
    assert refusal(api("GET", f"/todos?{query}", token=token)) == (400, "INVALID_FILTER")


def test_the_document_describes_the_count_of_lists_alone(client):
    paths = client.get("/api/openapi.json").json["paths"]
    described = {
        path
        for path, item in paths.items()
        for operation in item.values()
        if any(each.get("name") == "count" for each in operation["parameters"])
    }
    headers = paths["/todos"]["get"]["responses"]["200"]["headers"]

    of_admins = {"/admin/audit", "/admin/outbox", "/admin/users"}
    assert described == {"/todos", "/users", "/users/{id}/todos", "/users/{id}/audit", *of_admins}
    assert headers["X-Total-Count"]["schema"] == {"type": "integer", "minimum": 0}
