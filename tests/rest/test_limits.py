"""The limits of filters, includes, responses and errors."""

import pytest
from marshmallow import fields
from sqlalchemy import ForeignKey, event, insert
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from app.database.session import db
from app.errors import InvalidFilter
from app.fields.base import Schema
from app.rest.collection import Collection, served_collections
from app.rest.filters.tree import Filter
from app.rest.relations import belongs_to
from app.rest.resource import Resource
from app.rest.views.includes import parse_includes
from app.users.models import User
from tests.support.answers import refusal

from .conftest import store


@pytest.fixture
def admin(runner, token):
    runner.invoke(args=["roles", "grant", "ada@example.com", "admin"])
    return token


def todos(count, desc=None, owner_id=1):
    return [{"title": "a" * 250, "desc": desc, "owner_id": owner_id} for _ in range(count)]


def refused(response, named):
    """Tell whether the filter was refused by a sentence that names this."""
    assert response.json["error"]["code"] == "INVALID_FILTER"
    assert named in response.json["message"]
    return response.status_code == 400


BACKWARD = [
    ("/todos", {"owner": "todos"}, lambda answer: answer[2]["owner"]["todos"][1]["id"]),
    ("/users", {"todos": "owner"}, lambda answer: answer[0]["todos"][1]["owner"]["id"] + 1),
    (
        *("/users/1", {"todos": {"owner": "todos"}}),
        lambda answer: answer["todos"][2]["owner"]["todos"][1]["id"],
    ),
    (
        *("/todos/findOne", {"relation": "owner", "scope": {"include": ["todos"]}}),
        lambda answer: answer["owner"]["todos"][1]["id"],
    ),
]


def test_an_include_may_lead_back_to_its_parent(app, find, admin):
    store(app, todos(3))

    for path, include, second in BACKWARD:
        assert second(find({"include": include}, path).json) == 2, path


def test_what_leads_back_counts_as_often_as_it_is_in_the_answer(app, find, admin):
    store(app, todos(101))
    statements = watch(app)

    for path, include, place in [
        ("/todos", {"owner": "todos"}, "include.owner.todos"),
        ("/users/1", {"todos": {"owner": "todos"}}, "include.todos.owner.todos"),
    ]:
        statements.clear()

        assert refused(find({"include": include}, path), f"{place}: an answer includes at most")
        # The token, the roles, the row or rows, and one for each relation.
        assert len(statements) <= 6
    fewer = {
        "relation": "owner",
        "scope": {"include": {"relation": "todos", "scope": {"limit": 90, "fields": ["id"]}}},
    }
    answer = find({"include": fewer})
    assert answer.status_code == 200
    assert {len(each["owner"]["todos"]) for each in answer.json} == {90}


def watch(app):
    """Return the list that every statement is put into from now on."""
    seen = []
    with app.app_context():
        event.listen(db.engine, "before_cursor_execute", lambda *call: seen.append(call[2]))
    return seen


class Base(DeclarativeBase):
    """Tables that only these tests know."""


class Step(Base):
    """A row that belongs to others in many ways."""

    __tablename__ = "steps"

    id: Mapped[int] = mapped_column(primary_key=True)


for key in "abcdefghijkl":
    setattr(Step, key, mapped_column(ForeignKey("steps.id")))


class StepSchema(Schema):
    """A step on the wire."""

    id = fields.Integer()


@pytest.fixture
def steps(app, monkeypatch):
    relations = {key: belongs_to("steps", key) for key in "abcdefghijkl"}
    resource = Resource("steps", "step", Step, StepSchema, lambda settings: [], relations=relations)
    collection = Collection(resource, app.config)
    monkeypatch.setitem(served_collections.of(app), "steps", collection)

    def parse(include):
        with app.app_context():
            return parse_includes(collection, Filter(include=include))

    return parse


def test_includes_are_limited_to_three_levels(steps):
    three = steps({"a": {"include": {"b": "c"}}})

    assert [each.path for each in three[0].inner[0].inner] == ["include.a.b.c"]
    with pytest.raises(InvalidFilter, match=r"include\.a\.b\.c\.d: .* at most 3 deep"):
        steps({"a": {"include": {"b": {"c": "d"}}}})


def test_includes_are_limited_to_ten_relations(steps):
    assert len(steps({key: {} for key in "abcdefghij"})) == 10
    with pytest.raises(InvalidFilter, match="at most 10 relations"):
        steps({"a": {"include": list("bcdef")}, "b": {"include": list("cdefg")}})


