"""Reading models in JSON: problems and warnings with their places, bases, and the commands."""

import pytest

from app.database.session import db
from app.problems import ConfigurationError

from .conftest import running_a_command
from .library import LIBRARY, NOTE, OPEN, rule


def note(**more):
    return {"note": {"name": "Note", "properties": {"text": "string"}, "acls": OPEN, **more}}


# Models, and the end of the problem that stops the start.
PROBLEMS = [
    (note(propertys={}), "note.json.propertys: there is no such key; did you mean 'properties'?"),
    (note(properties={"text": "strng"}), "note.json: properties.text.type: there is no type 'strn"),
    (note(properties={"Text": "string", "text": "string"}), "its column text is that of Text too"),
    (note(hidden=["txt", "textt"]), "note.json: hidden: there is no property 'textt'; did you m"),
    (note(base="Thing"), "note.json: base: there is no model 'Thing' to extend"),
    (note(base="Note"), "note.json: base: there is no model 'Note' to extend"),
    (note(base="PersistdModel"), "to extend; did you mean 'PersistedModel'?"),
    (note(plural="Users"), "note.json: plural: Users is taken by Ostiary's users; set another"),
    (note(http={"path": "users"}), "note.json: http.path: users is taken by Ostiary's users; set "),
    (note(http={"path": "users/login"}), "http.path: users/login is below that of Ostiary's users"),
    (
        note(http={"path": "openapi.json"}),
        "http.path: openapi.json is taken by Ostiary; set another",
    ),
    (note(http={"path": "a/../b"}), "note.json: http.path: must be a path such as /notes"),
    (note(properties={"_id": "string"}), "properties._id: its column id is that of id too"),
    (
        note(properties={"created_at": "date"}, mixins={"TimeStamp": True}),
        "note.json: mixins: the column of createdAt is that of created_at too",
    ),
    (note(properties={"aB" * 30: "string"}), "_b has over 63 characters"),
    (note(mysql={"table": "aB" * 30}), "_b has over 63 characters"),
    (note(http={"path": "a b"}), "note.json: http.path: must be a path such as /notes"),
    (
        note(mysql={"table": "users"}),
        "note.json: mysql.table: Ostiary has a table users already; set another",
    ),
    (
        {**note(), "memo": {"name": "NOTE", "plural": "memos"}},
        "note.json: name: NOTE has a table note already; set another, for instance as"
        ' `"postgresql": {"table": "note_2"}`',
    ),
    (
        {
            "files": {"name": "Files", "base": "Base", "options": {"mysql": {"table": "Files"}}},
            "base": {"name": "Base", "options": {"mysql": {"table": "Files"}}},
        },
        "files.json: mysql.table: Base has a table files already; set another",
    ),
    (note(acls=[rule(1)]), "note.json: acls[0]: the role 1 must"),
    (note(acls=[{"permission": "ALLOW"}]), "note.json: acls[0]: has no principalType, which is"),
    (note(acls=[rule("a", "GRANT")]), "note.json: acls[0]: permission: Must be one of: ALLOW"),
    (note(acls={"a": 1}), "note.json: acls: must be a list of rules"),
    (note(ownerRelations="author"), "note.json: ownerRelations: must be true, or a list of"),
    (note(owner="author"), "note.json: owner: 'author' is no belongsTo relation to users; there"),
    (
        note(relations={"a": {"type": "belongTo"}}),
        "relations.a.type: must be one of belongsTo",
    ),
    (note(scope={"where": {"colour": 1}}), "note.json: scope: There is no property 'colour'"),
    (note(defaultPermission="YES"), "note.json: defaultPermission: must be ALLOW or DENY"),
    ({"note": "{"}, "note.json: cannot be read: Expecting property name"),
    ({"note": '{"name": "a", "name": "b"}'}, "note.json: cannot be read: name is given twice"),
    ({"note": "[]"}, "note.json: must be a JSON object"),
    ({"note": {"properties": {}}}, "note.json: name is missing"),
    ({**note(), "other": {"name": "Note"}}, "other.json: name: note.json has a model Note too"),
]
# Models, and a warning; they are served.
WARNINGS = [
    (note(colour="red"), "note.json.colour: is ignored"),
    (
        {"note": {"name": "Audit", "plural": "audits"}},
        "note.json: name: its table is audit_2: Ostiary has a table audit",
    ),
    (note(sharedMethodNames=["find"]), "note.json.sharedMethodNames: is ignored"),
    (note(scopes={"new": {"where": {}}}), "note.json: scopes: are not served: use a filter, or"),
    (note(base="Installation"), "base: is not served: models of Installation have no rows here"),
    (note(base="Notification"), "base: is not served: models of Notification have no rows here"),
    (note(base="OAuthAccessToken"), "is not served: models of OAuthAccessToken have no rows here"),
    (
        note(properties={"stars": {"type": "number", "default": False}}),
        "note.json: properties.stars.default: false is taken as 0",
    ),
    (
        note(acls=[{"principalType": "APP", "principalId": "a", "permission": "ALLOW"}]),
        "acls[0]: is without effect: there are no principals of the type APP",
    ),
    (note(acls=[rule("a", accessType="REPLICATE")]), "acls[0]: is without effect: nothing is repl"),
    (note(methods={"star": {}}), "methods.star: is not served until note.py has an endpoint of"),
    (note(mixins={"Counter": True}), "mixins.Counter: there is no such mixin; write it in note.py"),
    (note(validations=[{}]), "validations: are ignored: a property has `validates` instead"),
    (note(hidden=["secret"]), "note.json: hidden: there is no property 'secret'"),
    (note(acls=[rule("a", property="star")]), "acls[0].property: there is no method star"),
    (
        note(acls=[rule("a", property="createMany")]),
        "acls[0].property: there is no method createMany",
    ),
    (note(acls=[rule("$owner")]), "acls[0]: is without effect: the rows have no $owner"),
    (
        note(acls=[rule("a", None)]),
        "acls[0]: has no permission: it does what defaultPermission",
    ),
    (note(acls=[rule("a", property=[])]), "acls[0].property: names no method"),
    (note(acls=[rule("a", property=["*"])]), "acls[0].property: * in a list is no method"),
    (
        note(acls=[rule("a", property="prototype.updateAttributes")]),
        "there is no method prototype.updateAttributes for rules that allow, as in LoopBack 3: "
        "write patchAttributes",
    ),
    (note(base="Model"), "note.json: base: is not served: models of Model have no rows here"),
    (note(relations={"a": {"type": "hasMany", "model": "X"}}), "is not served: there is no model"),
    (
        note(relations={"a": {"type": "hasMany", "model": "User", "through": "RoleMapping"}}),
        "relations.a.through: is not served: RoleMapping leads to roles only",
    ),
    (
        note(relations={"a": {"type": "hasMany", "model": "Role", "through": "RoleMapping"}}),
        "relations.a.through: is not served: RoleMapping has the roles of users only",
    ),
    (
        note(
            relations={
                "a": {"type": "hasMany", "model": "Note", "polymorphic": "b", "through": "Note"}
            }
        ),
        "relations.a: is not served: a polymorphic relation between many rows of each side",
    ),
    (
        note(
            relations={"a": {"type": "belongsTo", "polymorphic": {"discriminator": "text"}}},
            properties={"text": "number"},
        ),
        "relations.a: is not served: text of Note is of the type number",
    ),
    (
        note(relations={"a": {"type": "embedsOne", "model": "X", "property": "b"}}),
        "relations.a: has no endpoints: its data is the property b",
    ),
    (
        note(relations={"a": {"type": "hasOne", "model": "Note", "through": "X"}}),
        "relations.a.through: is ignored",
    ),
    (
        {
            "note.user": {"name": "NoteNote", "base": "User"},
            **note(relations={"a": {"type": "hasMany", "model": "Note", "through": "NoteNote"}}),
        },
        "note.json: relations.a.through: is not served: users are no model between others",
    ),
    (
        note(relations={"exists": {"type": "hasMany", "model": "Note"}}),
        "relations.exists: is not served: there is a property or a call of this name",
    ),
    (
        note(relations={"a": {"type": "embedsMany", "model": "X", "scope": {"include": "b"}}}),
        "relations.a.scope: is ignored",
    ),
    (
        note(properties={"at": {"type": "date", "required": True, "readOnly": True}}),
        "properties.at.required: is ignored: the property is read-only, without default",
    ),
    (
        note(
            relations={"owner": {"type": "belongsTo", "model": "user"}},
            mixins={"TimeStamp": {"createdAt": "ownerId"}},
        ),
        "relations.owner: is not served: ownerId of Note is of the type date",
    ),
    (note(properties={"id": {"type": ["string"]}}), "an id cannot be of the type array"),
    (
        note(properties={"a": {"type": "number", "id": 1}, "b": {"type": "number", "id": 2}}),
        "properties: a, b are not the id together: rows have an `id` of their own",
    ),
]


