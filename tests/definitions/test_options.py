"""Options of a model in JSON beyond properties and relations."""

import json
from datetime import datetime

import pytest

from app.access.roles import grant
from app.server.hash_queue import hashing_views
from tests.conftest import PASSWORD
from tests.support.answers import field_codes, refusal
from tests.support.rows import put_into_past

from .library import NOTE, OPEN, OWNED, rule


@pytest.mark.both_databases
@pytest.mark.parametrize(
    ("condition", "ids"),
    [
        ({"inq": ["a", None]}, [1, 3]),
        ({"nin": ["a"]}, [2, 3]),
        ({"nin": ["a", None]}, [2]),
        ({"inq": []}, []),
        ({"nin": []}, [1, 2, 3]),
    ],
)
def test_a_default_filter_may_have_lists_of_values(serve, condition, ids):
    api = serve({"note": {**NOTE, "scope": {"where": {"text": condition}}, "acls": OPEN}})
    token = api.logged_in()
    for text in ("a", "b", None):
        api("POST", "/notes", {"text": text}, token=token)

    def found(row_id):
        # Twice, as the statement is kept.
        answers = [api("GET", f"/notes/{row_id}", token=token) for _ in range(2)]
        return {answer.status_code for answer in answers} == {200}

    assert [row_id for row_id in (1, 2, 3) if found(row_id)] == ids
    assert [row["id"] for row in api("GET", "/notes", token=token).json] == ids


@pytest.mark.both_databases
def test_a_default_filter_hides_rows_everywhere_and_orders_the_others(serve):
    scope = {"where": {"deleted": {"neq": True}}, "order": "text DESC", "include": "shelf"}
    note = {
        "name": "Note",
        "properties": {"text": "string", "deleted": {"type": "boolean", "default": False}},
        "relations": {"shelf": {"type": "belongsTo", "model": "Shelf"}},
        "scope": scope,
        "acls": OPEN,
    }
    shelf = {
        "name": "Shelf",
        "properties": {"name": "string"},
        "relations": {"notes": {"type": "hasMany", "model": "Note"}},
        "acls": OPEN,
    }
    api = serve({"note": note, "shelf": shelf})
    token = api.logged_in()

    def get(path):
        return api("GET", path, token=token)

    api("POST", "/shelves", {"name": "A"}, token=token)
    for text in ("a", "b", "c"):
        api("POST", "/notes", {"text": text, "shelfId": 1}, token=token)
    assert api("PATCH", "/notes/2", {"deleted": True}, token=token).status_code == 200

    found = get("/notes").json
    assert [each["text"] for each in found] == ["c", "a"]
    assert found[0]["shelf"] == {"id": 1, "name": "A"}
    assert get("/notes/1").json["shelf"]["name"] == "A"
    assert refusal(get("/notes/2")) == (404, "MODEL_NOT_FOUND")
    assert get("/notes/2/exists").json == {"exists": False}
    assert get("/notes/count").json == {"count": 2}
    assert [each["text"] for each in get("/shelves/1/notes").json] == ["c", "a"]
    included = get("/shelves?filter[include]=notes").json[0]["notes"]
    assert [each["text"] for each in included] == ["c", "a"]
    assert [each["text"] for each in get("/notes?filter[order]=text").json] == ["a", "c"]
    changed = api("POST", "/notes/update?where={}", {"text": "x"}, token=token)
    assert changed.json == {"count": 2}
    assert api("DELETE", "/notes/2", token=token).status_code == 404


@pytest.mark.both_databases
def test_a_default_filter_may_list_values(serve):
    note = {
        "name": "Note",
        "properties": {"text": "string", "state": "string"},
        "scope": {"where": {"state": {"inq": ["open", "50 %"]}}},
        "acls": OPEN,
    }
    api = serve({"note": note})
    token = api.logged_in()
    for state in ("open", "50 %", "gone"):
        api("POST", "/notes", {"text": "a", "state": state}, token=token)

    found = [api("GET", f"/notes/{n}", token=token) for n in (1, 2, 3)]
    assert [each.status_code for each in found] == [200, 200, 404]
    changes = [api("PATCH", f"/notes/{n}", {"text": "b"}, token=token) for n in (1, 2, 3)]
    assert [change.status_code for change in changes] == [200, 200, 404]
    assert changes[1].json == {"id": 2, "text": "b", "state": "50 %"}
    deletions = [api("DELETE", f"/notes/{n}", token=token) for n in (1, 3)]
    assert [deletion.status_code for deletion in deletions] == [200, 404]
    assert api("GET", "/notes/count", token=token).json == {"count": 1}


