"""The command `ostiary loopback import`: the project that an application becomes."""

import json
import os

import pytest
from click.testing import CliRunner

from app.config import read_project_files
from app.database.metadata import all_metadata
from app.database.session import db
from app.testing.apps import close
from ostiary_loopback.cli import loopback
from tests.definitions.conftest import running_a_command
from tests.support.apps import build

FILES = {
    "server/config.json": {"restApiRoot": "/rest", "remoting": {"json": {"limit": "1mb"}}},
    "server/component-config.json": {},
    "server/middleware.json": {"initial": {"cors": {"params": {"origin": "https://a.example"}}}},
    "server/datasources.json": {
        "db": {"connector": "postgresql", "password": "first secret"},
        "none": {"connector": "transient"},
        "geo": {
            "connector": "rest",
            "options": {"headers": {"authorization": "second secret", "x-auth": "eighth secret"}},
            "operations": [
                {
                    "template": {
                        "method": "GET",
                        "url": "https://geo.example/{city}?api_key=third-secret&all=1",
                    },
                    "functions": {"tokenOf": ["city"]},
                }
            ],
        },
    },
    "server/providers.json": {
        "github": {"clientID": "a", "clientSecret": "fourth secret", "scope": "email"},
        "ldap": {"authScheme": "ldap"},
    },
    "server/model-config.json": {
        "_meta": {"sources": ["../common/models"]},
        "User": {"dataSource": "db", "public": False},
        "Member": {"dataSource": "db"},
        "Note": {"dataSource": "db"},
        "Tag": {"dataSource": "db"},
        "Draft": {"dataSource": "db", "public": False},
        "Plugged": {"dataSource": "db"},
    },
    "common/models/member.json": {
        "name": "Member",
        "base": "User",
        "relations": {"notes": {"type": "hasMany", "model": "Note", "foreignKey": "ownerId"}},
    },
    "common/models/tag.json": {"name": "Tag", "base": "PersistedModel"},
    "common/models/draft.json": {
        "name": "Draft",
        "properties": {"text": "string"},
        "options": {"mysql": {"table": "Note"}},
    },
    "common/models/plugged.json": {"name": "Plugged", "base": "OfAPackage"},
    "common/models/note.json": {
        "name": "Note",
        "properties": {
            "text": "string",
            "state": {"type": "string", "default": "new"},
            "changed": "date",
            "code": {"type": "string"},
        },
        "relations": {"owner": {"type": "belongsTo", "model": "Member", "foreignKey": "ownerId"}},
        "acls": [
            {"principalId": "$everyone", "principalType": "ROLE", "permission": "DENY"},
            {
                "principalId": "$authenticated",
                "principalType": "ROLE",
                "permission": "ALLOW",
                "property": ["create", "find", "star", "search", "author"],
            },
            {
                "principalId": "reader",
                "principalType": "ROLE",
                "permission": "ALLOW",
                "property": "find",
            },
        ],
        "methods": [],
    },
}
NOTE = """
module.exports = function(Note) {
  const password = 'fifth secret';
  Note.validatesLengthOf('text', {min: 2, max: 9});
  Note.validatesFormatOf('code', {with: /^[a-z]+$/, allowNull: true, allowBlank: true});
  Note.validatesInclusionOf('state', {in: ['new', 'old'], if: 'isNew'});
  Note.disableRemoteMethodByName('deleteById');
  Note.observe('before save', function(ctx, next) {
    if (ctx.instance) ctx.instance.changed = new Date();
    else ctx.data.changed = new Date();
    next();
  });
  Note.beforeRemote('create', (ctx, unused, next) => {
    ctx.args.data.ownerId = ctx.req.accessToken.userId;
    next();
  });
  Note.observe('after save', async ctx => { mail({password: 'sixth secret', to: ctx.instance}); });
  Note.star = function(id, many, options, cb) { cb(null, {}); };
  Note.remoteMethod('star', {
    description: 'Give "stars" to a \\\\note.',
    accepts: [
      {arg: 'id', type: 'number', http: {source: 'path'}},
      {arg: 'many', type: 'number', required: true},
      {arg: 'class', type: ['string']},
      {arg: 'options', type: 'object', http: 'optionsFromRequest'},
    ],
    returns: {arg: 'note', type: 'Note', root: true},
    http: {path: '/:id/star', verb: 'post'},
  });
  Note.remoteMethod('search', {
    accepts: {arg: 'q', type: 'string', required: true, http: {source: 'query'}},
    returns: {arg: 'found', type: ['Note']},
    http: {verb: 'get'},
  });
  Note.remoteMethod('recent', {
    accepts: {arg: 'notes', type: ['Note'], http: {source: 'body'}},
    returns: {arg: 'found', type: ['Note'], root: true},
    http: {verb: 'post'},
  });
  Note.remoteMethod('author', {
    accepts: {arg: 'others', type: ['Member']},
    returns: {arg: 'author', type: 'Member', root: true},
    http: {path: '/author', verb: 'post'},
  });
  Note.remoteMethod('first', {http: {verb: 'get', path: '/'}});
  Note.remoteMethod('tagged', {returns: {type: 'Tag', root: true}, http: {verb: 'get'}});
  Note.remoteMethod('find', {accepts: []});
  Note.remoteMethod(process.env.NAME, {});
};
"""
BOOT = """
module.exports = function(app) {
  app.models.Role.create([{name: 'clerk'}, {name: 'boss'}]);
  app.models.Member.create({email: 'boss@example.com', password: 'seventh secret'});
  app.models.Note.create([{text: 'first'}, {text: 'other', state: 'old'}]);
  app.get('/status', (req, res) => res.send('ok'));
  app.models.Role.registerResolver('reader', function(role, context, cb) { cb(null, true); });
};
"""
FILES_OF_JAVASCRIPT = """
const path = require('path');
module.exports = {
  files: {
    connector: 'loopback-component-storage',
    provider: 'filesystem',
    root: path.join(__dirname, 'files'),
  },
};
"""
SECRETS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth")
PASSWORD = "a quiet harbour"


