"""Values of models with which LoopBack 3 runs, and that would let no project start."""

import json

import pytest

from .projects import import_application, run, serving, write_application

PROPERTIES = {
    "count": {"type": "number", "default": ""},
    "size": {"type": "number", "defaultFn": ""},
    "place": {"type": "geopoint", "default": ""},
    "title": {"type": "string", "require": True},
    "owner": {"type": "string", "required": "yes"},
}
SCOPE = {
    "where": {"gone": False},
    "order": ["place ASC", "never DESC", "title DESC"],
    "include": ["nothing"],
}
NOTE = {"name": "Note", "base": "PersistedModel", "properties": PROPERTIES, "scope": SCOPE}
CHANGES = {
    "properties.count.default is left out: must be a number",
    "properties.size.defaultFn is left out: '' is no function for a number; there are none",
    'properties.place.default is left out: must be a position like {"lat": 52.5, "lng": 13.4}',
    "properties.title.require is left out: there is no such key; did you mean 'required'?",
    "properties.owner.required is true",
    "scope.order place is left out: positions have no order",
    "scope.order never is left out: there is no such property",
    "scope.include nothing is left out: there is no such relation",
}
DECLARED = "properties.gone is declared, of the type boolean: scope names it"


def test_each_is_left_out_or_mended_with_a_line_and_the_project_serves(tmp_path):
    project, output = import_application(tmp_path, NOTE)

    with serving(project) as app:
        client = app.test_client()
        for note in ({"title": "a"}, {"title": "b"}, {"title": "c", "gone": True}):
            assert client.post("/api/Notes", json={"owner": "o", **note}).status_code == 200
        invalid = client.post("/api/Notes", json={"title": "c"})
        found = client.get("/api/Notes").json
        all_gone = client.get('/api/Notes?filter={"where": {"gone": true}}').json

    lines = {line.strip() for line in output.splitlines()}
    assert {*CHANGES, DECLARED} <= lines
    assert invalid.status_code == 422
    # As in LoopBack 3, rows without the property do not fulfil the condition.
    assert found == all_gone == []


def test_inspect_names_them_as_differences(tmp_path):
    application = write_application(tmp_path, [NOTE])

    report = json.loads(run(tmp_path, "inspect", str(application), "--format", "json").output)

    [note] = [model for model in report["models"] if model["name"] == "Note"]
    assert note["verdict"] == "with a difference"
    assert note["problems"] == []
    assert {f"common/models/note.json: {change}" for change in CHANGES} <= {*note["differences"]}


@pytest.mark.parametrize("place", ["scope", "options"])
def test_in_sql_a_condition_on_an_unknown_property_has_no_effect_as_in_loopback(tmp_path, place):
    scope = {"where": {"or": [{"gone": False}, {"title": "a"}], "missing": 1}, "order": "title"}
    note = {"name": "Note", "properties": {"title": "string"}}
    note |= {"scope": scope} if place == "scope" else {"options": {"scope": scope}}

    project, output = import_application(tmp_path, note, source={"connector": "mysql"})
    with serving(project) as app:
        client = app.test_client()
        client.post("/api/Notes", json={"title": "a"})
        found = client.get("/api/Notes").json

    assert [row["title"] for row in found] == ["a"]
    assert "scope.where.missing is left out: there is no such property" in output


def test_a_scope_may_name_ids_foreign_keys_and_properties_of_bases(tmp_path):
    base = {"name": "Base", "base": "PersistedModel", "properties": {"kind": "string"}}
    parent = {
        "name": "Parent",
        "relations": {"notes": {"type": "hasMany", "model": "Note", "foreignKey": ""}},
    }
    note = {
        "name": "Note",
        "base": "Base",
        "relations": {"parent": {"type": "belongsTo", "model": "Parent"}},
        "scope": {
            "where": {"kind": "a", "parentId": None},
            "include": [{"relation": "parent"}],
            "order": "kind ASC, id DESC",
            "limit": 5,
        },
    }

    project, output = import_application(tmp_path, base, parent, note)
    with serving(project) as app:
        client = app.test_client()
        client.post("/api/Notes", json=[{"kind": "a"}, {"kind": "b"}, {"kind": "a"}])
        found = client.get("/api/Notes").json

    assert [row["id"] for row in found] == [3, 1]
    assert "is left out" not in output


