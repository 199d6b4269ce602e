"""Names of models, relations and methods that do not exist."""

import json

import pytest

from app.problems import ConfigurationError

from .conftest import running_a_command
from .library import OPEN, rule

NOTE = {"name": "Note", "properties": {"text": "string"}, "acls": OPEN}
LOOPBACK3 = {"COMPATIBILITY": "loopback3"}


def note(**more):
    return {"note": {**NOTE, **more}, "page": {"name": "Page", "acls": OPEN}}


def many(model, **more):
    return {"pages": {"type": "hasMany", "model": model, **more}}


@pytest.fixture
def refused(make_app, write_models):
    """Return the problems with which the start fails."""

    def start(models, config=None, code=None, **settings):
        folder = write_models(models, config, code)
        with running_a_command(), pytest.raises(ConfigurationError) as raised:
            make_app(MODELS_FOLDER=folder, **settings)
        return [line.strip() for line in str(raised.value).splitlines()[1:]]

    return start


UNKNOWN = [
    (
        note(relations=many("Pagee")),
        "note.json: relations.pages.model: there is no model 'Pagee'; did you mean 'page'?",
    ),
    (
        note(relations=many("Page", through="Line")),
        "note.json: relations.pages.through: there is no model 'Line'",
    ),
    (
        note(relations=many("Sheet", polymorphic="of")),
        "note.json: relations.pages.model: there is no model 'Sheet'",
    ),
    (
        note(acls=[rule("$everyone", property="creat")]),
        "note.json: acls[0].property: there is no method creat; did you mean 'create'?",
    ),
    (
        note(acls=[rule("$everyone", "DENY", property="__get__pages")]),
        "note.json: acls[0].property: there is no method __get__pages",
    ),
    (
        note(acls=[rule("$everyone", property="destroyById")]),
        "note.json: acls[0].property: there is no method destroyById for rules that allow, as in"
        " LoopBack 3: write deleteById",
    ),
    (
        note(sharedMethods={"deleteByld": False}),
        "note.json: sharedMethods.deleteByld: there is no method 'deleteByld'; did you mean"
        " 'deleteById'?",
    ),
    (
        note(scope={"include": "pages"}),
        "note.json: scope.include: There is no relation 'pages'; there are none",
    ),
]
IDS = [message.partition(": ")[2] for _, message in UNKNOWN]


@pytest.mark.parametrize(("models", "message"), UNKNOWN, ids=IDS)
def test_an_unknown_name_stops_the_start(refused, models, message):
    [problem] = refused(models)
    assert problem.startswith(message)


@pytest.mark.parametrize(("models", "message"), UNKNOWN, ids=IDS)
def test_an_unknown_name_is_a_warning_in_files_of_loopback(serve, caplog, models, message):
    api = serve(models, **LOOPBACK3)

    [warning] = caplog.messages
    place, _, text = message.partition(": ")[2].partition(": ")
    assert warning.startswith(f"model note.json: {place}: ")
    assert text in warning
    assert api("GET", "/pages", token=api.logged_in()).json == []


def test_an_entry_of_model_config_for_no_model_stops_the_start(refused):
    assert refused(note(), {"Note": {}, "Page": {}, "Pages": {}}) == [
        "model-config.json: Pages: there is no such model; did you mean 'Page'?"
    ]


def test_a_relation_to_a_model_without_table_names_the_reason(refused):
    place = {"name": "Place", "properties": {"city": "string"}, "acls": OPEN}
    source = {"connector": "rest", "baseURL": "http://127.0.0.1:9/"}
    config = {"Note": {"dataSource": "db"}, "Page": {"dataSource": "db"}}
    config["Place"] = {"dataSource": "geo"}
    models = {**note(relations=many("Place")), "place": place}

    assert refused(models, config, DATA_SOURCES={"geo": source}) == [
        "note.json: relations.pages.model: the model Place has no rows in the database"
    ]


@pytest.mark.parametrize("settings", [{}, LOOPBACK3], ids=["usual", "loopback3"])
def test_a_file_that_cannot_be_read_is_the_only_error(refused, settings):
    models = {
        # One comma too many.
        "page": json.dumps({"name": "Page", "base": "User"})[:-1] + ",}",
        "note": {
            **NOTE,
            "relations": {
                **many("Page"),
                "author": {"type": "belongsTo", "model": "Page", "foreignKey": "authorId"},
            },
            "owner": "author",
            "scope": {"include": "pages"},
            "acls": [rule("$owner", property="__get__pages")],
        },
        "sheet": {"name": "Sheet", "base": "Page"},
    }

    [problem] = refused(models, {"Note": {}, "Page": {}, "Sheet": {}}, **settings)

    assert problem.startswith("page.json: cannot be read: ")


def test_code_that_fails_is_the_only_error(refused):
    models = note(acls=[rule("$everyone", property="star")])

    assert refused(models, code={"note": "def extend(notes):\n    notes.endpint"}) == [
        "models/note.py:2: AttributeError: 'Resource' object has no attribute 'endpint'"
    ]