def run(folder, *arguments):
    """Call the command in a folder; return its result."""
    before = os.getcwd()
    os.chdir(folder)
    try:
        return CliRunner().invoke(loopback, arguments)
    finally:
        os.chdir(before)


@pytest.fixture(scope="module")
def application(tmp_path_factory):
    """The folder of an application."""
    folder = tmp_path_factory.mktemp("application")
    files = {name: json.dumps(content) for name, content in FILES.items()}
    scripts = {"common/models/note.js": NOTE, "server/boot/roles.js": BOOT}
    scripts["server/datasources.local.js"] = FILES_OF_JAVASCRIPT
    for name, text in {**files, **scripts}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


@pytest.fixture(scope="module")
def imported(application, tmp_path_factory):
    """The folder of the project that it becomes, and what the command printed."""
    folder = tmp_path_factory.mktemp("my notes")
    result = run(folder, "import", str(application), "--models-only")
    assert result.exit_code == 0, result.output
    return folder, result.output


def set_variables(patch, folder):
    """Set the variables of the environment that a project needs."""
    for line in (folder / ".env.example").read_text().splitlines():
        if not line.startswith("#"):
            patch.setenv(line.rstrip("="), PASSWORD)


@pytest.fixture(scope="module")
def service(imported):
    """The project's app."""
    folder, _ = imported
    with pytest.MonkeyPatch.context() as patch, running_a_command():
        patch.setenv("INSTANCE_PATH", str(folder))
        set_variables(patch, folder)
        settings = read_project_files(str(folder)) | {"PROVIDERS": {}}
        app = build(f"sqlite:///{folder / 'test.sqlite'}", folder, **settings)
        with app.app_context():
            all_metadata(app).create_all(db.engine)
        yield app
        close(app)


