"""Conditions on related rows, and orders by them: how they are sent, their bounds and rules."""

import json
import re
from random import Random

import pytest

from app.problems import ConfigurationError
from tests.support.answers import refusal
from tests.support.documents import blocks, section
from tests.support.rows import statements

from .library import OPEN, rule
from .sites import CODE, MODELS, ask, belongs_to, fill, has_many

READ_ONLY = [rule("$everyone", accessType="READ"), rule("$authenticated", property="create")]


@pytest.fixture
def sites(serve):
    """Serve sites with a few rows; return the API and the tokens of its callers."""
    api = serve(MODELS, code=CODE)
    api.tokens = fill(api, Random(5))
    return api


def ids(response):
    assert response.status_code == 200, response.json
    return [row["id"] for row in response.json]


@pytest.fixture
def library(serve):
    """Serve two authors, and books of theirs and of nobody."""
    author = {
        "name": "Author",
        "properties": {"name": "string", "pin": "string", "born": "number"},
        "hidden": ["pin"],
        "protected": ["born"],
        "relations": {"books": has_many("Book", "authorId"), "mentor": belongs_to("Author", "mId")},
        "acls": OPEN,
    }
    book = {
        "name": "Book",
        "properties": {"title": "string", "about": "object"},
        "relations": {"author": belongs_to("Author", "authorId")},
        "acls": OPEN,
    }
    api = serve({"author": author, "book": book})
    api.token = api.logged_in()
    for name in ("Ann", "Bo"):
        api(
            "POST", "/authors", {"name": name, "mId": None if name == "Ann" else 1}, token=api.token
        )
    for title, author_id in (("a", 1), ("b", 2), ("c", None), ("d", 1)):
        api("POST", "/books", {"title": title, "authorId": author_id}, token=api.token)
    return api


@pytest.mark.both_databases
@pytest.mark.parametrize(
    ("path", "where", "found"),
    [
        ("/books", {"author": {"name": "Ann"}}, [1, 4]),
        ("/books", {"author": {"name": {"like": "B%"}}}, [2]),
        ("/books", {"author": {"exists": False}}, [3]),
        ("/books", {"author": {"exists": True}}, [1, 2, 4]),
        ("/books", {"author": {"mentor": {"name": "Ann"}}}, [2]),
        ("/books", {"or": [{"title": "c"}, {"author": {"name": "Bo"}}]}, [2, 3]),
        ("/authors", {"books": {"title": "a"}}, [1]),
        ("/authors", {"books": {"some": {}}}, [1, 2]),
        ("/authors", {"books": {"none": {"title": "b"}}}, [1]),
        ("/authors", {"books": {"every": {"title": "b"}}}, [2]),
        ("/authors", {"books": {"some": {"title": "a"}, "none": {"title": "b"}}}, [1]),
        ("/authors", {"mentor": {"books": {"title": "d"}}}, [2]),
    ],
)
def test_a_relation_stands_where_a_property_may(library, path, where, found):
    # The third time, the statement is a kept one.
    for _ in range(3):
        assert ids(ask(library, path, library.token, filter={"where": where})) == found
    assert ask(library, f"{path}/count", library.token, where=where).json == {"count": len(found)}


@pytest.mark.both_databases
def test_rows_are_ordered_by_a_property_of_a_relation_to_one(library):
    def order(*terms):
        return ids(ask(library, "/books", library.token, filter={"order": [*terms]}))

    assert order("author.name") == [3, 1, 4, 2]
    assert order("author.name DESC", "id DESC") == [2, 4, 1, 3]
    assert order("author.mentor.name DESC") == [2, 1, 3, 4]
    page = ask(
        library, "/books", library.token, filter={"order": "author.name", "skip": 1, "limit": 2}
    )
    assert ids(page) == [1, 4]


