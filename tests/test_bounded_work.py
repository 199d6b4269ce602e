"""The largest requests: their function calls and statements, which do not depend on the clock.

`python -m benchmarks.worst` measures their CPU time, with a thousand rows.
"""

import cProfile
import json
import shutil
import unicodedata

import pytest

from benchmarks.worst.catalog import requests
from benchmarks.worst.measuring import make_environ, respond
from benchmarks.worst.request import BODY, HEAD, TARGET
from benchmarks.worst.service import serving
from tests.support.rows import statements

# Calls of any function, which take 100 ms; and statements, of which a creation by users has most.
MAX_CALLS, MAX_STATEMENTS = 320_000, 70
# Characters of a text that is normalized, in 1.5 ms: more take quadratic time, which is no call.
MAX_NORMALIZED = 1024
# Which SQLite is sent row by row: links that are rows of a model.
ROW_BY_ROW = {"related: 1000 readers"}
ROWS = 20


@pytest.fixture(scope="module")
def service(sqlite_template, tmp_path_factory):
    """An app with a few rows, and the token of their owner."""
    folder = tmp_path_factory.mktemp("worst")
    shutil.copy(sqlite_template, folder / "worst.sqlite")
    with serving(folder, f"sqlite:///{folder}/worst.sqlite", ROWS) as served:
        yield served


def count(app, environ):
    """Return the status, the calls and the statements of a request."""
    profile = cProfile.Profile()
    with statements(app) as sent:
        status = profile.runcall(respond, app, environ)
    return status, sum(entry.callcount for entry in profile.getstats()), len(sent)


@pytest.fixture
def normalized(monkeypatch):
    """The lengths of the texts that are normalized."""
    lengths, normalize = [], unicodedata.normalize

    def record(form, text):
        lengths.append(len(text))
        return normalize(form, text)

    monkeypatch.setattr(unicodedata, "normalize", record)
    return lengths


@pytest.mark.live
def test_no_request_does_more_than_a_bounded_amount_of_work(service, normalized):
    app, token = service
    # Built once.
    app.test_client().get("/api/openapi.json")
    seen = {}

    for request in requests():
        assert len(request.body) <= BODY + 5000
        assert len(request.path) <= TARGET + 500
        assert sum(map(len, request.headers.values())) <= HEAD
        seen[request.name] = count(app, make_environ(request, token))

    # 502 says that a remote service has answered too much.
    assert {name: one for name, one in seen.items() if one[0] >= "5" and one[0] != "502"} == {}
    assert {name: one for name, one in seen.items() if one[1] > MAX_CALLS} == {}
    many = {name for name, one in seen.items() if one[2] > MAX_STATEMENTS}
    assert many == ROW_BY_ROW
    assert max(normalized) <= MAX_NORMALIZED
    # The largest that are accepted are among them.
    assert seen["POST todos: 1000 rows"][0] == seen["POST documents: 300 rows"][0] == "200"
    assert seen["todos: or of 249"][0] == seen["documents: inq of 20 items"][0] == "200"


def test_an_array_of_wide_rows_has_fewer_of_them(service):
    app, token = service
    headers = {"Authorization": token}

    narrow = app.test_client().post("/api/folders", headers=headers, json=[{}] * 1001)
    wide = app.test_client().post("/api/documents", headers=headers, json=[{}] * 400)
    slow = app.test_client().post("/api/labels", headers=headers, json=[{}] * 50)

    assert narrow.json["message"] == "The array must not have more than 1000 items."
    assert wide.json["message"] == "The array must not have more than 363 items."
    assert slow.json["message"] == "The array must not have more than 45 items."


TOO_MUCH = [
    ({"where": {"and": [{"tags": "a"}] * 3}}, "at most 2 conditions on arrays"),
    ({"where": {"tags": {"inq": ["a"] * 21}}}, "at most 20 values"),
    ({"order": [f"extra.k{number}" for number in range(4)]}, "more than 3 paths"),
    # The rows have up to 60 kB of JSON, which counts twice.
    ({"limit": 20}, "limit: 1"),
]


# Each of these would be enough in one filter.
TOO_MUCH_INCLUDED = [
    ({"where": {"tags": "a"}}, "at most 2 conditions on arrays"),
    ({"where": {"or": [{f"extra.k{number}": 1} for number in range(7)]}}, "at most 20 values"),
    ({"order": ["extra.a", "extra.b"]}, "more than 3 paths"),
]


@pytest.mark.parametrize(("scope", "problem"), TOO_MUCH_INCLUDED, ids=str)
def test_the_json_that_includes_read_is_bounded_for_all_of_them(service, scope, problem):
    app, token = service
    scope = {**scope, "fields": ["id"]}
    included = [{"relation": f"reports{number}", "scope": scope} for number in range(3)]

    def ask(include):
        return app.test_client().get(
            "/api/folders",
            headers={"Authorization": token},
            query_string={"filter": json.dumps({"include": include, "limit": 1})},
        )

    assert ask(included[:1]).status_code == 200
    assert ask(included).status_code == 400
    assert problem in ask(included).json["message"]


@pytest.mark.parametrize(("filter_", "problem"), TOO_MUCH, ids=str)
def test_a_filter_reads_a_bounded_amount_of_json(service, filter_, problem):
    app, token = service

    answer = app.test_client().get(
        "/api/documents",
        headers={"Authorization": token},
        query_string={"filter": json.dumps(filter_)},
    )

    assert answer.status_code == 400
    assert problem in answer.json["message"]
