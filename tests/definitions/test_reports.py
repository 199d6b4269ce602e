"""All problems of all models, and all warnings, are said at once."""

from pathlib import Path

import pytest

from app.problems import ConfigurationError
from tests.support.installation import Installation

from .conftest import running_a_command
from .library import rule

OPEN = [rule("$everyone")]
BOOK = {
    "name": "Book",
    "properties": {"title": "strng", "year": {"type": "integer", "default": "x"}},
    "relations": {"pages": {"type": "hasMany", "model": "Page"}},
    "scope": {"where": {"colour": 1}},
    "acls": [rule("$everyone", "ALOW"), rule("$everyone", property="fnd"), rule("$owner")],
    "options": {"remoting": {"sharedMethods": {"deleteByld": False}}},
    "colour": "red",
}
PAGE = {
    "name": "Page",
    "properties": {"text": "string"},
    "relations": {"sheet": {"type": "belongsTo", "model": "Sheet"}},
    "scope": {"where": {"text": {"lke": "a"}}, "order": "number"},
    "acls": [rule("$everyone", "DENI"), rule("$everyone", property="__get__bok")],
}
ACCOUNT = {
    "name": "Account",
    "base": "User",
    "properties": {"email": "string", "passwordHash": "string", "age": "numbr"},
    "acls": [rule("$everyone", "GRANT"), rule("$everyone", property="logn")],
    "realmRequired": 7,
}
TICKET = {
    "name": "Ticket",
    "properties": {"text": "string"},
    "relations": {"lines": {"type": "hasMany", "model": "Page"}},
    "acls": [rule("$everyone", "ALOW", accessType="READ")],
}
DESK = {"connector": "rest", "baseURL": "http://127.0.0.1:9/desk", "public": True}
CONFIG = {
    "Book": {"public": "no", "acls": [rule("$everyone", "ALLOWED")]},
    "Page": {"http": {}},
    "Account": {},
    "Ticket": {"dataSource": "desk"},
    "Desk": {},
}
MODELS = {"book": BOOK, "page": PAGE, "account": ACCOUNT, "ticket": TICKET}


def refused(make_app, folder, **settings):
    with running_a_command(), pytest.raises(ConfigurationError) as raised:
        make_app(MODELS_FOLDER=folder, **settings)
    return str(raised.value).splitlines()[1:]


PROBLEMS = [
    "account.json: acls[0]: permission: Must be one of: ALLOW, ALARM, AUDIT, DENY.",
    "account.json: properties.age.type: there is no type 'numbr'; did you mean 'number'?",
    "account.json: properties.passwordHash: users have a property or a relation of this name",
    "account.json: realmRequired: cannot be used: Not a valid boolean.",
    "book.json: acls[0]: permission: Must be one of: ALLOW, ALARM, AUDIT, DENY.",
    "book.json: properties.title.type: there is no type 'strng'; did you mean 'string'?",
    "book.json: properties.year.default: must be a whole number",
    "book.json: scope: There is no property 'colour'; there are id",
    "model-config.json: Book.acls[0]: permission: Must be one of: ALLOW, ALARM, AUDIT, DENY.",
    "model-config.json: Book.public: must be true or false",
    "page.json: acls[0]: permission: Must be one of: ALLOW, ALARM, AUDIT, DENY.",
    "page.json: scope: text has no operator 'lke'",
    "ticket.json: acls[0]: permission: Must be one of: ALLOW, ALARM, AUDIT, DENY.",
]
WARNINGS = [
    "account.json: acls[1].property: there is no method logn; did you mean 'login'?",
    "account.json: properties.email: is ignored: users have this property already",
    "book.json.colour: is ignored",
    "book.json: acls[1].property: there is no method fnd; did you mean 'find'?",
    "book.json: acls[2]: is without effect: the rows have no $owner, as no property says whose",
    "book.json: options.remoting.sharedMethods.deleteByld: there is no method 'deleteByld'; did"
    " you mean 'deleteById'?",
    "model-config.json: Desk: there is no such model",
    "model-config.json: Page.http: is ignored",
    "page.json: acls[1].property: there is no method __get__bok",
    "page.json: relations.sheet.model: is not served: there is no model 'Sheet'",
    "ticket.json: relations.lines: is not served: rows at a data source have no relations",
]