@pytest.mark.both_databases
def test_every_call_that_takes_a_where_takes_relations_in_it(library):
    token, where = library.token, {"author": {"name": "Bo"}}

    def call(verb, path, body=None, **parameters):
        query = {name: json.dumps(value) for name, value in parameters.items()}
        return library(verb, path, body, token=token, query_string=query).json

    assert call("GET", "/books/findOne", filter={"where": where})["id"] == 2
    assert call("POST", "/books/update", {"title": "x"}, where=where) == {"count": 1}
    assert call("GET", "/books/2")["title"] == "x"
    assert call("POST", "/books/upsertWithWhere", {"title": "y"}, where=where)["id"] == 2
    assert call("GET", "/authors/2/books/count", where=where) == {"count": 1}
    assert call("GET", "/authors/1/books", filter={"where": where}) == []
    scope = {"relation": "books", "scope": {"where": {"author": {"mentor": {"name": "Ann"}}}}}
    included = call("GET", "/authors", filter={"include": scope})
    assert [len(author["books"]) for author in included] == [0, 1]
    ordered = {"relation": "books", "scope": {"order": "author.name DESC"}}
    included = call("GET", "/authors/1", filter={"include": ordered})
    assert [book["id"] for book in included["books"]] == [1, 4]
    header = {"filter": json.dumps({"where": where})}
    assert ids(library("GET", "/books", token=token, headers=header)) == [2]
    in_brackets = library("GET", "/books?filter[where][author][name]=Bo", token=token)
    assert ids(in_brackets) == [2]


def test_the_next_page_and_the_total_follow_the_same_conditions(library):
    filter_ = json.dumps({"where": {"author": {"name": "Ann"}}, "limit": 1})

    page = library(
        "GET", "/books", token=library.token, query_string={"filter": filter_, "count": "true"}
    )
    rest = library.client.get(
        page.headers["Link"][1:].partition(">")[0], headers={"Authorization": library.token}
    )

    assert (ids(page), page.headers["X-Total-Count"], ids(rest)) == ([1], "2", [4])


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ({"author": {}}, 'author is a relation: it must be an object with conditions on its rows, '
         'or {"exists": true}.'),
        ({"author": None}, "author is a relation"),
        ({"author": 1}, "author is a relation"),
        ({"author": {"some": {"name": "a"}}}, "author leads to one row"),
        ({"author": {"exists": 1.5}}, "author.exists must be true or false."),
        ({"author": {"books": {"every": {}}}}, "author.books.every must have a condition"),
        ({"author": {"books": {"some": 1}}}, "author.books.some must be an object"),
        ({"author": {"books": {"title": {}}}}, "title must be a value"),
        ({"author": {"books": {"author": {"name": "a"}}}}, "at most 2 relations, one after"),
        ({"author": {"pin": "1"}}, "There is no property 'pin'"),
        ({"author": {"born": 1}}, "There is no property 'born'"),
        ({"authors": {"name": "a"}}, "There is no property 'authors'"),
        (
            {"author.name": "a"},
            'author is a relation: write its conditions as an object, as in {"author": {"name":',
        ),
        ({"and": [{"author": {"name": text}} for text in "abcde"]}, "at most 4 relations"),
    ],
)  # fmt: skip
def test_a_condition_that_is_not_possible_is_refused_with_the_reason(library, where, message):
    for path, parameters in (
        ("/books", {"filter": {"where": where}}),
        ("/books/count", {"where": where}),
        ("/authors", {"filter": {"include": {"relation": "books", "scope": {"where": where}}}}),
    ):
        response = ask(library, path, library.token, **parameters)

        assert refusal(response) == (400, "INVALID_FILTER")
        assert message in response.json["error"]["message"]


def test_relations_are_counted_in_conditions_orders_and_scopes_together(library):
    scope = {"where": {"author": {"mentor": {"name": "x"}}}}
    include = {"relation": "books", "scope": scope}

    def status(**filter_):
        return ask(library, "/authors", library.token, filter=filter_).status_code

    assert status(include=include, order="mentor.name", where={"books": {"title": "a"}}) == 200
    assert (
        status(include=include, order="mentor.mentor.name", where={"books": {"title": "a"}}) == 400
    )
    assert status(order="mentor.books.title") == 400
    assert status(order="books.title") == 400
    assert status(order="mentor.pin") == 400