@pytest.mark.both_databases
def test_properties_may_have_the_names_that_sqlalchemy_gives_to_parameters(serve):
    note = {
        "name": "Note",
        "properties": dict.fromkeys(["text", "text_1", "text_1_1", "id_1"], "string"),
        "scope": {"where": {"text": "a"}},
        "acls": OPEN,
    }
    api = serve({"note": note})
    token = api.logged_in()
    api("POST", "/notes", {"text": "a"}, token=token)

    def change(verb, path, body, **query):
        answer = api(verb, path, body, token=token, query_string=query)
        assert answer.status_code == 200
        return answer.json

    changes = {"text_1": "b", "text_1_1": "c", "id_1": "d"}
    for name, value in changes.items():
        assert change("PATCH", "/notes/1", {name: value})[name] == value
    new = {"id": 1, "text": "a", **dict.fromkeys(changes, "e")}
    assert change("PUT", "/notes/1", new) == new
    where = json.dumps({"id": 1, "text": "a", "text_1": "e"})
    assert change("POST", "/notes/update", changes, where=where) == {"count": 1}
    assert change("POST", "/notes/upsertWithWhere", {"text_1": "f"}, where='{"id_1": "d"}') == {
        "id": 1,
        "text": "a",
        **changes,
        "text_1": "f",
    }


@pytest.mark.both_databases
def test_orders_have_several_properties_in_a_text_in_requests_includes_and_the_default(serve):
    step = {
        "name": "Step",
        "properties": {"place": "number", "name": "string"},
        "relations": {"before": {"type": "hasMany", "model": "Step", "foreignKey": "afterId"}},
        "scope": {"order": "place DESC, name ASC"},
        "acls": OPEN,
    }
    api = serve({"step": step})
    token = api.logged_in()
    for place, name in ((1, "b"), (2, "b"), (2, "a")):
        api("POST", "/steps", {"place": place, "name": name}, token=token)
    api("POST", "/steps/update?where={}", {"afterId": 1}, token=token)

    def ids(filter_=None, path="/steps"):
        query = {"filter": json.dumps(filter_)} if filter_ else {}
        return [each["id"] for each in api("GET", path, token=token, query_string=query).json]

    assert ids() == [3, 2, 1]
    for order in ("name, place DESC", ["name,place DESC"], ["name ASC", ",place DESC,"]):
        assert ids({"order": order}) == [3, 2, 1]
    assert ids({"order": "name DESC, place"}) == [1, 2, 3]
    assert ids({"order": "name DESC, place"}, "/steps/1/before") == [1, 2, 3]
    scope = {"relation": "before", "scope": {"order": "name DESC, place"}}
    included = api(
        "GET", "/steps/1", token=token, query_string={"filter": json.dumps({"include": scope})}
    )
    assert [each["id"] for each in included.json["before"]] == [1, 2, 3]


@pytest.mark.both_databases
def test_hidden_properties_never_leave_and_protected_ones_not_with_other_rows(serve):
    person = {
        "name": "Person",
        "properties": {"name": "string", "pin": "string", "phone": "string"},
        "hidden": ["pin"],
        "protected": ["phone"],
        "acls": OPEN,
    }
    pet = {
        "name": "Pet",
        "properties": {"name": "string"},
        "relations": {"owner": {"type": "belongsTo", "model": "Person"}},
        "acls": OPEN,
    }
    api = serve({"person": person, "pet": pet})
    token = api.logged_in()

    ada = api("POST", "/people", {"name": "Ada", "pin": "1", "phone": "2"}, token=token).json
    api("POST", "/pets", {"name": "Cat", "ownerId": 1}, token=token)

    assert ada == {"id": 1, "name": "Ada", "phone": "2"}
    assert api("GET", "/people/1", token=token).json == ada
    assert api("GET", '/people?filter={"where":{"pin":"1"}}', token=token).status_code == 400
    include = api("GET", "/pets?filter[include]=owner", token=token).json
    assert include[0]["owner"] == {"id": 1, "name": "Ada"}
    scope = '{"include":{"relation":"owner","scope":{"where":{"phone":"2"}}}}'
    assert api("GET", f"/pets?filter={scope}", token=token).status_code == 400