@pytest.fixture(scope="module")
def token(service):
    """The access token of a user."""
    client = service.test_client()
    user = {"email": "a@example.com", "password": PASSWORD}
    assert client.post("/rest/Members", json=user).status_code == 200
    return client.post("/rest/Members/login", json=user).json["id"]


def call(service, token, method, path, **options):
    headers = {"Authorization": token} if token else {}
    return service.test_client().open(f"/rest{path}", method=method, headers=headers, **options)


def test_the_settings_are_those_of_the_application(imported):
    folder, output = imported

    settings = read_project_files(str(folder))

    assert settings["REST_API_ROOT"] == "/rest"
    assert settings["MAX_BODY_BYTES"] == 1024 * 1024
    assert settings["CORS_ORIGINS"] == ["https://a.example"]
    assert settings["DEFAULT_PERMISSION"] == "allow"
    assert settings["RELATION_PERMISSIONS"] == "parent"
    assert settings["EXPLORER_ENABLED"] is False
    assert output.startswith("Note: DEFAULT_PERMISSION is allow: ")
    assert "base is Model: it is not served, as no file has its base OfAPackage" in output
    assert "ldap is left out" in output


def test_what_lets_no_project_start_is_changed(imported, service):
    folder, output = imported

    draft = json.loads((folder / "models" / "draft.json").read_text())
    store = json.loads((folder / "datasources.json").read_text())["files"]

    assert draft["options"]["postgresql"] == {"table": "draft"}
    assert "its table is draft: another model has note, with the same rows" in output
    assert store == {"connector": "loopback-component-storage", "provider": "filesystem"}
    assert "files.root is left out, as only the JavaScript knows it" in output


def test_secrets_become_variables_of_the_environment(imported):
    folder, output = imported

    files = [path for path in folder.rglob("*") if path.suffix in (".py", ".json", ".example")]
    written = "".join(path.read_text() for path in files)

    assert not [secret for secret in SECRETS if f"{secret} secret" in written + output]
    assert "third-secret" not in written + output
    geo = json.loads((folder / "datasources.json").read_text())["geo"]
    assert geo["options"]["headers"]["authorization"] == {
        "$env": "GEO_OPTIONS_HEADERS_AUTHORIZATION"
    }
    template = geo["operations"][0]["template"]
    assert template["url"] == "https://geo.example/{city}?all=1"
    assert list(template["query"]["api_key"]) == ["$env"]
    assert geo["operations"][0]["functions"] == {"tokenOf": ["city"]}
    assert "GITHUB_CLIENT_SECRET=\n" in (folder / ".env.example").read_text()


def test_a_remote_method_is_an_endpoint_that_answers_501(service, token):
    note = call(service, token, "POST", "/Notes", json={"text": "abc"}).json

    star = call(service, token, "POST", f"/Notes/{note['id']}/star", json={"many": 1})
    invalid = call(service, token, "POST", f"/Notes/{note['id']}/star", json={"class": ["a"]})
    search = call(service, token, "GET", "/Notes/search?q=a")
    anonymous = call(service, "", "POST", f"/Notes/{note['id']}/star", json={"many": 1})

    assert star.status_code == search.status_code == 501
    assert star.json["error"]["code"] == "NOT_WRITTEN"
    assert star.json["error"]["message"] == "Note.star is not written yet."
    assert (invalid.status_code, anonymous.status_code) == (422, 401)


def test_the_document_has_the_remote_methods(service, token):
    paths = call(service, token, "GET", "/openapi.json").json["paths"]

    star, search = paths["/notes/{id}/star"]["post"], paths["/notes/search"]["get"]

    assert "requestBody" in star
    assert [parameter["name"] for parameter in search["parameters"] if "name" in parameter] == ["q"]
    found = search["responses"]["200"]["content"]["application/json"]["schema"]
    items = {"$ref": "#/components/schemas/Note"}
    assert found["properties"]["found"] == {"type": "array", "items": items}