def test_relations_by_arrays_of_ids_count_as_conditions_on_arrays(sites):
    favourite = {"favourites": {"name": "a"}}

    def status(*conditions):
        filter_ = {"where": {"and": [*conditions]}}
        return ask(sites, "/sites", sites.tokens["root"], filter=filter_).status_code

    assert status(favourite, {"tags": {"name": "a"}}) == 200
    assert status(favourite, favourite) == 400
    assert status(favourite, {"tagIds": {"inq": [1]}}) == 400


def test_a_property_comes_before_a_relation_and_a_relation_before_what_is_not_declared(serve):
    note = {
        "name": "Note",
        "strict": False,
        "properties": {"text": "string"},
        "relations": {"parent": belongs_to("Note", "parentId")},
        "acls": OPEN,
    }
    api = serve({"note": note})
    token = api.logged_in()
    api("POST", "/notes", {"text": "a", "color": "red"}, token=token)
    api("POST", "/notes", {"text": "b", "parentId": 1}, token=token)

    found = ask(api, "/notes", token, filter={"where": {"parent": {"color": "red"}}})
    ordered = ask(api, "/notes", token, filter={"order": "parent.color DESC"})

    assert ids(found) == [2]
    assert ids(ordered) == [2, 1]


def test_relations_that_conditions_cannot_use_are_refused_with_the_reason(serve):
    image = {
        "name": "Image",
        "properties": {"url": "string"},
        "relations": {
            "shown": {"type": "belongsTo", "polymorphic": True},
            "places": {"type": "embedsMany", "model": "Place", "property": "held"},
        },
        "acls": OPEN,
    }
    place = {
        "name": "Place",
        "relations": {"images": {"type": "hasMany", "model": "Image", "polymorphic": "shown"}},
        "acls": OPEN,
    }
    api = serve({"image": image, "place": place})
    token = api.logged_in()

    def message(relation):
        response = ask(api, "/images", token, filter={"where": {relation: {"exists": True}}})
        assert refusal(response) == (400, "INVALID_FILTER")
        return response.json["error"]["message"]

    assert message("shown") == "shown leads to rows of several models, which filters cannot use."
    assert message("places") == "places leads to embedded objects; use paths, such as held.name."


def test_a_hidden_relation_and_a_protected_one_of_a_related_row_are_unknown(serve):
    models = {
        "a": {"name": "A", "relations": {"b": belongs_to("B", "bId")}, "acls": OPEN},
        "b": {
            "name": "B",
            "properties": {"text": "string"},
            "hidden": ["c"],
            "protected": ["d"],
            "relations": {"c": belongs_to("B", "cId"), "d": belongs_to("B", "dId")},
            "acls": OPEN,
        },
    }
    api = serve(models)
    token = api.logged_in()

    def status(path, where):
        return ask(api, path, token, filter={"where": where}).status_code

    assert status("/bs", {"d": {"text": "x"}}) == 200
    assert status("/bs", {"c": {"text": "x"}}) == 400
    assert status("/as", {"b": {"d": {"text": "x"}}}) == 400
    assert status("/as", {"b": {"c": {"text": "x"}}}) == 400


def test_filters_use_only_the_properties_that_the_scope_of_a_relation_shows(serve):
    author = {"name": "Author", "properties": {"name": "string", "pin": "string"}, "acls": OPEN}
    scope = {"fields": ["id", "name"]}
    book = {
        "name": "Book",
        "relations": {"author": belongs_to("Author", "authorId", scope=scope)},
        "acls": OPEN,
    }
    api = serve({"author": author, "book": book})
    token = api.logged_in()
    api("POST", "/authors", {"name": "Ann", "pin": "1234"}, token=token)
    api("POST", "/books", {"authorId": 1}, token=token)

    [shown] = ask(api, "/books", token, filter={"include": "author"}).json
    assert shown["author"] == {"id": 1, "name": "Ann"}
    assert ids(ask(api, "/books", token, filter={"where": {"author": {"name": "Ann"}}})) == [1]
    for filter_ in ({"where": {"author": {"pin": "1234"}}}, {"order": "author.pin"}):
        refused = ask(api, "/books", token, filter=filter_)
        assert refusal(refused) == (400, "INVALID_FILTER")
        assert refused.json["message"] == "There is no property 'pin'; there are id, name."