def test_hidden_and_protected_properties_of_users_are_kept_back_alike(serve):
    account = {
        "name": "Account",
        "base": "User",
        "plural": "users",
        "properties": {"name": "string", "phone": "string"},
        "hidden": ["email"],
        "protected": ["phone", "emailVerified", "created"],
    }
    relation = {"type": "belongsTo", "model": "Account"}
    pet = {"name": "Pet", "relations": {"owner": relation}, "acls": OPEN}
    api = serve({"account": account, "pet": pet}, PERSONAL_TOKENS={})
    token = api.newcomer(name="Ada", phone="1")
    with api.client.application.app_context():
        grant(1, "admin")
    api("POST", "/pets", {}, token=token)

    [shown] = api("GET", "/users", token=token).json
    login = {"email": "ada@example.com", "password": PASSWORD}
    logged_in = api("POST", "/users/login?include=user", login).json
    api.secrets.append(logged_in["id"])
    [included] = api("GET", "/pets?filter[include]=owner", token=token).json
    refused = [
        *(f'/users?filter={{"where":{{"email":{value}}}}}' for value in ('"a"', '{"like":"a%"}')),
        '/users/count?where={"or":[{"email":"ada@example.com"}]}',
        "/users?filter[order]=email",
        '/pets?filter={"include":{"relation":"owner","scope":{"where":{"phone":"1"}}}}',
        '/pets?filter={"include":{"relation":"owner","scope":{"order":"phone"}}}',
        '/pets?filter={"include":{"relation":"owner","scope":{"fields":["phone"]}}}',
    ]

    assert (shown["phone"], "email" in shown) == ("1", False)
    assert included["owner"].items() >= {"id": 1, "name": "Ada"}.items()
    for nested in (included["owner"], logged_in["user"]):
        assert not {"email", "phone", "emailVerified", "created"} & nested.keys()
        assert nested["name"] == "Ada"
    assert {api("GET", path, token=token).status_code for path in refused} == {400}
    service = {"email": "robot@example.com"}
    created = api("POST", "/users/serviceAccounts", service, token=token).json
    [listed] = api("GET", "/users/serviceAccounts", token=token).json
    [member] = api("GET", "/admin/roles/admin/members", token=token).json
    assert created.items() >= listed.items() >= {"id": 2, "username": None}.items()
    assert member == {"id": 1, "username": None, "realm": None}
    assert "email" not in created


@pytest.mark.both_databases
def test_hidden_foreign_keys_and_times_are_used_and_never_leave(serve):
    shelf = {"name": "Shelf", "properties": {"name": "string"}, "acls": OPEN}
    relation = {"type": "belongsTo", "model": "Shelf", "foreignKey": "place"}
    note = {
        "name": "Note",
        "properties": {"text": "string", "place": "number"},
        "relations": {"owner": {"type": "belongsTo", "model": "user"}, "shelf": relation},
        "mixins": {"TimeStamp": True},
        "hidden": ["ownerId", "place", "createdAt", "updatedAt"],
        "acls": OWNED,
    }
    api = serve({"note": note, "shelf": shelf})
    ada, bob = api.logged_in(), api.logged_in("bob@example.com")
    api("POST", "/shelves", {"name": "A"}, token=ada)

    created = api("POST", "/notes", {"text": "a", "place": 1}, token=ada)

    assert created.json == {"id": 1, "text": "a"}
    assert api("GET", "/notes/1", token=ada).json == created.json
    assert api("PATCH", "/notes/1", {"text": "a"}, token=ada).json == created.json
    assert api("PUT", "/notes/1", {"text": "a", "place": 1}, token=ada).json == created.json
    assert api("GET", "/notes/1", token=bob).status_code == 404
    included = api("GET", "/notes?filter[include]=shelf&filter[include]=owner", token=ada).json[0]
    assert included["shelf"] == {"id": 1, "name": "A"}
    assert (included["owner"]["id"], "ownerId" in included) == (1, False)
    assert api("GET", "/notes/1/shelf", token=ada).json["name"] == "A"
    for name in note["hidden"]:
        for part in ({"where": {name: 1}}, {"order": name}, {"fields": [name]}):
            answer = api("GET", "/notes", token=ada, query_string={"filter": json.dumps(part)})
            assert refusal(answer) == (400, "INVALID_FILTER"), part
    schemas = api("GET", "/openapi.json").json["components"]["schemas"]
    assert schemas["Note"]["required"] == ["id", "text"]
    assert schemas["NoteWithRelations"]["properties"].keys() == {"id", "text", "owner", "shelf"}
    fields = schemas["NoteFilter"]["properties"]["fields"]["anyOf"][0]["items"]["enum"]
    assert not {*note["hidden"]} & {*fields, *schemas["NoteWhere"]["properties"]}
    named = api("POST", "/notes", {"text": "b", "ownerId": 1}, token=bob)
    assert field_codes(named) == {"ownerId": ["invalid"]}


