"""The cost of calls of a model in JSON, beside those of the same model in Python."""

import json
import sys

from sqlalchemy import insert

from app.database.metadata import app_metadata
from app.database.session import db
from tests.support.answers import refusal
from tests.support.rows import statements

from .library import OPEN, OWNED, rule

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


def test_a_model_in_json_costs_what_one_in_python_costs(serve):
    api = serve({"task": TASK})
    app, token = api.client.application, api.logged_in()

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


def test_the_names_of_properties_and_ids_that_are_text_count_towards_an_answers_bytes(serve):
    names = [f"isThisOneOfTheItemsThatWereReturnedBecauseOfReason{n:02}" for n in range(10)]
    item = {
        "name": "Item",
        "properties": {"id": {"type": "string", "id": True}, **dict.fromkeys(names, "boolean")},
        "relations": {"shelf": {"type": "belongsTo", "model": "Shelf"}},
        "acls": OPEN,
    }
    shelf = {
        "name": "Shelf",
        "relations": {"items": {"type": "hasMany", "model": "Item"}},
        "acls": OPEN,
    }
    api = serve({"item": item, "shelf": shelf})
    app, token = api.client.application, api.logged_in()
    api("POST", "/shelves", {}, token=token)
    ids = [f"{number:04}" + "\u00e9" * 250 for number in range(2000)]
    with app.app_context():
        rows = [{"id": each, "shelf_id": 1} for each in ids]
        db.session.execute(insert(app_metadata.of(app).tables["item"]), rows)
        db.session.commit()

    def get(path, **filter_):
        query = {"filter": json.dumps(filter_)}
        return api("GET", path, token=token, query_string=query)

    page = get("/items")
    some = get("/shelves/1", include={"relation": "items", "scope": {"limit": 400}})
    short = {"relation": "items", "scope": {"fields": ["shelfId", *names]}}

    assert len(page.json) > 800
    assert len(page.data) <= 2_000_000
    assert len(some.json["items"]) == 400
    assert len(some.data) <= 1_000_000
    assert refusal(get("/shelves/1", include=short)) == (400, "INVALID_FILTER")