@pytest.mark.parametrize("part", ["where", "order"])
def test_default_filters_and_scopes_of_relations_use_no_relations(serve, part):
    used = {"where": {"author": {"name": "a"}}, "order": "author.name"}[part]
    author = {"name": "Author", "properties": {"name": "string"}, "acls": OPEN}
    book = {"name": "Book", "relations": {"author": belongs_to("Author", "aId")}, "acls": OPEN}

    with pytest.raises(
        ConfigurationError, match="author is a relation; default filters and scopes"
    ):
        serve({"author": author, "book": {**book, "scope": {part: used}}})
    author["relations"] = {"books": has_many("Book", "aId", scope={part: used})}
    with pytest.raises(
        ConfigurationError, match="author is a relation; default filters and scopes"
    ):
        serve({"author": author, "book": book})


@pytest.mark.parametrize(
    ("caller", "path", "where", "refused", "relation"),
    [
        (None, "/tags", {"sites": {"name": "a"}}, (401, "AUTHORIZATION_REQUIRED"), "sites"),
        (None, "/organizations", {"sites": {"tags": {"name": "a"}}}, (401, None), "sites"),
        ("ada", "/contacts", {"site": {"owner": {"email": "a"}}}, (200, None), None),
        ("clerk", "/shops", {"clerk": {"name": "a"}}, (403, "ACCESS_DENIED"), "clerk"),
        ("clerk", "/shops", {"site": {"name": "a"}}, (200, None), None),
    ],
)
def test_who_may_not_read_related_rows_gets_the_error_of_an_include(
    serve, caller, path, where, refused, relation
):
    shop = {
        "name": "Shop",
        "relations": {"clerk": belongs_to("Clerk", "cId"), "site": belongs_to("Site", "sId")},
        "acls": OPEN,
    }
    clerk = {"name": "Clerk", "properties": {"name": "string"}, "acls": [rule("admin")]}
    api = serve({**MODELS, "shop": shop, "clerk": clerk}, code=CODE)
    tokens = {
        None: None,
        **{name: api.logged_in(f"{name}@example.com") for name in ("ada", "clerk")},
    }

    with statements(api.client.application) as sent:
        response = ask(api, path, tokens[caller], filter={"where": where})
    included = ask(api, path, tokens[caller], filter={"include": next(iter(where))})

    status, code = refused
    assert response.status_code == included.status_code == status
    if status != 200:
        assert code in (None, refusal(response)[1])
        assert response.json["error"]["details"] == {"relation": relation}
        details = {"relation": f"include.{relation}"}
        assert included.json["error"] == {**response.json["error"], "details": details}
        # Nothing but the token was looked up.
        assert not [statement for statement in sent if path[1:-1] in statement]


def test_a_personal_token_needs_a_scope_for_the_related_rows(serve):
    api = serve(MODELS, code=CODE, PERSONAL_TOKENS={})
    token = api.logged_in()
    body = {"name": "x", "scopes": {"Task": ["READ"]}}
    personal = api("POST", "/users/1/personalTokens", body, token=token).json["token"]
    api.secrets.append(personal)

    response = ask(api, "/tasks", personal, filter={"where": {"site": {"name": "a"}}})

    assert ids(ask(api, "/tasks", personal, filter={"where": {"name": "a"}})) == []
    assert refusal(response) == (403, "INSUFFICIENT_SCOPE")
    assert response.json["error"]["details"]["relation"] == "site"


