"""The routes of an app: what they cost when it is created, and the URLs that are built of them."""

import cProfile

import pytest
from flask import url_for


def test_an_app_is_created_without_compiling_code(make_app):
    make_app()

    profile = cProfile.Profile()
    profile.runcall(make_app)

    called = {str(each.code): each.callcount for each in profile.getstats()}
    assert called.get("<built-in method builtins.compile>", 0) == 0


@pytest.mark.parametrize(
    ("endpoint", "values", "url"),
    [
        ("todos.create", {}, "/api/todos"),
        ("todos.findById", {"id": 7}, "/api/todos/7"),
        ("explorer.static", {"filename": "a b.css"}, "/explorer/static/a%20b.css"),
        ("todos.findById", {"id": 7, "rule": "a&b"}, "/api/todos/7?rule=a%26b"),
    ],
)
def test_urls_are_built(app, endpoint, values, url):
    with app.test_request_context():
        assert [url_for(endpoint, **values) for _ in range(2)] == [url, url]