@pytest.mark.parametrize(
    "hiding",
    [
        {"hidden": ["key", "pin"]},
        {"hidden": ["key"], "hiddenProperties": ["pin"]},
        {"options": {"hiddenProperties": {"key": True, "pin": True}}},
        {"hiddenProperties": ["pin"], "properties": {"key": {"hidden": True}}},
    ],
)
def test_an_id_may_be_hidden_and_properties_by_the_other_name_of_the_key(serve, hiding):
    key = {"type": "string", "id": True, **hiding.get("properties", {}).get("key", {})}
    note = {"name": "Note", **hiding, "properties": {"key": key, "pin": "string"}, "acls": OPEN}
    relation = {"type": "belongsTo", "model": "Note"}
    tag = {"name": "Tag", "relations": {"note": relation}, "acls": OPEN}
    api = serve({"note": note, "tag": tag})
    token = api.logged_in()

    def get(path, **filter):
        return api("GET", path, token=token, query_string={"filter": json.dumps(filter)})

    assert api("POST", "/notes", {"key": "k", "pin": "1"}, token=token).json == {}
    assert api("POST", "/notes", {"key": "j"}, token=token).json == {}
    api("POST", "/tags", {"noteId": "k"}, token=token)
    assert get("/notes").json == [{}, {}]
    assert get("/notes/k").json == {}
    assert get("/tags", include="note").json == [{"id": 1, "noteId": "k", "note": {}}]
    for part in ({"where": {"key": "k"}}, {"order": "key"}, {"fields": ["key"]}):
        assert refusal(get("/notes", **part)) == (400, "INVALID_FILTER"), part
    schemas = api("GET", "/openapi.json").json["components"]["schemas"]
    assert schemas["Note"]["properties"] == {}
    assert {"key", "pin"} == schemas["NewNote"]["properties"].keys()


def test_a_relation_whose_inclusion_is_disabled_is_served_and_not_included(serve):
    pets = {"type": "hasMany", "model": "Pet", "foreignKey": "keeperId"}
    keeper = {
        "name": "Keeper",
        "relations": {"pets": {**pets, "options": {"disableInclude": True}}, "friends": pets},
        "acls": OPEN,
    }
    api = serve({"keeper": keeper, "pet": {"name": "Pet", "acls": OPEN}})
    token = api.logged_in()
    api("POST", "/keepers", {}, token=token)
    api("POST", "/keepers/1/pets", {}, token=token)

    refused = api("GET", "/keepers?filter[include]=pets", token=token)
    pets = api("GET", "/keepers/1/pets", token=token).json
    included = api("GET", "/keepers/1?filter[include]=friends", token=token).json

    assert refused.status_code == 400
    assert refused.json["error"]["message"] == "There is no relation 'pets'; there are friends."
    assert included["friends"] == pets != []