@pytest.mark.both_databases
def test_a_row_that_the_caller_may_not_read_changes_neither_answers_nor_statements(serve):
    api = serve(MODELS, code=CODE)
    tokens = fill(api, Random(9))

    def create(path, **values):
        response = api("POST", path, values, token=tokens["root"])
        assert response.status_code == 200, response.json
        return response.json["id"]

    site = create("/sites", name="z", ownerId=1)
    task = create("/tasks", name="t", ownerId=1, siteId=site, done=False, gone=False)
    unread = {"name": "unread", "level": 9}
    wheres = {
        "/sites": [
            {"tasks": unread},
            {"tasks": {"none": {"level": {"gt": 3}}}},
            {"tasks": {"every": {"level": None}}},
            {"or": [{"openTasks": {"some": unread}}, {"children": {"exists": True}}]},
            {"members": {"none": {}}},
            {"parent": unread},
        ],
        "/organizations": [{"sites": {"level": 9}}, {"sites": {"tasks": {"some": {}}}}],
        "/tags": [{"sites": {"every": {"level": {"lt": 4}}}}],
        "/tasks": [{"site": {"tasks": unread}}, {"bigSite": {"exists": False}}],
    }
    scope = {"where": {"tasks": unread}, "order": "parent.level"}
    others = [
        ("/tasks", {"order": ["bigSite.level DESC", "site.parent.name"]}),
        ("/sites", {"order": "parent.level DESC"}),
        ("/organizations", {"include": {"relation": "sites", "scope": scope}}),
    ]

    def answers():
        """Return what Ada is answered, and the statements that it takes."""
        filters = [(path, {"where": where}) for path in wheres for where in wheres[path]]
        with statements(api.client.application) as sent:
            found = []
            for path, filter_ in [*filters, *others]:
                query = {"filter": json.dumps(filter_), "count": "true"}
                response = api("GET", path, token=tokens["ada"], query_string=query)
                found.append((response.data, response.headers["X-Total-Count"]))
                if "where" in filter_:
                    query = {"where": json.dumps(filter_["where"])}
                    found.append(
                        api("GET", f"{path}/count", token=tokens["ada"], query_string=query).data
                    )
        return found, sent

    for _ in range(3):
        before = answers()
    hers = api("GET", f"/tasks/{task}", token=tokens["ada"]).json
    create("/tasks", **unread, ownerId=2, siteId=site, done=False, gone=False)
    his = create("/sites", **unread, ownerId=2, organizationId=1, parentId=site)
    create("/tasks", **unread, ownerId=2, siteId=his, done=False, gone=False)
    member = create("/members", **unread, ownerId=2)
    create("/shifts", siteId=site, memberId=member)
    api("PUT", f"/sites/{his}/tags/rel/1", token=tokens["root"])

    after = answers()

    assert api("GET", f"/tasks/{task}", token=tokens["ada"]).json == hers
    assert [one for one, other in zip(before[0], after[0], strict=True) if one != other] == []
    assert before[1] == after[1]


def test_a_kept_statement_serves_each_caller_their_own_related_rows(sites):
    admin, ada, bob = (sites.tokens[name] for name in ("root", "ada", "bob"))
    where = {"tasks": {"some": {"ownerId": 1}}}

    def found(token):
        return ids(ask(sites, "/sites", token, filter={"where": where}))

    usual = {token: found(token) for token in (admin, ada, bob)}
    assert usual[admin]
    for _ in range(3):
        assert {token: found(token) for token in (bob, ada, admin)} == usual
    # Bob reads no task of Ada's.
    assert usual[bob] == []


@pytest.mark.both_databases
def test_the_documented_filters_find_the_documented_rows(serve):
    heading = "Conditions on related rows"
    models = map(json.loads, blocks("docs/filters.md", "json", heading))
    rows = re.findall(
        r"^\| .* \| `GET (/\w+\?filter=.*)` \|$", section("docs/filters.md", heading), re.M
    )
    api = serve({model["name"].lower(): model for model in models})
    token = api.logged_in()
    for path, values in (
        ("/countries", {"name": "Malta"}),
        ("/authors", {"name": "Ann", "countryId": 1}),
        ("/authors", {"name": "Bo"}),
        ("/books", {"title": "a", "pages": 501, "authorId": 1}),
        ("/books", {"title": "b", "pages": 9, "authorId": 2}),
        ("/books", {"title": "c", "pages": 502}),
    ):
        assert api("POST", path, values, token=token).status_code == 200

    found = [ids(api("GET", row, token=token)) for row in rows]

    assert len(rows) == 9
    assert found == [[1], [3], [1], [1], [1], [2], [1], [1, 2], [3, 1, 2]]
