"""Tables and indexes between models: through one of their own sides, and names that are taken."""

import pytest

from app.problems import ConfigurationError

from .conftest import running_a_command
from .library import OPEN

FOLLOW = {
    "name": "Follow",
    "relations": {
        "follower": {"type": "belongsTo", "model": "Person"},
        "followee": {"type": "belongsTo", "model": "Person"},
    },
    "acls": OPEN,
}
BY_FOLLOWER = {"type": "hasMany", "through": "Follow", "foreignKey": "followerId"}
PERSON = {
    "name": "Person",
    "properties": {"name": "string"},
    "relations": {
        "idols": {**BY_FOLLOWER, "model": "Person", "keyThrough": "followeeId"},
        # Through its own model: each row between both refers to another one.
        "earlier": {**BY_FOLLOWER, "model": "Follow", "keyThrough": "earlierId"},
        "friends": {"type": "hasAndBelongsToMany", "model": "Person"},
    },
    "acls": OPEN,
}


@pytest.fixture
def call(serve):
    """Ada follows Bob, and once more after that."""
    api = serve({"follow": FOLLOW, "person": PERSON})
    token = api.logged_in()

    def call(verb, path, body=None):
        return api(verb, path, body, token=token)

    for name in ("Ada", "Bob"):
        call("POST", "/people", {"name": name})
    for earlier in (None, 1):
        call("POST", "/follows", {"followerId": 1, "followeeId": 2, "earlierId": earlier})
    return call


@pytest.mark.both_databases
def test_a_relation_may_be_through_its_own_model(call):
    first = call("GET", "/follows/1").json

    assert call("GET", "/people/1?filter[include]=earlier").json["earlier"] == [first]
    assert call("GET", "/people/2?filter[include]=earlier").json["earlier"] == []
    assert call("GET", "/people/1/earlier").json == [first]
    assert call("GET", "/people/1/earlier/count").json == {"count": 1}
    assert call("GET", "/people/1/earlier/1").json == first
    assert call("GET", "/people/1/earlier/2").status_code == 404
    assert call("HEAD", "/people/1/earlier/rel/1").status_code == 200
    assert call("PUT", "/people/1/earlier/1", {"followeeId": 1}).json["followeeId"] == 1
    assert call("DELETE", "/people/1/earlier/1").status_code == 204
    assert call("GET", "/follows").json == [
        {"id": 2, "followerId": 1, "followeeId": 2, "earlierId": None}
    ]


@pytest.mark.both_databases
def test_a_relation_to_its_own_model_may_be_through_another(call):
    bob = call("GET", "/people/2").json

    assert call("GET", "/people/1/idols").json == [bob]
    assert call("PUT", "/people/2/idols/rel/1").status_code == 204
    included = call("GET", '/people?filter={"include":"idols","order":"id"}').json
    assert [[each["id"] for each in row["idols"]] for row in included] == [[2, 2], [1]]


@pytest.mark.both_databases
def test_rows_of_one_model_are_linked_with_each_other(call):
    assert call("PUT", "/people/1/friends/rel/2").status_code == 204
    assert call("PUT", "/people/1/friends/rel/1").status_code == 204

    included = call("GET", '/people?filter={"include":"friends","order":"id"}').json
    assert [[each["id"] for each in row["friends"]] for row in included] == [[1, 2], []]


def both_many(model):
    return {"type": "hasAndBelongsToMany", "model": model}


def model(name, relations=(), **more):
    return {"name": name, "relations": dict(relations), "acls": OPEN, **more}


@pytest.mark.both_databases
def test_a_model_with_both_names_is_what_two_models_are_linked_by(serve):
    keys = {"bookId": "number", "shelfId": "number", "since": "dateonly"}
    api = serve(
        {
            "book": model("Book", {"shelves": both_many("Shelf")}),
            "shelf": model("Shelf", {"books": both_many("Book")}),
            "link": model("BookShelf", properties=keys),
        }
    )
    token = api.logged_in()

    def call(verb, path, body=None):
        return api(verb, path, body, token=token)

    book, shelf = call("POST", "/books", {}).json, call("POST", "/shelves", {}).json
    assert call("PUT", "/books/1/shelves/rel/1").status_code == 204
    assert call("GET", "/shelves/1/books").json == [book]
    assert call("GET", "/BookShelves").json == [{"id": 1, "bookId": 1, "shelfId": 1, "since": None}]
    assert call("GET", "/books?filter[include]=shelves").json == [{**book, "shelves": [shelf]}]


# Models, and the problem: the table between two of them is taken.
TAKEN = [
    (
        {
            "one": model("a", {"cs": both_many("bC")}),
            "two": model("aB", {"cs": both_many("c")}),
            "three": model("bC"),
            "four": model("c"),
        },
        "two.json: relations.cs: its table a_b_c is that of a and bC too; set through",
    ),
    (
        {
            "a": model("A", {"bs": both_many("B")}),
            "b": model("B"),
            "other": model("a_b"),
        },
        "a.json: relations.bs: its table a_b is that of a_b too; set through",
    ),
    (
        {"access": model("access", {"tokens": both_many("tokens")}), "tokens": model("tokens")},
        "access.json: relations.tokens: its table access_tokens is that of Ostiary too; set thr",
    ),
]


def test_a_table_between_two_models_that_is_taken_is_said(make_app, write_models, tmp_path):
    for models, problem in TAKEN:
        with running_a_command(), pytest.raises(ConfigurationError) as raised:
            make_app(MODELS_FOLDER=write_models(models))

        assert problem in str(raised.value)
        for path in (tmp_path / "models").iterdir():
            path.unlink()


@pytest.mark.both_databases
def test_indexes_whose_names_would_be_the_same_have_different_ones(serve):
    kind = {"type": "number", "index": True}
    label = {"type": "string", "unique": True}
    api = serve(
        {
            "order": model("Order", properties={"itemKind": kind, "itemLabel": label}),
            "item": model("OrderItem", properties={"kind": kind, "label": label}),
        }
    )
    token = api.logged_in()

    for path, name in (("/orders", "itemLabel"), ("/OrderItems", "label")):
        statuses = [api("POST", path, {name: "a"}, token=token).status_code for _ in range(2)]
        assert statuses == [200, 422]