def test_all_problems_of_all_models_are_said_at_once_and_all_warnings_too(
    make_app, write_models, caplog
):
    settings = {"DATA_SOURCES": {"desk": DESK}, "COMPATIBILITY": "loopback3"}
    said = refused(make_app, write_models(MODELS, CONFIG), **settings)

    assert len(said) == len(PROBLEMS), said
    for line, problem in zip(sorted(map(str.strip, said)), PROBLEMS, strict=True):
        assert line.startswith(problem)
    assert sorted(caplog.messages) == [f"model {each}" for each in WARNINGS]


def test_what_a_base_has_wrong_is_said_once(make_app, write_models, caplog):
    base = {**PAGE, "name": "Base", "acls": [rule("$everyone", "ALOW")], "hiden": []}
    models = {"base": base, **{name: {"name": name, "base": "Base"} for name in ("A", "B")}}

    said = refused(make_app, write_models(models))

    assert [each for each in said if "base.json: acls[0]" in each] == [
        "  base.json: acls[0]: permission: Must be one of: ALLOW, ALARM, AUDIT, DENY."
    ]
    assert len(set(caplog.messages)) == len(caplog.messages)


def test_errors_in_the_code_of_models_are_said_together(make_app, write_models):
    note = {"name": "Note", "properties": {"text": "string"}, "acls": OPEN}
    models = {"note": note, "memo": {**note, "name": "Memo"}, "word": {**note, "name": "Word"}}
    code = {"note": "def extend(note): 1 / 0", "memo": "def extnd(memo): pass"}

    said = refused(make_app, write_models(models, code=code))

    assert said == [
        "  memo.py: has no function extend",
        "  models/note.py:1: ZeroDivisionError: division by zero",
    ]


@pytest.mark.live
def test_the_command_says_the_same(tmp_path, write_models, database_url):
    folder = tmp_path / "checked"
    folder.mkdir()
    installation = Installation(folder)
    page = {**PAGE, "acls": [rule("$everyone", "ALOW")]}
    Path(write_models({"book": BOOK, "page": page})).rename(folder / "instance" / "models")

    result = installation.run("-m", "flask", "models", "check", DATABASE_URL=database_url)

    assert result.returncode == 1
    said = [line.strip() for line in result.stderr.splitlines()]
    assert len([each for each in said if "permission: Must be one of" in each]) == 2
    assert [each for each in said if each.endswith("model book.json.colour: is ignored")]
    assert [each for each in said if each.startswith("page.json: scope: ")]
    assert "Traceback" not in result.stderr


def test_a_name_of_a_data_source_is_taken(make_app, write_models):
    models = {
        "desk": {"name": "Desk", "plural": "desk", "acls": OPEN},
        "ticket": {"name": "Ticket", "plural": "Desk", "http": {"path": "t"}, "acls": OPEN},
    }
    config = {"Desk": {}, "Ticket": {"dataSource": "desk"}}

    said = refused(make_app, write_models(models, config), DATA_SOURCES={"desk": DESK})

    assert said == [
        "  desk.json: plural: desk is taken by the data source desk; set another",
        "  ticket.json: plural: Desk is taken by the data source desk; set another",
    ]


@pytest.mark.parametrize("key", ["foreignKey", "keyThrough"])
def test_a_foreign_key_that_is_no_name_is_a_problem(make_app, write_models, key):
    relation = {"type": "hasMany", "model": "Page", "through": "Book", key: 3}
    folder = write_models(
        {"book": {"name": "Book"}, "page": {"name": "Page", "relations": {"pages": relation}}}
    )

    assert refused(make_app, folder) == [
        f"  page.json: relations.pages.{key}: must be the name of a property"
    ]
