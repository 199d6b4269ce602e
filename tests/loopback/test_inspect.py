"""`ostiary loopback inspect`: what it reads of an application, and what it finds in JavaScript."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from ostiary.__main__ import main

APPLICATION = Path(__file__).parent / "application"
MODEL = """
'use strict';
const FIELDS = {limit: {arg: 'limit', type: Number}};
const HIDDEN = ['upsert', 'replaceOrCreate'];
const AUTHOR = 'prototype.__get__author';

module.exports = function(Note) {
  Note.validatesPresenceOf('text', 'title', {message: 'is needed'});
  Note.validatesFormatOf('title', {with: /^[a-z]+$/});
  Note.validate('stars', function(fail) { if (this.stars > 5) fail(); }, {message: 'too many'});

  HIDDEN.forEach(name => Note.disableRemoteMethodByName(name));
  for (const name of ['updateAttributes', 'reload']) Note.disableRemoteMethod(name, false);
  Note.disableRemoteMethod('find', true);
  Note.disableRemoteMethodByName(AUTHOR);

  Note.search = async (text, limit) => Note.find({where: {text}, limit});
  Note.remoteMethod('search', {
    description: ['Find', 'notes.'],
    accepts: [{arg: 'text', type: 'string', required: true}, FIELDS.limit],
    returns: {arg: 'notes', type: ['Note'], root: true},
    http: [{verb: 'get', path: '/search'}, {verb: 'del', path: '/search'}],
  });
  Note.prototype.archive = function archive(cb) { cb(); };
  Note.remoteMethod('archive', {isStatic: false, returns: {arg: 'ok', type: kind()}});
  Note.remoteMethod('prototype.restore', {http: {path: '/restore'}});
  Note.helper = function() {};
  Note.create = function(data, cb) { cb(); };

  Note.observe('before save', function(ctx, next) { next(); });
  Note.observe('access', async ctx => {});
  element.observe(target, {childList: true});
  Note.beforeRemote('**', function(ctx, unused, next) { next(); });
  Note.afterRemoteError('prototype.*', function(ctx, next) { next(); });
  Note.settings.strict = true;
};
"""
BOOT = """
module.exports = app => {
  const {Role, Note} = app.models;
  var Person = app.models['Person'];
  app.enableAuth();
  Role.registerResolver('editor', function(role, context, cb) { cb(null, false); });
  Role.create({name: 'admin'}, (err, role) => role.principals.create({principalId: 1}));
  Person.findOrCreate({where: {email: 'a'}}, {email: 'a', password: 'hush'});
  Object.create({});
  app.dataSources.db.automigrate('Note');
  app.get('/status', (req, res) => res.send('ok'));
  app.get('port');
  app.use(session({secret: 'hush'}));
  const sums = require('node-cron');
};
"""
FILES = {
    "server/model-config.json": {
        "_meta": {"sources": ["loopback/common/models", "../common/models", "./models", "/etc"]},
        "User": {"dataSource": "db"},
        "Person": {"dataSource": "db"},
        "Note": {"dataSource": "db", "options": {}},
        "Closed": {"dataSource": "db", "acls": [{"permission": "DENY"}]},
        "Inner": {"dataSource": "db", "public": False},
        "Calls": {"dataSource": None},
        "Stored": {"dataSource": None},
    },
    "server/model-config.production.json": {"Note": {"public": False}},
    "common/models/person.json": {"name": "Person", "base": "User", "properties": {}},
    "common/models/note.json": {
        "name": "Note",
        "base": "PersistedModel",
        "properties": {"text": {"type": "string"}, "about": {"type": "Image"}},
        "mixins": {"Counted": True, "TimeStamp": True},
        "methods": {"prototype.close": {"http": {"verb": "put", "path": "/close"}}},
    },
    "common/models/closed.json": {"name": "Closed", "properties": {"size": {"type": "nubmer"}}},
    "common/models/inner.json": {"name": "Inner"},
    "common/models/stored.json": {"name": "Stored"},
    "common/models/calls.json": {"name": "Calls", "base": "Model"},
    "common/models/spare.json": {"name": "Spare"},
    "common/models/broken.json": '{\n"name": "Broken",\n}',
    "common/models/note.js": MODEL,
    "server/boot/start.js": BOOT,
    "server/boot/broken.js": "module.exports = app => {\n  app.use(;\n  app.post('/x', f);\n};\n",
    "server/old.coffee": "x = 1",
    "client/app.js": "Note.observe('before save', f)",
    "server/node_modules/x/index.js": "Note.observe('before save', f)",
    "server/datasources.json": {
        "db": {"name": "db", "connector": "memory"},
        "geo": {"name": "geo", "connector": "rest"},
    },
    "server/datasources.local.json": {"db": {"connector": "mysql", "password": "hush"}},
    "server/datasources.production.js": """