def test_included_objects_are_limited_to_ten_thousand(app, find, admin):
    with app.app_context():
        people = [{"email": f"{n}@example.com", "password_hash": "!"} for n in range(2, 13)]
        db.session.execute(insert(User), people)
        db.session.commit()
    store(app, [row for owner in range(2, 13) for row in todos(1000, owner_id=owner)])
    scope = {"fields": ["id"], "limit": 900}

    assert refused(find({"include": "todos"}, "/users"), "include.todos: an answer includes at")
    most = find({"include": {"relation": "todos", "scope": scope}, "limit": 11}, "/users").json
    assert sum(len(user["todos"]) for user in most) == 9000


@pytest.mark.only_on("sqlite")
def test_queries_of_includes_are_limited_to_the_remaining_budget(app, find, admin):
    limits = []
    with app.app_context():
        event.listen(db.engine, "before_cursor_execute", lambda *call: limits.append(call[3]))

    # Statements that are compiled in advance send no event: this one comes for the first time.
    find({"include": "todos", "limit": 997}, "/users")

    assert 10_001 in limits[-1]


def test_an_object_that_is_included_repeatedly_counts_each_time(app, find, token):
    with app.app_context():
        db.session.get(User, 1).username = "é" * 255
        db.session.get(User, 1).realm = "é" * 255
        db.session.commit()
    store(app, todos(1000))

    assert refused(find({"include": "owner"}), "include.owner: an answer includes at most")
    assert find({"include": {"relation": "owner", "scope": {"fields": ["id"]}}}).status_code == 200


def test_a_page_without_a_limit_ends_at_the_maximum_of_text(app, api, find, token):
    store(app, todos(500, "x" * 10_000))

    response = find()
    seen = [each["id"] for each in response.json]
    while link := response.headers.get("Link"):
        response = api("GET", link.removeprefix("</api").partition(">")[0], token=token)
        seen += [each["id"] for each in response.json]
        assert len(response.data) <= 2_000_000

    assert seen == list(range(1, 501))


def test_a_page_without_a_limit_whose_link_is_too_long_is_refused(app, find, token):
    store(app, todos(500, "x" * 10_000))

    assert refused(find({"where": {"title": {"neq": '"' * 15_000}}}), "too long for a link")


def test_an_answer_has_two_megabytes_whatever_its_text(app, find, token):
    with app.app_context():
        db.session.get(User, 1).username = "\U0001f418" * 20
        db.session.commit()
    for character in ("\U0001f418", "é", '"', "\n"):
        store(app, todos(250, character * 10_000))
    store(app, [{"title": character, "owner_id": 1} for character in '"é' * 500])

    for filter_ in ({}, {"include": "owner"}, {"include": "owner", "order": "id DESC"}):
        for skip in (0, 250, 500, 750, 1000):
            response = find({**filter_, "skip": skip})

            assert response.status_code == 200
            assert len(response.data) <= 2_000_000


def test_a_page_with_a_limit_is_complete_or_rejected(app, find, token):
    store(app, todos(500, "x" * 10_000))

    assert refused(find({"limit": 500}), "limit")
    assert len(find({"limit": 190}).json) == 190
    assert len(find({"limit": 500, "fields": ["id", "title"]}).json) == 500


LONG = "%" + "x" * 100
WIDE = {"or": [{"id": {"gt": number}} for number in range(250)]}


TOO_LARGE = [
    ({"where": {"desc": {"ilike": LONG}}}, "desc.ilike must not have more than 100"),
    ({"where": {"or": [{"desc": {"nlike": LONG}}]}}, "desc.nlike must not have more than 100"),
    ({"where": {"and": [{"title": {"like": "a"}}] * 6}}, "title.like: a filter has at most 5"),
    ({"where": {"title": {"regexp": "a|b|c|d|e|f"}}}, "each alternative of a regexp is one"),
    ({"where": {"or": [{"title": {"regexp": "a|b|c"}}] * 2}}, "at most 5 patterns"),
    ({"where": {"desc": {"like": "a%" + "_b" * 11}}}, "desc.like: patterns"),
    ({"where": {"desc": {"like": "%a_%" * 3, "nlike": "%b_%" * 4}}}, "desc.nlike: patterns"),
    ({"where": {"desc": {"like": "%***_bc"}}}, "*, ? and [ count 6 times"),
    ({"where": {"desc": {"ilike": "%éééééé_bc"}}}, "beyond ASCII 3 times"),
    (
        {"include": {"relation": "owner", "scope": {"where": {"email": {"like": LONG}}}}},
        "email.like",
    ),
    ({"where": WIDE}, "250 properties"),
    ({"where": {"or": [{}] * 251}}, "250 properties"),
    ({"where": {"or": {}}}, "or must be a list"),
    ({"where": {"and": {}}}, "and must be a list"),
    ({"where": {"id": {"inq": {}}}}, "id.inq must be a list"),
    ({"order": ["id"] * 21}, "20"),
    ({"limit": "9" * 5000}, "limit"),
    ({"skip": "9" * 5000}, "skip"),
    ({"include": ["owner"] * 1001}, "1000"),
]