@pytest.mark.both_databases
def test_hidden_relations_are_not_included_and_protected_ones_not_with_other_rows(serve):
    person = {
        "name": "Person",
        "base": "User",
        "plural": "users",
        "relations": {"pets": {"type": "hasMany", "model": "Pet"}},
        "hidden": ["pets", "todos"],
        "acls": OPEN,
    }
    pet = {
        "name": "Pet",
        "properties": {"name": "string"},
        "relations": {
            "person": {"type": "belongsTo", "model": "Person"},
            "toys": {"type": "hasMany", "model": "Toy"},
            "home": {"type": "embedsOne", "model": "Home", "property": "homeData"},
            "place": {"type": "embedsOne", "model": "Home", "property": "placeData"},
        },
        "hidden": ["toys"],
        "protected": ["person", "placeData"],
        "acls": OPEN,
    }
    toy = {
        "name": "Toy",
        "relations": {
            "pet": {"type": "belongsTo", "model": "Pet"},
            "maker": {"type": "belongsTo", "model": "Person"},
        },
        "acls": OPEN,
    }
    api = serve({"person": person, "pet": pet, "toy": toy})
    token = api.logged_in()
    api("POST", "/pets", {"personId": 1, "homeData": {}, "placeData": {}}, token=token)
    api("POST", "/toys", {"petId": 1, "makerId": 1}, token=token)

    def included(path, include):
        query = {"filter": json.dumps({"include": include})}
        return api("GET", path, token=token, query_string=query)

    refused = [
        included("/users/1", "pets"),
        included("/users/1", "todos"),
        included("/pets", ["home", "toys"]),
        included("/pets/1", {"relation": "toys", "scope": {"limit": 1}}),
        included("/toys", {"pet": "toys"}),
        included("/toys", {"pet": "person"}),
        included("/toys", {"pet": "place"}),
        included("/toys", {"maker": "pets"}),
    ]
    assert {refusal(answer) for answer in refused} == {(400, "INVALID_FILTER")}
    shown = included("/pets", ["person", "home", "place"]).json[0]
    assert shown.keys() >= {"person", "home", "place", "homeData", "placeData"}
    nested = included("/toys", {"pet": "home"}).json[0]["pet"]
    assert nested.keys() == {"id", "name", "personId", "homeData", "home"}
    assert api("GET", "/pets/1/toys", token=token).json[0]["id"] == 1
    body = {"toys": [{"id": 1}], "name": "Cat"}
    assert field_codes(api("PATCH", "/pets/1", body, token=token)) == {"toys": ["unknown"]}
    schemas = api("GET", "/openapi.json").json["components"]["schemas"]
    assert "toys" not in schemas["PetWithRelations"]["properties"]
    assert "toys" not in json.dumps(schemas["PetFilter"])


def test_hidden_properties_that_are_not_declared_are_not_kept(serve):
    note = {
        "name": "Note",
        # A name that the service might have use for.
        "properties": {"text": "string", "reserved": "boolean"},
        "strict": False,
        "hidden": ["pin"],
        "acls": OPEN,
    }
    api = serve({"note": note})
    token = api.logged_in()

    refused = api("POST", "/notes", {"text": "a", "pin": "1"}, token=token)
    assert field_codes(refused) == {"pin": ["unknown"]}
    refused = api("POST", "/notes", {"reserved": 7}, token=token)
    assert field_codes(refused) == {"reserved": ["invalid"]}
    created = api("POST", "/notes", {"reserved": True, "color": "red"}, token=token)
    assert created.json == {"id": 1, "text": None, "reserved": True, "color": "red"}


@pytest.mark.both_databases
def test_properties_that_are_not_declared_are_kept_if_strict_is_false(serve):
    note = {"name": "Note", "properties": {"text": "string"}, "strict": False, "acls": OPEN}
    api = serve({"note": note})
    token = api.logged_in()

    def send(method, path, body=None):
        return api(method, path, body, token=token)

    created = send("POST", "/notes", {"text": "a", "color": "red", "size": 3})
    assert created.json == {"id": 1, "text": "a", "color": "red", "size": 3}
    assert send("PATCH", "/notes/1", {"size": None, "x": [1]}).json == {
        "id": 1,
        "text": "a",
        "color": "red",
        "size": None,
        "x": [1],
    }
    assert send("GET", '/notes?filter={"where":{"color":"red"}}').json[0]["id"] == 1
    assert send("GET", '/notes?filter={"where":{"color":"blue"}}').json == []
    assert send("PUT", "/notes/1", {"others_": 1}).json == {"id": 1, "text": None, "others_": 1}
    assert field_codes(send("POST", "/notes/update?where={}", {"color": "x"})) == {
        "color": ["invalid"]
    }
    assert field_codes(send("PATCH", "/notes/1", {"y": "z" * 20_000})) == {"$others": ["invalid"]}
    shown = send("GET", "/openapi.json").json["components"]["schemas"]["Note"]
    assert (list(shown["properties"]), shown["additionalProperties"]) == (["id", "text"], True)
    assert send("POST", "/notes", [{"a": 1}, {"text": "b"}]).json == [
        {"id": 2, "text": None, "a": 1},
        {"id": 3, "text": "b"},
    ]