def refused(make_app, folder):
    with running_a_command(), pytest.raises(ConfigurationError) as raised:
        make_app(MODELS_FOLDER=folder)
    return str(raised.value)


def test_each_problem_is_named_with_its_file_and_path(make_app, write_models, tmp_path):
    for models, problem in PROBLEMS:
        said = refused(make_app, write_models(models))

        assert said.startswith("the models cannot be used:\n  ")
        assert problem in said
        for path in (tmp_path / "models").iterdir():
            path.unlink()


def test_all_problems_are_said_at_once(make_app, write_models):
    models = {
        "a": {"name": "A", "properties": {"x": "strng", "y": {"type": "number", "default": "z"}}},
        "b": {"name": "B", "hiden": []},
    }

    said = refused(make_app, write_models(models))

    assert [line.partition(": ")[0].strip() for line in said.splitlines()[1:]] == [
        "a.json",
        "a.json",
        "b.json.hiden",
    ]


def test_what_cannot_be_served_is_a_warning_with_its_place(
    make_app, write_models, tmp_path, caplog
):
    for models, warning in WARNINGS:
        caplog.clear()
        with running_a_command():
            make_app(MODELS_FOLDER=write_models(models), COMPATIBILITY="loopback3")

        assert [each for each in caplog.messages if warning in each], caplog.messages
        assert all(each.startswith("model note.json") for each in caplog.messages)
        for path in (tmp_path / "models").iterdir():
            path.unlink()