def test_a_relation_whose_scope_is_about_other_rows_is_left_out(tmp_path):
    scope = {"where": {"confirmed": True}, "include": "group"}
    through = {"type": "hasMany", "model": "Group", "foreignKey": "", "through": "Member"}
    sorted_by = {"type": "hasMany", "model": "Member", "scope": {"order": ["role", "never"]}}
    person = {
        "name": "Person",
        "relations": {"groups": {**through, "scope": scope}, "members": sorted_by},
    }
    belongs = {name.lower(): {"type": "belongsTo", "model": name} for name in ("Person", "Group")}
    member = {
        "name": "Member",
        "properties": {"confirmed": "boolean", "role": "string"},
        "relations": belongs,
    }

    project, output = import_application(tmp_path, person, {"name": "Group"}, member)
    with serving(project) as app:
        client = app.test_client()
        client.post("/api/People", json={})
        groups = client.get("/api/People/1/groups").status_code
        members = client.get("/api/People/1/members").status_code

    assert (groups, members) == (404, 200)
    missing = "its scope names confirmed, and Group has no such property"
    assert f"relations.groups is left out: {missing}" in output
    assert "relations.members.scope.order never is left out: there is no such property" in output


def test_properties_with_one_column_have_their_own(tmp_path):
    shared = {"type": "string", "mysql": {"columnName": "supplier_id"}}
    payment = {"name": "Payment", "properties": {"supplierId": shared, "methodId": shared}}
    person = {
        "name": "Person",
        "base": "User",
        "properties": {"metadata": {"type": "object"}, "email": {"type": "string"}},
    }

    project, output = import_application(
        tmp_path, payment, person, entries={"User": {"dataSource": "db", "public": False}}.items()
    )
    with serving(project) as app:
        client = app.test_client()
        values = {"supplierId": "a", "methodId": "b"}
        paid = client.post("/api/Payments", json=values).json
        user = {"email": "a@example.com", "password": "a quiet harbour", "metadata": {"a": 1}}
        registered = client.post("/api/People", json=user).json

    assert {**paid, **values} == paid
    assert registered["metadata"] == {"a": 1}
    assert "properties.methodId has the column method_id_2: the other name is taken" in output
    assert "properties.metadata has the column metadata_2: the other name is taken" in output


def test_models_with_one_path_or_table_have_their_own(tmp_path):
    shop = {"name": "Shop", "http": {"path": "shops"}}
    other = {"name": "Other", "http": {"path": "/Shops"}, "mysql": {"table": "shop"}}
    other["properties"] = {"of": "string"}
    third = {"name": "Third", "plural": "shops"}
    member = {"name": "Member", "base": "User", "http": {"path": "others"}}
    page = {"name": "Page", "http": {"path": "explorer"}}

    project, output = import_application(tmp_path, other, shop, third, member, page)
    with serving(project) as app:
        client = app.test_client()
        assert client.post("/api/Shops", json={"of": "other"}).json["of"] == "other"
        answers = [
            client.get(f"/api/{path}/count").json for path in ("ShopRows", "ThirdRows", "PageRows")
        ]

    assert answers == [{"count": 0}] * 3
    assert "it is served at /ShopRows: Other has this name" in output
    assert "its table is other: another model has shop, with the same rows" in output
    assert "its plural is OtherRows: Member has this name" in output
    assert "it is served at /PageRows: Ostiary's own pages have this name" in output


