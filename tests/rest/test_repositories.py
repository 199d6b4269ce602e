"""Repositories of an application's own, which store rows in another way."""

from dataclasses import replace

import pytest

from app.database.session import in_transaction
from app.rest.collection import served_collections
from app.rest.rows.repository import Repository
from app.rest.views.registration import register_resource
from app.server.hash_queue import hashing_views
from app.todos.resource import todos
from tests.support.answers import refusal
from tests.support.documents import blocks
from tests.support.notes import serve_notes  # noqa: F401 a fixture


@pytest.fixture
def served(make_app, token):
    """Serve a resource; return a function that calls it as Ada."""

    def serve(resource):
        app = make_app()
        register_resource(app, resource)

        def call(verb, path, body=None):
            headers = {"Authorization": token}
            return app.test_client().open(f"/api{path}", method=verb, json=body, headers=headers)

        call.app = app
        return call

    return serve


def test_the_repository_of_the_document_keeps_what_is_deleted(serve_notes):  # noqa: F811
    [code] = blocks("docs/python-models.md", "python", "Own ways of storing")
    api = serve_notes(kept=code)
    token = api.logged_in()

    made = api("POST", "/kept", {"text": " two  words ", "stars": 3}, token=token).json
    more = api("POST", "/kept", [{"text": "a"}, {"text": "b "}], token=token).json

    assert [each["text"] for each in (made, *more)] == ["two words", "a", "b"]
    assert api("DELETE", f"/kept/{made['id']}", token=token).json == {"count": 1}
    assert api("GET", f"/kept/{made['id']}", token=token).json == {**made, "stars": 0}
    assert refusal(api("DELETE", "/kept/99", token=token)) == (404, "MODEL_NOT_FOUND")


class Told(Repository):
    """Notes what is called, and whether it is in a transaction."""

    hashed = "title"

    def prepare_insert(self, items):
        CALLS.append(("prepare_insert", in_transaction()))
        return [{**item, "title": item["title"] + "!"} for item in items]

    def insert(self, items):
        CALLS.append(("insert", in_transaction()))
        return super().insert(items)

    def prepare_update(self, conditions, values):
        CALLS.append(("prepare_update", in_transaction()))
        return {**values, "who": "Ada"}

    def update(self, conditions, values):
        assert values["who"] == "Ada"
        CALLS.append(("update", in_transaction()))
        changes = {name: value for name, value in values.items() if name != "who"}
        return super().update(conditions, changes)


CALLS = []


@pytest.mark.parametrize("hooked", [False, True])
def test_a_change_is_prepared_before_its_transaction(served, hooked):
    CALLS.clear()
    told = replace(todos, name="told", singular="told", repository=Told)
    seen = []
    if hooked:
        told.before_save.connect(lambda resource, event: seen.append(sorted(event.values)))
    call = served(told)

    assert call("POST", "/told", {"title": "a"}).json["title"] == "a!"
    assert call("PATCH", "/told/1", {"title": "b"}).json["title"] == "b"
    assert call("POST", "/told/update?where={}", {"title": "c"}).json == {"count": 1}

    changed = [("prepare_update", False), ("update", hooked)]
    assert [("prepare_insert", False), ("insert", hooked), *changed, *changed] == CALLS
    assert seen == ([["desc", "is_complete", "owner_id", "title"], ["title"], ["title"]] * hooked)
    assert hashing_views(call.app)["told.create"] == "title"


def test_a_resource_calls_what_the_current_app_serves_of_it(served):
    told = replace(todos, name="told", singular="told")
    call = served(told)
    of_app, of_other = [], []
    other = served(told).app
    for app, seen in ((call.app, of_app), (other, of_other)):
        collection = served_collections.of(app)["told"]
        collection.resource.after_save.connect(
            lambda resource, event, seen=seen: seen.append(event.row.title)
        )

    with call.app.test_request_context():
        call.app.preprocess_request()
        [row] = told.insert([{"title": "a", "owner_id": 1}])
        told.update([todos.model.id == row.id], {"title": "b"})
        assert told.delete([todos.model.id == row.id]) == 1
        with pytest.raises(RuntimeError, match="until the end of a transaction"):
            told.lock(1)

    assert (of_app, of_other) == (["a", "b"], [])