def test_a_folder_that_does_not_exist_stops_the_start(make_app, tmp_path):
    said = refused(make_app, str(tmp_path / "model"))

    assert said == f"MODELS_FOLDER cannot be used: there is no folder {tmp_path / 'model'}"


def test_a_table_that_does_not_fit_stops_the_start(make_models, make_app):
    app = make_models({"note": NOTE})
    folder = app.config["MODELS_FOLDER"]
    make_app(MODELS_FOLDER=folder)
    with app.app_context(), db.engine.begin() as connection:
        connection.exec_driver_sql("ALTER TABLE note DROP COLUMN text")

    with pytest.raises(ConfigurationError) as missing_column:
        make_app(MODELS_FOLDER=folder)
    with app.app_context(), db.engine.begin() as connection:
        connection.exec_driver_sql("DROP TABLE note")
    with pytest.raises(ConfigurationError) as missing_table:
        make_app(MODELS_FOLDER=folder)

    said = "the database has no {}: run `ostiary db migrate` and `ostiary db upgrade`"
    assert str(missing_column.value) == said.format("note.text")
    assert str(missing_table.value) == said.format("note")


def test_the_commands_check_list_and_show(make_models):
    config = {"Book": {}, "Person": {"public": False}}
    runner = make_models(LIBRARY, config, COMPATIBILITY="loopback3").test_cli_runner()

    def run(*words):
        result = runner.invoke(args=["models", *words])
        return result.exit_code, result.output

    code, output = run("check")
    assert (code, output) == (
        0,
        "Person has no endpoints of its own: it is not public.\n"
        "Checked 2 models: usable, with warnings.\n",
    )
    assert run("check", "--strict") == (1, output)
    _, listed = run("list")
    assert [line.split() for line in listed.splitlines()] == [
        ["name", "file", "path", "table", "public"],
        ["auditRecord", "-", "/audit", "audit", "yes"],
        ["Book", "book.json", "/Books", "book", "yes"],
        ["Person", "person.json", "/People", "person", "no"],
        ["todo", "-", "/todos", "todos", "yes"],
        ["user", "-", "/users", "users", "yes"],
    ]
    _, shown = run("show", "book")
    assert "Book\tbook.json\ttable book" in shown
    assert "  property\ttitle\tText\trequired" in shown
    assert "  relation\tauthor\tbelongsTo\tPeople" in shown
    assert "  endpoint\tfindById\tGET /api/Books/<id>" in shown
    assert "  rule\tALLOW\t$authenticated\t*\t*" in shown
    assert run("show", "pen") == (
        1,
        "Error: There is no model pen; there are auditRecord, Book, Person, todo, user.\n",
    )


def test_check_without_models_or_warnings_succeeds(make_models, app):
    runner = make_models({"note": NOTE}).test_cli_runner()

    for each, count in [(runner, 1), (app.test_cli_runner(), 0)]:
        result = each.invoke(args=["models", "check", "--strict"])
        assert (result.exit_code, result.output) == (0, f"Checked {count} models: all in order.\n")


def test_the_check_says_where_users_are(make_models):
    customer = {"name": "Customer", "base": "User"}
    usual = {**customer, "plural": "users"}

    def checked(model):
        runner = make_models({"customer": model}).test_cli_runner()
        return runner.invoke(args=["models", "check"]).output.splitlines()[:-1]

    assert checked(usual) == []
    assert checked(customer) == [
        "Customer extends User: all calls of users, such as login, are below /api/Customers, and"
        " /api/users is not served."
    ]


def test_the_check_names_own_endpoints_that_a_rule_for_everybody_opens(make_models):
    code = (
        "from ostiary.rules import READ, WRITE\n\n\n"
        "def extend(notes):\n"
        "    for name, access in [('rating', READ), ('chart', READ), ('star', WRITE)]:\n"
        "        notes.endpoint(name, access, f'GET /{name}')(lambda: None)\n"
    )
    rules = [rule("$everyone", accessType="READ"), rule("$everyone", property="chart")]

    def checked(acls):
        app = make_models({"note": {**NOTE, "acls": acls}}, code={"note": code})
        return app.test_cli_runner().invoke(args=["models", "check"]).output.splitlines()[:-1]

    opened = [
        "Note has own endpoints that everybody can call, without a token, by a rule that does not"
        " name them: rating."
    ]
    assert checked(rules) == opened
    # A rule for others does not close it.
    assert checked([*rules, rule("$authenticated", property="rating")]) == opened
    assert checked([rule("$authenticated")]) == []
