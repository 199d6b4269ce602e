"""What calls of a model in JSON cost, beside those of the same model in Python."""

import sys

import pytest

from tests.definitions.library import OWNED, rule
from tests.rows import statements

# The twin of the to-dos.
TASK = {
    "name": "Task",
    "properties": {
        "title": {"type": "string", "required": True, "length": 255},
        "desc": "string",
        "isComplete": {"type": "boolean", "default": False},
    },
    "mixins": {"TimeStamp": True},
    "relations": {"owner": {"type": "belongsTo", "model": "User"}},
    "acls": [*OWNED, rule("admin")],
}
CALLS = [
    ("GET", "/1", None),
    ("GET", "", None),
    ("POST", "", {"title": "a"}),
    ("PATCH", "/1", {"title": "b"}),
]
WARM_UP = 10


def count_calls(function):
    """Return how many functions one call runs."""
    count = 0

    def profile(_frame, event, _argument):
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(profile)
    try:
        function()
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_a_model_in_json_costs_what_one_in_python_costs(serve):
    api = serve({"task": TASK})
    app, token = api.client.application, api.newcomer()

    def measure(verb, path, body):
        def call():
            response = api(verb, path, body, token=token)
            assert response.status_code == 200, response.json

        for _ in range(WARM_UP):
            call()
        with statements(app) as sent:
            call()
        return count_calls(call), len(sent)

    for name in ("todos", "tasks"):
        api("POST", f"/{name}", {"title": "a"}, token=token)
    for verb, path, body in CALLS:
        python, declared = (
            measure(verb, f"/todos{path}", body),
            measure(verb, f"/tasks{path}", body),
        )

        assert declared[1] == python[1], (verb, path)
        assert declared[0] <= python[0] * 1.05, (verb, path, declared[0], python[0])