const HOST = 'db.example.com';
module.exports = {
  db: {connector: 'postgresql', host: HOST, port: process.env.DB_PORT || 5432,
       password: process.env.DB_PASSWORD, ssl: isProduction()},
};
""",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return the folder of an application."""
    folder = tmp_path_factory.mktemp("notes")
    write(folder, FILES)
    return folder


def write(folder, files):
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content if isinstance(content, str) else json.dumps(content))


def run(*arguments):
    return CliRunner().invoke(main, ["loopback", "inspect", *map(str, arguments)])


@pytest.fixture(scope="module")
def report(folder):
    """Return the report in JSON."""
    result = run(folder, "--format", "json")
    assert result.exit_code == 0, result.output
    assert "hush" not in result.output
    return json.loads(result.output)


def of_kind(report, kind):
    return [finding for finding in report["findings"] if finding["kind"] == kind]


def names(report, kind):
    return [(finding["model"], finding["name"]) for finding in of_kind(report, kind)]


def test_remote_methods_have_their_arguments_answers_and_routes(report):
    search, archive, restore = [
        finding
        for finding in of_kind(report, "remote method")
        if finding["file"] == "common/models/note.js"
    ]

    assert (search["line"], search["isStatic"], search["isCertain"]) == (18, True, True)
    assert search["accepts"] == [
        {"arg": "text", "type": "string", "required": True},
        {"arg": "limit", "type": "number"},
    ]
    assert search["returns"] == [{"arg": "notes", "type": ["Note"], "root": True}]
    assert search["http"] == [
        {"verb": "get", "path": "/search"},
        {"verb": "delete", "path": "/search"},
    ]
    assert (archive["isStatic"], archive["isCertain"], archive["hasFunction"]) == (
        *(False, False, True),
    )
    assert archive["returns"] == [{"arg": "ok", "type": None}]
    assert (restore["name"], restore["isStatic"], restore["http"]) == (
        *("restore", False, [{"verb": "all", "path": "/restore"}]),
    )


def test_those_of_the_json_are_found_too(report):
    [close] = [f for f in of_kind(report, "remote method") if f["file"].endswith(".json")]

    assert (close["model"], close["name"], close["isStatic"]) == ("Note", "close", False)
    assert close["http"] == [{"verb": "put", "path": "/close"}]


def test_disabled_methods_are_those_of_lists_and_loops(report):
    assert [name for _, name in names(report, "disabled method")] == [
        *("upsert", "replaceOrCreate", "prototype.updateAttributes", "prototype.reload"),
        *("find", "prototype.__get__author"),
    ]


def test_validations_have_their_properties(report):
    found = of_kind(report, "validation")

    assert [finding["properties"] for finding in found] == [["text", "title"], ["title"], ["stars"]]
    # A regular expression is no literal of JSON.
    assert [finding["isCertain"] for finding in found] == [True, False, True]


@pytest.mark.parametrize(
    ("kind", "found"),
    [
        ("operation hook", [("Note", "before save"), ("Note", "access")]),
        ("remote hook", [("Note", "beforeRemote **"), ("Note", "afterRemoteError prototype.*")]),
        ("function", [("Note", "helper")]),
        ("override", [("Note", "create")]),
        ("setting", [("Note", "settings.strict")]),
        ("role resolver", [(None, "editor")]),
        (
            "creation",
            [
                ("Role", "Role.create"),
                ("RoleMapping", "RoleMapping.create"),
                ("Person", "Person.findOrCreate"),
            ],
        ),
        ("schema change", [(None, "automigrate")]),
        ("route", [(None, "POST /x"), (None, "GET /status")]),
        ("middleware", [(None, "session")]),
        ("cron", [(None, "node-cron")]),
    ],
)
def test_what_scripts_do_is_found(report, kind, found):
    assert names(report, kind) == found


def test_files_that_cannot_be_read_are_named_with_their_lines(report):
    outside, broken, *scripts = report["notRead"]
    assert (
        outside == f"server/model-config.json: /etc is not read: it is outside {report['folder']}"
    )
    # What is wrong is in the words of Python's json.
    assert broken.startswith("common/models/broken.json:")
    assert scripts == [
        "server/boot/broken.js:2: syntax error; the rest is read",
        "server/old.coffee: is not read: it is no JavaScript",
    ]