@pytest.mark.both_databases
def test_the_mixin_time_stamp_tells_when_a_row_was_created_and_changed(serve):
    note = {
        "name": "Note",
        "properties": {"text": "string"},
        "mixins": {"TimeStamp": {"updatedAt": "changed"}},
        "acls": OPEN,
    }
    api = serve({"note": note})
    token = api.logged_in()

    made = api("POST", "/notes", {"text": "a"}, token=token).json
    put_into_past(api.client.application, "note", "created_at", "changed")
    created = api("GET", "/notes/1", token=token).json
    changed = api("PATCH", "/notes/1", {**created, "text": "b"}, token=token).json

    assert datetime.fromisoformat(made["createdAt"])
    assert changed["createdAt"] == created["createdAt"]
    assert changed["changed"] > created["changed"]
    forged = api("PATCH", "/notes/1", {"createdAt": "2020-01-01"}, token=token)
    assert field_codes(forged) == {"createdAt": ["absence"]}


@pytest.mark.both_databases
def test_a_model_has_what_its_bases_declare(serve):
    base = {
        "name": "Base",
        "properties": {"a": {"type": "string", "default": "x"}, "b": "string"},
        "acls": [rule("$everyone", property="create")],
    }
    middle = {"name": "Middle", "base": "Base", "properties": {"b": False, "c": "number"}}
    note = {
        "name": "Note",
        "base": "Middle",
        "properties": {"c": {"type": "integer", "default": 1}},
        "acls": [rule("$everyone", property="find")],
    }
    config = {"Note": {"dataSource": "db"}}
    api = serve({"base": base, "middle": middle, "note": note}, config)

    assert api("POST", "/notes", {}).json == {"id": 1, "a": "x", "c": 1}
    assert api("GET", "/notes").json == [{"id": 1, "a": "x", "c": 1}]
    assert api("GET", "/notes/1").status_code == 401
    assert api("GET", "/middles").status_code == 404


def test_a_model_that_is_not_public_is_reached_by_relations_only(serve):
    shelf = {
        "name": "Shelf",
        "properties": {"name": "string"},
        "relations": {"books": {"type": "hasMany", "model": "Book"}},
        "acls": OPEN,
    }
    book = {"name": "Book", "properties": {"title": "string"}, "acls": OPEN}
    api = serve({"shelf": shelf, "book": book}, {"Shelf": {}, "Book": {"public": False}})
    token = api.logged_in()

    api("POST", "/shelves", {}, token=token)
    created = api("POST", "/shelves/1/books", {"title": "Emma"}, token=token)

    assert created.json == {"id": 1, "title": "Emma", "shelfId": 1}
    assert api("GET", "/books", token=token).status_code == 404
    assert "/books" not in api("GET", "/openapi.json").json["paths"]


@pytest.mark.both_databases
@pytest.mark.parametrize(
    ("declared", "given"),
    [
        ({"code": {"type": "string", "id": True}}, {"code": "B-1"}),
        ({"id": {"type": "uuid", "id": True}}, {}),
        ({"_id": {"type": "objectid", "id": True}}, {}),
        ({"id": {"type": "string", "id": True, "defaultFn": "guid"}}, {}),
    ],
)
def test_an_id_is_of_its_type_and_has_its_name(serve, declared, given):
    city = {
        "name": "City",
        "properties": declared,
        "relations": {"streets": {"type": "hasMany", "model": "Street"}},
        "acls": OPEN,
    }
    street = {"name": "Street", "properties": {"name": "string"}, "acls": OPEN}
    api = serve({"city": city, "street": street})
    token = api.logged_in()

    created = api("POST", "/cities", given, token=token).json
    [(name, key)] = created.items()
    other = "1" if key[-1] == "0" else "0"
    made = api("POST", "/streets", {"cityId": key}, token=token)

    assert name in declared
    assert isinstance(key, str)
    assert made.json["cityId"] == key
    assert api("GET", f"/cities/{key}/streets", token=token).json == [made.json]
    assert api("PUT", "/cities", created, token=token).json == created
    assert field_codes(api("POST", "/streets", {"cityId": key[:-1] + other}, token=token)) == {
        "cityId": ["invalid"]
    }