def test_answers_of_rows_have_the_schemas_of_their_models(service, token, imported):
    paths = call(service, token, "GET", "/openapi.json").json["paths"]

    def answer(operation):
        return operation["responses"]["200"]["content"]["application/json"]["schema"]

    recent, author = (paths[f"/notes/{name}"]["post"] for name in ("recent", "author"))
    notes = recent["requestBody"]["content"]["application/json"]["schema"]
    written = (imported[0] / "models" / "note.py").read_text()

    assert answer(paths["/notes/{id}/star"]["post"]) == {"$ref": "#/components/schemas/Note"}
    assert answer(recent) == {"type": "array", "items": {"$ref": "#/components/schemas/Note"}}
    assert answer(author) == {"$ref": "#/components/schemas/User"}
    assert notes == {"type": "array", "items": {"$ref": "#/components/schemas/NotePartial"}}
    # Models whose files are read after this one, and users.
    assert answer(paths["/notes/tagged"]["get"]) == {"$ref": "#/components/schemas/Tag"}
    assert "answer=[resource.schema]," in written
    assert "others = fields.Array(dict, allow_none=True)" in written
    invalid = call(service, token, "POST", "/Notes/author", json={"others": [1]})
    assert invalid.status_code == 422


def test_what_is_certain_is_translated(service, token, imported):
    created = call(service, token, "POST", "/Notes", json={"text": "abc", "code": "x"})
    short = call(service, token, "POST", "/Notes", json={"text": "a"})
    code = call(service, token, "POST", "/Notes", json={"text": "abc", "code": "1"})
    deleted = call(service, token, "DELETE", f"/Notes/{created.json['id']}")

    assert created.json["ownerId"] == 1
    assert created.json["changed"] is not None
    assert [answer.status_code for answer in (short, code)] == [422, 422]
    assert deleted.status_code == 404
    assert "before save is translated: Set `changed` whenever a row is saved" in imported[1]


def test_what_is_left_is_listed(imported, monkeypatch):
    folder, _ = imported
    monkeypatch.setenv("INSTANCE_PATH", str(folder))

    result = run(folder, "todo")
    listed = json.loads(run(folder, "todo", "--json").output)

    assert {(stub["kind"], stub["name"], stub["routes"]) for stub in listed} == {
        ("method", "Note.star", "POST /Notes/{id}/star"),
        ("method", "Note.search", "GET /Notes/search"),
        ("method", "Note.find", "GET /Notes/find, POST /Notes/find, PUT /Notes/find,"
         " PATCH /Notes/find, DELETE /Notes/find"),
        ("method", "Note.process.env.NAME", ""),
        ("method", "Note.recent", "POST /Notes/recent"),
        ("method", "Note.author", "POST /Notes/author"),
        ("method", "Note.first", "GET /Notes"),
        ("method", "Note.tagged", "GET /Notes/tagged"),
        ("route", "GET /status", ""),
        ("hook", "Note: after save", ""),
        ("hook", "Note: validatesInclusionOf state", ""),
        ("role", "reader", ""),
    }  # fmt: skip
    places = {stub["place"].partition(":")[0] for stub in listed}
    assert places == {"models/note.py", "models/_loopback.py"}
    assert "To be written: " in result.output


def test_what_boot_scripts_create_are_fixtures(imported, service):
    folder, _ = imported

    fixtures = json.loads((folder / "fixtures" / "loopback.json").read_text())
    result = service.test_cli_runner().invoke(args=["fixtures", "check"])

    assert fixtures["roles"] == ["clerk", "boss"]
    assert fixtures["users"] == [
        {"email": "boss@example.com", "password": {"$env": "BOSS_EXAMPLE_COM_PASSWORD"}}
    ]
    assert fixtures["Note"]["key"] == ["text"]
    assert "created 5 (Member 1, Note 2, roles 2)" in result.output


def test_a_project_without_stubs_says_so(tmp_path, monkeypatch):
    (tmp_path / "config.py").write_text("")
    monkeypatch.setenv("INSTANCE_PATH", str(tmp_path))

    result = run(tmp_path, "todo")

    assert result.output == "Nothing is left to be written: there is no stub.\n"