def test_models_are_read_as_the_service_reads_them(report):
    models = {model["name"]: model for model in report["models"]}

    assert {name: model["verdict"] for name, model in models.items()} == {
        "Person": "by itself",
        "Note": "with a difference",
        "Closed": "is to be changed",
        "Inner": "by itself",
        "Calls": "its own endpoints",
        "Stored": "no rows: no data source",
    }
    assert report["counts"]["models"] == {"byItself": 3, "withDifference": 1, "toWrite": 2}
    assert models["Note"]["differences"] == [
        "common/models/note.json: properties.about.type: 'Image' is taken as an object, and its"
        " inside not checked"
    ]
    assert "did you mean 'number'?" in models["Closed"]["problems"][0]
    assert report["counts"]["mixins of models"]["toWrite"] == 1
    assert report["unlistedModels"] == ["Spare"]


def test_open_models_stand_in_the_first_lines(folder, report):
    text = run(folder).output

    assert report["openModels"] == ["Note"]
    first = " ".join(text.split("The work by counts")[0].split())
    assert "1 of 3 public models have no acls" in first
    assert "write them: Note. Ostiary refuses these calls, unless DEFAULT_PERMISSION is" in first
    assert "server/datasources.production.js, server/model-config.production.json." in first


def test_the_forms_say_the_same(folder):
    text, markdown = run(folder).output, run(folder, "--format", "markdown").output

    for title in ("The work by counts", "Models", "Data sources", "Where it is", "Not read"):
        assert f"\n{title}\n{'-' * len(title)}\n" in text
        assert f"\n## {title}\n" in markdown
    assert "| Note | PersistedModel | db | /Notes | 2 | 0 | open | with a difference |" in markdown
    assert "hush" not in text + markdown


def test_files_of_an_environment_are_merged(folder):
    result = run(folder / "server", "--environment", "production", "--format", "json")
    report = json.loads(result.output)

    assert report["dataSources"]["db"]["connector"] == "postgresql"
    assert report["openModels"] == []
    assert "server/datasources.production.js:5: a value is not read: it is no literal" in [
        *report["notRead"]
    ]


def test_an_application_without_enable_auth_checks_no_rules(tmp_path):
    write(tmp_path, {"model-config.json": {}})

    assert "No script calls enableAuth()" in run(tmp_path).output


def test_a_folder_without_an_application_names_those_below(tmp_path, folder):
    write(tmp_path, {"packages/api/server/model-config.json": {}})

    assert run(tmp_path).output == (
        f"Error: {tmp_path} is no LoopBack application, as neither it nor server/ in it has"
        f" model-config.json; there is one in {tmp_path / 'packages/api'}\n"
    )
    assert run(tmp_path / "none").output == f"Error: {tmp_path / 'none'} is no folder\n"
    assert run(tmp_path / "packages" / "api").exit_code == 0


@pytest.mark.parametrize(
    "script",
    [
        "[" * 5_000,
        "f" + "()" * 5_000,
        "X.remoteMethod(" + "'a'+" * 2_000 + "'b', " + "{a:" * 2_000 + "1" + "}" * 2_000 + ");",
        "module.exports = module.exports = exports = function(X) { X.observe('\\ud83d\\ude00') }",
        "\x00\ufeff\xff\\u{110000}'",
        "x." * 5_000 + "y = function() {}",
    ],
)
def test_any_script_is_read_or_reported(tmp_path, script):
    write(tmp_path, {"model-config.json": {"X": {}}, "boot/a.js": script, "boot/b.mjs": script * 2})

    result = run(tmp_path, "--format", "json")

    assert result.exit_code == 0, result.exception
    assert json.loads(result.output)["ownModels"] == ["X"]


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("[]", "must be a JSON object"),
        ("{", "is no JSON"),
        ('{"a": ' + "[" * 90_000 + "]" * 90_000 + "}", "cannot be read"),
        ('{"a": ' * 60 + "1" + "}" * 60, "nested more than 50 times"),
        ('{"x": "' + " " * 4 * 1024 * 1024 + '"}', "larger than"),
    ],
)
def test_json_that_is_no_settings_is_reported(tmp_path, content, problem):
    write(tmp_path, {"model-config.json": {}, "datasources.json": content})

    [found] = json.loads(run(tmp_path, "--format", "json").output)["notRead"]
    assert found.startswith("datasources.json")
    assert problem in found