def test_a_filter_that_is_too_large_is_400_and_names_the_limit(find):
    for wanted, named in TOO_LARGE:
        assert refused(find(wanted), named)


def test_filters_of_the_maximum_size_are_answered(find, rows):
    for where in (
        {"or": [{"id": number} for number in range(249)]},
        {"or": [{}] * 249},
        {"id": {"inq": list(range(1000))}},
        {"id": {"nin": list(range(1000))}},
        {"title": {"like": "%" + "x" * 98 + "%", "nlike": "%a_b%c%d%e%f%g%h%i%j"}},
        {"title": {"like": "%***_b"}},
        {"title": {"regexp": "a|b|c|d|e"}},
        {"title": {"ilike": "%éééééé_b"}},
    ):
        assert find({"where": where}).status_code == 200


def test_an_empty_or_selects_no_rows(find, rows):
    assert find({"where": {"or": []}}).json == []


@pytest.mark.only_on("sqlite")
def test_a_property_is_ordered_by_only_once(app, find, rows):
    statements = watch(app)

    find({"order": ["title DESC", "title", "title DESC"]})

    assert statements[-1].count("title DESC") == 1
    assert "title ASC" not in statements[-1]


def test_brackets_are_counted_before_they_are_parsed(api, token):
    response = api("GET", f"/todos?filter{'[' * 16_000}", token=token)

    assert refusal(response) == (400, "QUERY_TOO_DEEP")


LONG_TEXTS = [
    {"x" * 50_000: 1},
    {"where": {"x" * 50_000: 1}},
    {"where": {"x" * 50_000: {"like": LONG}}},
    {"where": {"id": {"x" * 50_000: 1}}},
    {"order": "x" * 50_000},
    {"order": "id " + "x" * 50_000},
    {"order": [["x"] * 20_000]},
    {"limit": "x" * 50_000},
    {"limit": ["x"] * 20_000},
    {"fields": ["x" * 50_000]},
    {"fields": {"x" * 50_000: 1}},
    {"include": "x" * 50_000},
]


def test_an_error_quotes_at_most_100_characters_of_a_filter(find):
    for wanted in LONG_TEXTS:
        response = find(wanted)

        assert refusal(response) == (400, "INVALID_FILTER")
        assert len(response.data) < 1000


def test_an_error_quotes_at_most_100_characters_of_a_path(api, token):
    for path in ("/todos/" + "9" * 16_000, "/todos/" + "x" * 16_000, "/nowhere/" + "x" * 16_000):
        assert len(api("GET", path, token=token).data) < 1000
    brackets = api("GET", f"/todos?filter[where][{'x' * 16_000}]=1&filter[where]=2", token=token)
    assert len(brackets.data) < 1000


MANY_PROBLEMS = [
    [{}] * 1000,
    [7] * 1000,
    [{"title": "a", "k" * 50: 0}] * 1000,
    {f"k{number}": 0 for number in range(8000)},
    {"k" * 90_000: 0},
]


def test_an_error_lists_at_most_fifty_fields(api, token):
    for body in MANY_PROBLEMS:
        response = api("POST", "/todos", body, token=token)

        assert refusal(response) == (422, "VALIDATION_ERROR")
        assert len(response.json["error"]["details"]["messages"]) <= 50
        assert len(response.data) < 20_000


def test_a_bulk_update_reads_no_rows(app, api, token, rows):
    statements = watch(app)

    response = api("POST", "/todos/update?where={}", {"desc": "x"}, token=token)

    assert response.json == {"count": len(rows)}
    assert "RETURNING" not in statements[-1]