def test_files_that_exist_are_kept(application, tmp_path):
    (tmp_path / "models").mkdir()
    mine = tmp_path / "models" / "note.py"
    mine.write_text("# mine\n")

    planned = run(tmp_path, "import", str(application), "--dry-run")
    assert [path.name for path in tmp_path.iterdir()] == ["models"]
    written = run(tmp_path, "import", str(application))
    assert mine.read_text() == "# mine\n"
    again = run(tmp_path, "import", str(application), "--overwrite")

    assert "Would write" in planned.output
    assert "kept      models/note.py: it exists and differs" in written.output
    assert "replaced  models/note.py" in again.output
    assert "method_stub" in mine.read_text()
    assert not list(tmp_path.glob(".import-*"))


def test_a_kept_file_that_is_no_text_is_one_sentence(application, tmp_path):
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "note.py").write_bytes(b"\xff")
    rows = tmp_path / "rows.json"
    rows.write_text('{"ids": {}, "models": {}}')

    result = run(tmp_path, "import", str(application), "--dry-run", "--data", str(rows))

    assert result.exit_code == 1
    assert "Error: models/note.py cannot be read: UnicodeDecodeError" in result.output


def test_a_row_that_cannot_be_moved_is_one_line_with_its_property(
    application, imported, tmp_path, monkeypatch
):
    set_variables(monkeypatch, imported[0])
    notes = [
        {"id": 1, "text": "no member", "ownerId": 99},
        {"id": 2, "text": "late", "changed": "10000-01-01T00:00:00.000Z"},
        {"id": 3, "text": "early", "changed": "0000-01-01T00:00:00.000Z"},
    ]
    rows = {"Note": {str(note["id"]): json.dumps(note) for note in notes}}
    (tmp_path / "rows.json").write_text(json.dumps({"ids": {}, "models": rows}))

    result = run(tmp_path, "import", str(application), "--dry-run", "--data", "rows.json")

    assert result.exit_code == 0, result.output
    assert "  Note: 3 read, 1 written, 0 already there, 2 refused, 0 left out\n" in result.output
    assert (
        "  emptied: Note: 1 ownerId refers to a row that does not exist, such as 1\n"
        in result.output
    )
    assert "  refused: Note: 2 changed is not a time, such as 2\n" in result.output


def test_all_files_are_written_or_none(application, tmp_path):
    (tmp_path / "models").write_text("This is in the way of a folder.")

    result = run(tmp_path, "import", str(application), "--overwrite")

    assert result.exit_code == 1
    assert "nothing was written" in result.output
    assert [path.name for path in tmp_path.iterdir()] == ["models"]


def test_a_folder_without_an_application_is_refused(tmp_path):
    result = run(tmp_path, "import", str(tmp_path))

    assert result.exit_code == 1
    assert "is no LoopBack application" in result.output


def test_the_next_commands_are_printed(imported):
    folder, output = imported

    steps = output.partition("Next:\n")[2].splitlines()

    assert steps[0] == "  cp .env.example .env"
    assert steps[-1] == "  ostiary run"
    assert "db (postgresql) is left out: rows are in the project's own database" in output
    assert "none (transient) is left out: its models have no rows" in output
    assert "set -a; . ./.env; set +a" in (folder / ".env.example").read_text()


def test_without_the_extra_the_commands_are_listed_and_say_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setattr("app.config.find_spec", lambda name: None)
    needed = "needs the extra import; install it with pip install 'ostiary[import]'"

    listed = CliRunner().invoke(loopback, ["--help"], terminal_width=200)
    refused = CliRunner().invoke(loopback, ["inspect", str(tmp_path), "--format", "json"])
    helped = CliRunner().invoke(loopback, ["import", "--help"])

    assert listed.exit_code == 0
    assert f"inspect  the command {needed}" in listed.output
    assert "compare  Send" in listed.output
    for result in (refused, helped):
        assert (result.exit_code, result.output) == (1, f"Error: the command {needed}\n")