def test_the_project_has_the_extras_of_its_providers_and_stores(tmp_path):
    providers = {
        "google": {"provider": "google", "clientID": "a", "clientSecret": "very secret"},
        "local": {
            "module": "passport-local",
            "usernameField": "username",
            "passwordField": "password",
            "tokenURL": "https://login.example/token",
        },
    }
    store = {"connector": "loopback-component-storage", "provider": "amazon", "keyId": "k"}
    files = {"server/providers.json": providers}
    files["server/datasources.json"] = {"db": {"connector": "memory"}, "pictures": store}

    project, output = import_application(tmp_path, files=files)

    assert '"ostiary[oidc,postgres,s3]~=' in (project / "pyproject.toml").read_text()
    assert "the project needs the extra oidc" in output
    written = json.loads((project / "providers.json").read_text())
    assert written["local"] == providers["local"]
    assert written["google"]["clientSecret"] == {"$env": "GOOGLE_CLIENT_SECRET"}


def test_a_project_without_providers_has_the_usual_extra(tmp_path):
    project, _ = import_application(tmp_path)

    assert '"ostiary[postgres]~=' in (project / "pyproject.toml").read_text()


@pytest.mark.parametrize("options", [False, True])
def test_methods_that_a_models_own_file_switches_off_are_told(tmp_path, options):
    remoting = {"remoting": {"sharedMethods": {"find": False}}}
    note = {"name": "Note", **({"options": remoting} if options else remoting)}

    project, output = import_application(tmp_path, note)
    with serving(project) as app:
        found = app.test_client().get("/api/Notes")

    path = "options.remoting" if options else "remoting"
    assert found.status_code == 404
    assert (
        f"{path}.sharedMethods switches methods off: LoopBack 3 only uses that of"
        " model-config.json, and serves them" in output
    )


def test_of_several_models_of_users_the_first_is_the_one_at_users(tmp_path):
    account = {"name": "account", "base": "User"}
    user = {"name": "user", "base": "User"}
    driver = {"name": "driver", "base": "user"}

    project, _ = import_application(tmp_path, account, user, driver)
    with serving(project) as app:
        client = app.test_client()
        registered = {
            path: client.post(path, json={"email": "a@example.com", "password": "a quiet harbour"})
            for path in ("/api/accounts", "/api/users", "/api/drivers")
        }

    assert {path: answer.status_code for path, answer in registered.items()} == {
        "/api/accounts": 200,
        "/api/users": 200,
        "/api/drivers": 200,
    }


def test_an_id_that_is_not_declared_as_one_is_generated_as_in_loopback(tmp_path):
    page = {
        "name": "Page",
        "base": "PersistedModel",
        "properties": {"id": {"type": "string", "required": True}, "title": "string"},
    }

    project, output = import_application(tmp_path, page)
    with serving(project) as app:
        created = app.test_client().post("/api/Pages", json={"title": "a"})

    assert created.json == {"id": 1, "title": "a"}
    assert "properties.id is left out: without id: true, LoopBack 3 ignores it" in output


def test_a_relation_to_a_model_in_another_case_has_no_calls(tmp_path):
    related = {
        "shelf": {"type": "belongsTo", "model": "shelf"},
        "rack": {"type": "belongsTo", "model": "Shelf"},
    }
    book = {"name": "Book", "base": "PersistedModel", "relations": related}

    shelf = {"name": "Shelf", "base": "PersistedModel"}
    project, output = import_application(tmp_path, book, shelf)
    with serving(project) as app:
        client = app.test_client()
        client.post("/api/Shelves", json={})
        created = client.post("/api/Books", json={"shelfId": 1, "rackId": 1})
        answers = [client.get(f"/api/Books/1/{name}").status_code for name in related]

    assert "relations.shelf has no calls: it leads to Shelf here" in output
    assert created.json == {"id": 1, "shelfId": 1, "rackId": 1}
    assert answers == [404, 200]


def test_an_application_at_the_root_is_served_at_api_and_the_output_says_so(tmp_path):
    files = {"server/config.json": {"restApiRoot": "/"}}

    project, output = import_application(tmp_path, files=files)

    assert "REST_API_ROOT" not in (project / "config.py").read_text()
    assert "REST_API_ROOT stays /api, as config.json: restApiRoot is /" in output
