"""Names, paths and tables that something else has: each refusal names its file and place."""

import pytest

from app.problems import ConfigurationError

from .conftest import running_a_command

USERS_TAKEN = "is taken by Ostiary's users; set another"
REMOTE = {"connector": "rest", "baseURL": "http://127.0.0.1:9/"}
STORE = {"connector": "loopback-component-storage", "provider": "filesystem", "root": "."}
TAGS = {"tags": {"type": "hasAndBelongsToMany", "model": "Tag"}}
DOCS = {"mongodb": {"collection": "docs"}}


def model(name, **more):
    return {"name": name, "properties": {"text": "string"}, **more}


@pytest.fixture
def refused(make_app, write_models):
    """Return what an app says of models, a list with an entry for each problem."""

    def refused(models, config=None, **settings):
        folder = write_models(models, config)
        with running_a_command(), pytest.raises(ConfigurationError) as raised:
            make_app(MODELS_FOLDER=folder, **settings)
        title, *problems = str(raised.value).split("\n  ")
        assert title == "the models cannot be used:"
        return problems

    return refused


def test_a_model_with_the_name_of_the_shipped_resource_is_a_problem_like_others(refused):
    models = {"users": model("users"), "note": model("Note", defaultPermission="YES")}

    assert refused(models) == [
        "note.json: defaultPermission: must be ALLOW or DENY",
        f"users.json: plural: users {USERS_TAKEN}",
    ]


@pytest.mark.parametrize(
    ("models", "settings", "problem"),
    [
        ({"users": model("users", http="folk")}, {}, f"plural: users {USERS_TAKEN}"),
        (
            {"users": model("users"), "person": model("Person", base="User")},
            {},
            f"plural: users {USERS_TAKEN}",
        ),
        (
            {"users": model("people"), "person": model("Person", base="User")},
            {},
            f"plural: people {USERS_TAKEN}",
        ),
        (
            {"users": model("accounts")},
            {"USERS_PATH": "Accounts"},
            f"plural: accounts {USERS_TAKEN}",
        ),
        (
            {"users": model("Ostiary", http="openapi.json")},
            {},
            "http.path: openapi.json is taken by Ostiary; set another",
        ),
        (
            {"users": model("Ostiary", http="admin")},
            {},
            "http.path: admin is taken by Ostiary; set another",
        ),
        (
            {"users": model("Ostiary", plural="mailed_login")},
            {},
            "plural: mailed_login is taken by Ostiary; set another",
        ),
        (
            {"users": model("Ostiary", mongodb={"collection": "access_tokens"})},
            {},
            "mongodb.collection: Ostiary has a table access_tokens already; set another",
        ),
    ],
    ids=str,
)
def test_what_the_service_has_is_taken_whatever_the_model_is_called(
    refused, models, settings, problem
):
    assert refused(models, **settings) == [f"users.json: {problem}"]


def test_the_resources_of_public_roles_are_taken(refused):
    config = {"Role": {"public": True}, "Roles": {}, "RoleMapping": {"public": False}}

    assert refused({"a": model("Roles")}, config) == [
        "a.json: plural: Roles is taken by Ostiary; set another"
    ]


@pytest.mark.parametrize("source", [REMOTE, STORE], ids=["remote", "store"])
def test_models_without_rows_in_the_database_are_refused_likewise(refused, source):
    config = {"users": {"dataSource": "there"}}

    problems = refused({"users": model("users")}, config, DATA_SOURCES={"there": source})

    assert problems == [f"users.json: plural: users {USERS_TAKEN}"]


@pytest.mark.parametrize(("base", "derived"), [("a", "b"), ("b", "a")])
def test_of_a_model_and_one_that_extends_it_the_latter_is_to_have_another_table(
    refused, base, derived
):
    models = {
        base: model("Doc", relations=TAGS, **DOCS),
        derived: {"name": "Draft", "base": "Doc", **DOCS},
        "c": {"name": "Old", "base": "Draft", **DOCS},
        "tag": model("Tag", relations={"docs": {"type": "hasAndBelongsToMany", "model": "Doc"}}),
    }

    # The tables of links follow from that, and are no problem of the base.
    assert refused(models) == [
        f"{derived}.json: mongodb.collection: Doc has a table docs already; set another",
        "c.json: mongodb.collection: Doc has a table docs already; set another",
    ]


@pytest.mark.parametrize(("base", "derived"), [("a", "b"), ("b", "a")])
def test_of_a_model_and_one_that_extends_it_the_latter_is_to_have_another_path(
    refused, base, derived
):
    models = {base: model("Doc"), derived: {"name": "Draft", "base": "Doc", "plural": "Docs"}}

    assert refused(models) == [f"{derived}.json: plural: Docs is taken by Doc; set another"]


def test_a_table_of_links_that_users_and_a_model_would_share_is_a_problem(refused):
    models = {
        "a": model("Person", base="User", relations=TAGS),
        "b": model("Other", relations=TAGS, mongodb={"collection": "person"}),
        "tag": model("Tag"),
    }

    [problem] = refused(models)

    assert "relations.tags: its table person_tag is that of " in problem


def test_the_table_of_links_is_a_problem_if_it_is_that_of_a_model(refused):
    models = {
        "doc": model("Doc", relations=TAGS),
        "tag": model("Tag"),
        "link": model("Link", mongodb={"collection": "doc_tag"}),
    }

    assert refused(models) == [
        "doc.json: relations.tags: its table doc_tag is that of Link too; set through"
    ]
