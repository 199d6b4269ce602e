"""`ostiary loopback import` of an application whose names are code, and that has more secrets."""

import ast
import json

import pytest

from .test_import import run

BREAK = '"""\u2028\r\nimport pwned\n"""'
FILES = {
    "server/config.json": {},
    "server/datasources.json": {
        f"db{BREAK}": {"connector": f"mem{BREAK}", "password": "secret one"},
        f"mails{BREAK}": {"connector": "mail", "transports": [{"host": f"h{BREAK}"}]},
        "geo": {"connector": "rest", "token": {"$env": f"A{BREAK}"}},
    },
    "server/model-config.json": {
        "_meta": {"sources": ["../common/models"]},
        f"Member{BREAK}": {"dataSource": f"db{BREAK}"},
        f"Note{BREAK}": {"dataSource": f"db{BREAK}"},
    },
    "common/models/member.json": {"name": f"Member{BREAK}", "base": "User"},
    "common/models/note.json": {"name": f"Note{BREAK}", "properties": {"text": "string"}},
}
NAMES = (
    "initApp",
    "extend",
    "methodStub",
    "hookStub",
    "roleStub",
    "now",
    "class",
    "hasRequestContext",
)
NOTE = (
    r'''
module.exports = function(Note) {
  const token = process.env.TOKEN || 'secret two';
  const db = connect('mysql://user:secret-three@localhost/db');
  const headers = {Authorization: 'Bearer ' + 'secret four', 'x-api-key': ['secret five']};
  client.password('public');
  Note.star = function(cb) {
    const password = process.env.PASSWORD || `secret six`;
    request({auth: {user: 'a', pass: 'secret seven'}, url: 'https://a:secret-eight@b.example/'});
  };
  Note.remoteMethod('star', {
    description: 'a \"\"\"\nimport pwned',
    accepts: [{arg: '\nimport pwned', type: 'string'}, {arg: 'pwned"', type: 'string'}],
    http: {path: '/:class/:body/:row/star', verb: 'post'},
  });
  Note.remoteMethod('evil"""\nimport pwned', {http: {path: '/a"b', verb: 'get'}});
  Note.observe('evil"""\nimport pwned', function(ctx, next) { next(); });
'''
    + "".join(
        f"  Note.remoteMethod('{name}', {{http: {{path: '/{name}', verb: 'get'}}}});\n"
        for name in NAMES
    )
    + "};\n"
)
BOOT = r'''
module.exports = function(app) {
  app.models.Role.registerResolver('evil"""\nimport pwned', function(role, context, cb) {});
};
'''
NUMBERS = ("one", "two", "three", "four", "five", "six", "seven", "eight")
SECRETS = [f"secret{between}{number}" for between in " -" for number in NUMBERS]


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """The texts of the project's files, by name, and what the command printed."""
    folder = tmp_path_factory.mktemp("application")
    files = {name: json.dumps(content) for name, content in FILES.items()}
    for name, text in {**files, "common/models/note.js": NOTE, "server/boot/a.js": BOOT}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    project = tmp_path_factory.mktemp("project")
    result = run(project, "import", str(folder), "--models-only")
    assert result.exit_code == 0, result.output
    paths = (path for path in project.rglob("*") if path.is_file())
    return {str(path.relative_to(project)): path.read_text() for path in paths}, result.output


def test_no_name_of_an_application_becomes_code(written):
    files, _ = written
    trees = {name: ast.parse(text) for name, text in files.items() if name.endswith(".py")}

    assert {"config.py", "models/note.py", "models/_loopback.py"} <= trees.keys()
    imported = {
        alias.name
        for tree in trees.values()
        for node in ast.walk(tree)
        if isinstance(node, ast.Import)
        for alias in node.names
    }
    assert "pwned" not in imported
    for line in files[".env.example"].splitlines():
        assert line.startswith("#") or line.partition("=")[0].isidentifier(), line


def test_no_method_takes_the_place_of_a_function_that_a_file_needs(written):
    files, _ = written
    tree = ast.parse(files["models/note.py"])
    functions = [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]
    imported = {
        a.asname or a.name for n in tree.body if isinstance(n, ast.ImportFrom) for a in n.names
    }

    assert len(functions) == len(set(functions))
    assert not {*functions} & {*imported, "init_app", "has_request_context", "now"}


def test_secrets_inside_of_expressions_and_addresses_are_masked(written):
    files, output = written

    assert not [secret for secret in SECRETS if secret in "".join(files.values()) + output]


def test_no_character_of_an_application_controls_the_terminal(written):
    _, output = written

    assert "\nimport pwned" not in output
    assert "\r" not in output


def application(folder, files):
    """Write the files of an application with the model Note; return its folder."""
    usual = {
        "server/model-config.json": '{"Note": {"dataSource": "db"}}',
        "server/datasources.json": '{"db": {"connector": "memory"}}',
        "server/models/note.json": '{"name": "Note"}',
    }
    for name, text in {**usual, **files}.items():
        path = folder / "application" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder / "application"


def test_no_link_leads_out_of_the_application(tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    (other / "sources.js").write_text("module.exports = {stolen: {connector: 'memory'}};")
    (other / "note.js").write_text("module.exports = function(Note) { Note.observe('stolen'); };")
    folder = application(tmp_path, {})
    (folder / "server" / "datasources.local.js").symlink_to(other / "sources.js")
    (folder / "common").symlink_to(other)

    result = run(tmp_path, "inspect", str(folder))

    assert result.exit_code == 0, result.output
    assert "stolen" not in result.output
    assert result.output.count("it is outside application") == 2


def test_what_is_no_name_and_no_text_is_reported(tmp_path):
    files = {
        "server/models/note.js": "module.exports = function(Note) { Note.observe('', f); };",
        "server/models/half.json": r'{"name": "Half", "description": "\ud800"}',
    }
    folder = application(tmp_path, files)
    project = tmp_path / "project"
    project.mkdir()

    result = run(project, "import", str(folder), "--models-only")

    assert result.exit_code == 0, result.output
    assert "half.json: cannot be read: ValueError: it has one half of a surrogate" in result.output