@pytest.mark.both_databases
def test_a_model_that_extends_user_is_the_users(serve):
    account = {
        "name": "Account",
        "base": "User",
        "properties": {
            "firstName": {"type": "string", "required": True},
            "pin": "string",
            "email": "string",
        },
        "hidden": ["pin"],
        "relations": {
            "company": {"type": "belongsTo", "model": "Company"},
            "notes": {"type": "hasMany", "model": "Note", "foreignKey": "userId"},
        },
        "acls": [
            rule("$owner", property=["__get__notes", "__get__company", "__create__notes"]),
        ],
    }
    note = {**NOTE, "relations": {"author": {"type": "belongsTo", "model": "Account"}}}
    note["relations"]["author"]["foreignKey"] = "userId"
    company = {"name": "Company", "properties": {"name": "string"}, "acls": OPEN}
    staff = {"type": "hasMany", "model": "Account", "foreignKey": "companyId"}
    company["relations"] = {"staff": staff}
    api = serve({"account": account, "note": note, "company": company})
    password = "correct horse battery"
    body = {"email": "ada@example.com", "password": password, "firstName": "Ada", "pin": "1"}

    created = api("POST", "/accounts", body)
    assert created.json["firstName"] == "Ada"
    assert "pin" not in created.json
    assert field_codes(api("POST", "/Accounts", {**body, "firstName": ""})) == {
        "firstName": ["presence"]
    }
    login = {"email": "ada@example.com", "password": password}
    token = api("POST", "/Accounts/login", login).json["id"]
    api.secrets.append(token)
    made = api("POST", "/companies", {"name": "Acme"}, token=token).json
    assert api("PATCH", "/accounts/1", {"companyId": 1}, token=token).json["companyId"] == 1
    assert api("GET", "/accounts/1/company", token=token).json == made
    assert field_codes(api("PATCH", "/accounts/1", {"companyId": 9}, token=token)) == {
        "companyId": ["invalid"]
    }
    note = api("POST", "/accounts/1/notes", {"text": "a"}, token=token).json
    assert note == {"id": 1, "text": "a", "userId": 1}
    assert api("GET", "/notes/1/author", token=token).json["firstName"] == "Ada"
    assert api("GET", "/users/1", token=token).status_code == 404
    assert hashing_views(api.client.application)["Companies.__create__staff"] == "password"
    create = api("GET", "/openapi.json").json["paths"]["/companies/{id}/staff"]["post"]
    assert "TOO_MANY_HASHES" in create["responses"]["503"]["$ref"]
    assert "TOO_MANY_REQUESTS" in create["responses"]["429"]["$ref"]


TWO = {"writer": "authorId", "reader": "readerId"}
OWNER_LAST = {"reader": "readerId", "owner": "ownerId"}


# The relations of a model, what it has besides, and the column of its owner.
OWNED_MODELS = [
    (TWO, {"owner": "reader"}, "readerId"),
    (TWO, {}, "authorId"),
    (TWO, {"acls": OPEN}, None),
    (OWNER_LAST, {}, "readerId"),
    (OWNER_LAST, {"owner": "owner"}, "ownerId"),
    ({"reader": "readerId"}, {}, "readerId"),
    ({"reader": "readerId"}, {"acls": OPEN}, "readerId"),
    # Names precede relations.
    ({}, {"properties": {"userId": "number"}}, "userId"),
    ({}, {"properties": {"owner": "number"}}, "owner"),
    ({"writer": "authorId", "reader": "userId"}, {}, "userId"),
    ({"reader": "readerId"}, {"properties": {"userId": "number"}}, None),
    ({"reader": "readerId"}, {"properties": {"owner": "string"}}, None),
    (TWO, {"ownerRelations": True}, "authorId"),
    (TWO, {"ownerRelations": ["reader"]}, "readerId"),
    (TWO, {"options": {"ownerRelations": ["nobody"]}}, None),
    (TWO, {"ownerRelations": []}, None),
    (
        {"writer": "authorId"},
        {"ownerRelations": True, "properties": {"userId": "number"}},
        "authorId",
    ),
]


@pytest.mark.both_databases
def test_the_owner_is_found_as_loopback_does(serve):
    def declare(name, relations, more):
        declared = {
            relation: {"type": "belongsTo", "model": "User", "foreignKey": key}
            for relation, key in relations.items()
        }
        return {"name": name, "acls": OWNED, **more, "relations": declared}

    names = [f"Note{number}" for number in range(len(OWNED_MODELS))]
    cases = dict(zip(names, OWNED_MODELS, strict=True))
    api = serve(
        {name: declare(name, relations, more) for name, (relations, more, _) in cases.items()}
    )
    token = api.logged_in()

    for name, (*_, column) in cases.items():
        created = api("POST", f"/{name}s", {}, token=token).json
        owners = [key for key, value in created.items() if value == 1 and key != "id"]
        assert owners == ([column] if column else []), cases[name]
