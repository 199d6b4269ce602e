"""What a model hides or protects is withheld where its objects are embedded in rows of others."""

import json

import pytest

from app.access.roles import grant
from app.rest.collection import served_collections
from tests.connector.conftest import http_server, server  # noqa: F401 fixtures
from tests.support.answers import field_codes, refusal
from tests.support.races import at_once

from .library import OPEN

# What no client ever sees, at any depth: each value has this in it.
SECRET = "k3y"
MODELS = {
    "place": {
        "name": "Place",
        "base": "Model",
        "properties": {"floor": "number", "safe": "string"},
    },
    "address": {
        "name": "Address",
        "base": "Model",
        "properties": {
            "city": "string",
            "doorCode": {"type": "string", "required": True},
            "pin": {"type": "string", "hidden": True},
            "place": {"type": "Place"},
        },
        "hidden": ["doorCode", "alarm"],
        "protected": ["owner"],
    },
    # It embeds itself, by a relation of its own.
    "reply": {
        "name": "Reply",
        "properties": {"id": {"type": "string", "id": True}, "text": "string", "token": "string"},
        "relations": {"replies": {"type": "embedsMany", "model": "Reply", "property": "inner"}},
        "hidden": ["token"],
        "acls": OPEN,
    },
    "person": {
        "name": "Person",
        "properties": {
            "name": "string",
            "work": {"type": "Address"},
            "flats": ["Address"],
            "meta": {"type": {"note": "string", "key": {"type": "string", "hidden": True}}},
            "place": {"type": "object"},
        },
        "relations": {
            "home": {"type": "embedsOne", "model": "address", "property": "homeAddress"},
            "replies": {"type": "embedsMany", "model": "Reply", "property": "replyList"},
            "at": {"type": "embedsOne", "model": "Place", "property": "place"},
            "pets": {"type": "hasMany", "model": "Pet"},
        },
        "acls": OPEN,
    },
    "pet": {
        "name": "Pet",
        "properties": {"name": "string"},
        "relations": {"person": {"type": "belongsTo", "model": "Person"}},
        "acls": OPEN,
    },
}
# Only the configuration hides it.
CONFIG = {
    name: {"dataSource": "db", "options": {"hidden": ["safe"]} if name == "Place" else {}}
    for name in ("Place", "Address", "Reply", "Person", "Pet")
}


def secret(name):
    return f"{SECRET}-{name}"


def address(city, **more):
    return {
        "city": city,
        "doorCode": secret(f"door-{city}"),
        "pin": secret("pin"),
        "alarm": {"code": secret("alarm")},
        "owner": secret("owner"),
        "place": {"floor": 1, "safe": secret("safe")},
        **more,
    }


def shown(city):
    return {"city": city, "place": {"floor": 1}}


ADA = {
    "name": "Ada",
    "homeAddress": address("Ulm"),
    "work": address("Bonn"),
    "flats": [address("Kiel"), address("Jena")],
    "replyList": [
        {
            "id": "a",
            "text": "A",
            "token": secret("a"),
            "inner": [{"id": "b", "text": "B", "token": secret("b")}],
        },
        {"id": "c", "text": "C", "token": secret("c")},
    ],
    "meta": {"note": "x", "key": secret("key")},
    "place": {"floor": 2, "safe": secret("safe")},
}
SEEN = {
    "id": 1,
    "name": "Ada",
    "homeAddress": shown("Ulm"),
    "work": shown("Bonn"),
    "flats": [shown("Kiel"), shown("Jena")],
    "replyList": [
        {"id": "a", "text": "A", "inner": [{"id": "b", "text": "B"}]},
        {"id": "c", "text": "C"},
    ],
    "meta": {"note": "x"},
    "place": {"floor": 2},
}


@pytest.fixture
def people(serve):
    api = serve(MODELS, CONFIG)
    token = api.logged_in()

    def call(verb, path="", body=None, filter=None, **options):
        query = {} if filter is None else {"query_string": {"filter": json.dumps(filter)}}
        return api(verb, f"/people{path}", body, token=token, **query, **options)

    call.api, call.token, call.app = api, token, api.client.application
    return call


def stored(people, name="People"):
    """Return the values of the first row as the database has them, by JSON name."""
    with people.app.app_context():
        collection = served_collections.of(people.app)[name]
        [row, *_] = collection.rows.find([], collection.parse({"order": "id"})).rows
        return {
            name: collection.rows.value(row, column.key)
            for name, column in collection.properties.items()
        }


@pytest.mark.both_databases
def test_what_is_hidden_in_embedded_objects_is_in_no_answer(people):
    created = people("POST", "", ADA)
    people.api("POST", "/pets", {"name": "Cat", "personId": 1}, token=people.token)
    include = ["home", "replies", "at"]
    included = {
        "home": SEEN["homeAddress"],
        "replies": SEEN["replyList"],
        "at": SEEN["place"],
    }

    assert stored(people) == {"id": 1, **ADA}
    assert created.json == SEEN
    assert people("GET", "").json == [SEEN]
    assert people("GET", "/1").json == SEEN
    assert people("GET", "/findOne").json == SEEN
    assert people("GET", "", filter={"fields": ["work"]}).json == [{"work": shown("Bonn")}]
    assert people("GET", "/1", filter={"fields": ["work"]}).json == {"work": shown("Bonn")}
    assert people("GET", "/1", filter={"include": include}).json == SEEN | included
    nested = {"include": {"relation": "person", "scope": {"include": include}}}
    pets = people.api("GET", f"/pets?filter={json.dumps(nested)}", token=people.token)
    assert pets.json[0]["person"] == SEEN | included
    assert people.api("GET", "/pets/1/person", token=people.token).json == SEEN
    assert people("POST", "", [ADA, ADA]).json == [{**SEEN, "id": 2}, {**SEEN, "id": 3}]
    assert people("PATCH", "/2", {"name": "Bob"}).json == {**SEEN, "id": 2, "name": "Bob"}
    assert people("PATCH", "", {"id": 2, "name": "B"}).json == {**SEEN, "id": 2, "name": "B"}


HIDDEN_PATHS = [
    "homeAddress.doorCode",
    "homeAddress.pin",
    "homeAddress.alarm",
    "homeAddress.alarm.code",
    "homeAddress.owner",
    "homeAddress.place.safe",
    "work.doorCode",
    "work.place.safe",
    "meta.key",
    "place.safe",
]


def test_what_is_hidden_in_embedded_objects_is_not_asked_for(people):
    people("POST", "", ADA)
    conditions = [SECRET, {"like": "k%"}, {"gt": "a"}, {"exists": True}, None, {"neq": None}]

    def get(path, **query):
        texts = {name: json.dumps(value) for name, value in query.items()}
        return people.api("GET", path, token=people.token, query_string=texts)

    for path in HIDDEN_PATHS:
        for condition in conditions:
            for where in ({path: condition}, {"or": [{"name": "x"}, {"and": [{path: condition}]}]}):
                answers = [
                    get("/people", filter={"where": where}),
                    get("/people/count", where=where),
                    people.api(
                        "POST",
                        "/people/update",
                        {"name": "x"},
                        token=people.token,
                        query_string={"where": json.dumps(where)},
                    ),
                ]
                assert {refusal(answer) for answer in answers} == {(400, "INVALID_FILTER")}, where
        scope = {"relation": "person", "scope": {"order": path}}
        for answer in (
            get("/people", filter={"order": f"{path} DESC"}),
            get("/people", filter={"order": ["name", path]}),
            get("/people", filter={"fields": [path]}),
            get("/pets", filter={"include": scope}),
            get("/people/findOne", filter={"where": {path: "x"}}),
        ):
            assert refusal(answer) == (400, "INVALID_FILTER"), path
    refused = get("/people", filter={"where": {"work.doorCode": "x"}}).json["message"]
    assert refused.startswith("There is no property 'work.doorCode'; there are id, name, work,")


@pytest.mark.both_databases
def test_what_is_not_hidden_in_embedded_objects_is_found(people):
    people("POST", "", ADA)

    for path, value in [("work.city", "Bonn"), ("homeAddress.place.floor", 1), ("meta.note", "x")]:
        found = people("GET", "", filter={"where": {path: value}, "order": path}).json
        assert found == [SEEN], path


def test_a_change_keeps_what_the_client_cannot_see(people):
    people("POST", "", ADA)

    for verb in ("PATCH", "PUT"):
        changed = people(verb, "/1", {**SEEN, "work": {**SEEN["work"], "street": "A 1"}})
        assert changed.json == {**SEEN, "work": {**shown("Bonn"), "street": "A 1"}}
        expected = {"id": 1, **ADA, "work": {**address("Bonn"), "street": "A 1"}}
        assert stored(people) == expected
        assert people(verb, "/1", SEEN).json == SEEN
        assert stored(people) == {"id": 1, **ADA}
    # What is changed, and what the client gives a value to.
    people("PATCH", "/1", {"work": {"city": "Trier", "doorCode": "9"}})
    kept = {name: address("Bonn")[name] for name in ("pin", "alarm", "owner")}
    assert stored(people)["work"] == {"city": "Trier", "doorCode": "9", **kept}
    people("PATCH", "/1", {"work": {}, "meta": {}})
    assert stored(people)["work"] == {"doorCode": "9", **kept}
    assert stored(people)["meta"] == {"key": secret("key")}
    people("PATCH", "/1", {"work": {"pin": None}})
    assert stored(people)["work"] == {**kept, "doorCode": "9", "pin": None}
    people("PATCH", "/1", {"work": None, "meta": None})
    assert people("PATCH", "/1", {"meta": {"note": "y"}}).json["meta"] == {"note": "y"}
    assert stored(people)["meta"] == {"note": "y"}
    # What a model requires is required of new objects.
    assert field_codes(people("PATCH", "/1", {"homeAddress": {"doorCode": ""}})) == {
        "homeAddress": ["invalid"]
    }
    assert field_codes(people("POST", "", {"homeAddress": {"city": "Ulm"}})) == {
        "homeAddress": ["invalid"]
    }


def test_objects_in_arrays_keep_what_the_client_cannot_see_of_the_same_object(people):
    people("POST", "", ADA)
    [first, second], [reply, last] = ADA["flats"], ADA["replyList"]

    # Without ids, they are those of which the client sees the same; others are new.
    people("PATCH", "/1", {"flats": [shown("Jena"), {"city": "Gera"}, shown("Jena")]})
    assert stored(people)["flats"] == [second, {"city": "Gera"}, shown("Jena")]
    people("PATCH", "/1", {"flats": [first, second, second]})
    people("PATCH", "/1", {"flats": [shown("Jena"), shown("Kiel"), shown("Jena")]})
    assert stored(people)["flats"] == [second, first, second]
    # With ids they may be changed and moved.
    changed = [{"id": "c", "text": "X"}, {"id": "a", "inner": [{"id": "b"}, {"id": "d"}]}]
    people("PUT", "/1", {"replyList": changed})
    assert stored(people)["replyList"] == [
        {"id": "c", "text": "X", "token": last["token"]},
        {
            "id": "a",
            "inner": [{"id": "b", "token": reply["inner"][0]["token"]}, {"id": "d"}],
            "token": reply["token"],
        },
    ]
    people("PATCH", "/1", {"replyList": [{"id": "z"}]})
    assert stored(people)["replyList"] == [{"id": "z"}]


@pytest.mark.both_databases
def test_a_change_by_a_relation_keeps_it_too(serve):
    relations = {"team": {"type": "belongsTo", "model": "Team"}}
    person = {**MODELS["person"], "relations": {**MODELS["person"]["relations"], **relations}}
    leads = {
        "people": {"type": "hasMany", "model": "Person"},
        "leader": {"type": "hasOne", "model": "Person"},
    }
    team = {"name": "Team", "relations": leads, "acls": OPEN}
    config = {**CONFIG, "Team": {"dataSource": "db"}}
    api = serve({**MODELS, "person": person, "team": team}, config)
    token = api.logged_in()
    api("POST", "/teams", {}, token=token)
    api("POST", "/teams/1/people", ADA, token=token)
    app = api.client.application

    for path in ("/teams/1/people/1", "/teams/1/leader"):
        changed = api("PUT", path, {"work": {"city": "Trier"}}, token=token)
        assert changed.json["work"] == {"city": "Trier"}
        with app.app_context():
            collection = served_collections.current["People"]
            row = collection.rows.get(1, [])
            assert row.work["doorCode"] == ADA["work"]["doorCode"]


@pytest.mark.both_databases
def test_an_upsert_keeps_it_too(people):
    people("POST", "", ADA)
    api, token = people.api, people.token
    where = {"query_string": {"where": '{"name":"Ada"}'}}

    for verb, path, options in [
        ("PATCH", "", {}),
        ("PUT", "", {}),
        ("POST", "/replaceOrCreate", {}),
        ("POST", "/1/replace", {}),
        ("POST", "/upsertWithWhere", where),
    ]:
        changed = api(verb, f"/people{path}", SEEN, token=token, **options)
        assert changed.json == SEEN, path
        assert stored(people) == {"id": 1, **ADA}, path


def test_many_rows_are_not_given_the_same_objects(people):
    people("POST", "", [ADA, ADA])

    def update(body):
        query = {"where": "{}"}
        return people.api("POST", "/people/update", body, token=people.token, query_string=query)

    for name in ("work", "flats", "homeAddress", "replyList", "meta"):
        refused = update({name: SEEN[name]})
        assert field_codes(refused) == {name: ["invalid"]}
    assert update({"name": "B", "work": None, "flats": []}).json == {"count": 2}
    assert stored(people) == {"id": 1, **ADA, "name": "B", "work": None, "flats": []}


def test_a_tag_tells_nothing_of_what_is_hidden_in_embedded_objects(people):
    people("POST", "", ADA)
    tag = people("GET", "/1").headers["ETag"]

    changed = people("PATCH", "/1", {"work": {**shown("Bonn"), "doorCode": "2"}})
    assert changed.headers["ETag"] == tag
    matched = people("PATCH", "/1", {"work": shown("Bonn")}, headers={"If-Match": tag})
    assert matched.json == SEEN
    assert stored(people)["work"]["doorCode"] == "2"


def test_a_client_does_not_guess_what_is_hidden_by_sending_it_back(people):
    people("POST", "", ADA)
    guess = {**SEEN["homeAddress"], "doorCode": ADA["homeAddress"]["doorCode"]}

    for home in (guess, {**guess, "doorCode": "wrong"}):
        assert field_codes(people("PATCH", "/1", {"home": home})) == {"home": ["unknown"]}
    assert people("PATCH", "/1", {"home": SEEN["homeAddress"], "name": "B"}).json["name"] == "B"


@pytest.mark.both_databases
def test_changes_at_the_same_time_do_not_undo_what_is_hidden(people):
    people("POST", "", ADA)
    headers = {"Authorization": people.token}

    def change(body):
        return lambda client: client.patch("/api/people/1", json=body, headers=headers)

    for number in range(5):
        code = str(number)
        answers = at_once(
            people.app,
            change({"work": {"city": "Bonn", "doorCode": code}}),
            change({"work": {"city": "Trier"}}),
        )
        assert {answer.status_code for answer in answers} <= {200, 409}
        if answers[0].status_code == 200:
            assert stored(people)["work"]["doorCode"] == code


def test_receivers_of_loaded_get_what_clients_see(serve):
    code = """
from ostiary.rules import READ

def extend(person):
    @person.loaded.connect
    def count(resource, event):
        event.values["seen"] = sorted(event.values["work"] or ())
        event.values["known"] = len(event.row.work or ())

    @person.before_save.connect
    def name(resource, event):
        event.values["name"] = (event.values.get("work") or {}).get("doorCode")

    @person.endpoint("first", READ, "GET /<id>/first", answer=person.schema)
    def first(row):
        return row
"""
    api = serve(MODELS, CONFIG, {"person": code})
    token = api.logged_in()
    created = api("POST", "/people", ADA, token=token).json

    assert created == {**SEEN, "name": secret("door-Bonn"), "seen": ["city", "place"], "known": 6}
    assert api("GET", "/people/1/first", token=token).json == created
    # What a hook leaves is stored whole.
    changed = api("PATCH", "/people/1", {"work": shown("Bonn")}, token=token).json
    assert changed == created


def test_an_own_endpoint_of_another_model_shows_of_a_row_what_clients_see(serve):
    code = """
from ostiary.resources import get_resource
from ostiary.rules import READ

def extend(pet):
    people = get_resource("People")

    @pet.endpoint("person", READ, "GET /<id>/first", answer=people.schema)
    def person(row):
        return people.update([people.model.id == row.person_id], {"name": "A"})[0]

    @pet.endpoint("people", READ, "GET /all", answer=[people.schema])
    def all():
        return people.update([people.model.id > 0], {"name": "A"})
"""
    api = serve(MODELS, CONFIG, {"pet": code})
    token = api.logged_in()
    api("POST", "/people", ADA, token=token)
    api("POST", "/pets", {"personId": 1}, token=token)

    assert api("GET", "/pets/1/first", token=token).json == {**SEEN, "name": "A"}
    assert api("GET", "/pets/all", token=token).json == [{**SEEN, "name": "A"}]


@pytest.mark.both_databases
def test_users_who_embed_objects_show_of_them_what_clients_see(serve):
    account = {
        "name": "Account",
        "base": "User",
        "plural": "users",
        "properties": {"work": {"type": "Address"}},
        "relations": {"home": {"type": "embedsOne", "model": "Address", "property": "homeAddress"}},
        "acls": [],
    }
    models = {"place": MODELS["place"], "address": MODELS["address"], "account": account}
    settings = {"USER_PROPERTIES": {"flat": {"type": "Address"}}}
    config = {name: CONFIG[name] for name in ("Place", "Address")}
    api = serve(models, {**config, "Account": {"dataSource": "db"}}, **settings)
    names = ("work", "homeAddress", "flat")
    given = {name: address("Ulm") for name in names}
    api.newcomer(**given)
    logged_in = api(
        "POST",
        "/users/login?include=user",
        {"email": "ada@example.com", "password": "correct horse battery"},
    ).json
    api.secrets.append(logged_in["id"])
    token = logged_in["id"]
    with api.client.application.app_context():
        grant(1, "admin")

    own = api("GET", "/users/1", token=token).json
    listed = api("GET", "/admin/users", token=token).json[0]
    detailed = api("GET", "/admin/users/1", token=token).json
    for answer in (logged_in["user"], own, listed, detailed):
        assert {name: answer[name] for name in names} == dict.fromkeys(names, shown("Ulm"))
    for name in names:
        for path in ("/users", "/admin/users"):
            filter_ = json.dumps({"where": {f"{name}.pin": {"like": "k%"}}})
            answer = api("GET", path, token=token, query_string={"filter": filter_})
            assert refusal(answer) == (400, "INVALID_FILTER")
        changed = api("PATCH", "/users/1", {name: {**shown("Ulm"), "x": 1}}, token=token).json
        assert changed[name] == {**shown("Ulm"), "x": 1}
    with api.client.application.app_context():
        collection = served_collections.current["users"]
        [row] = collection.rows.find([], collection.parse(None)).rows
    assert row.work == row.home_address == row.flat == {**address("Ulm"), "x": 1}


@pytest.mark.both_databases
def test_an_embedded_model_in_python_or_of_users_hides_what_it_does_itself(serve):
    note = """
from sqlalchemy.orm import Mapped, mapped_column
from ostiary import fields
from ostiary.columns import Id, RowId
from ostiary.database import Model
from ostiary.resources import Resource
from ostiary.rules import AUTHENTICATED, allow

class Note(Model):
    __tablename__ = "embedded_notes"
    id: Mapped[Id] = mapped_column(RowId, primary_key=True)
    text: Mapped[str]
    secret: Mapped[str]

class NoteSchema(fields.Schema):
    id = fields.Id(dump_only=True)
    text = fields.Text(10)
    secret = fields.Text(10, load_only=True)

notes = Resource(
    name="notes",
    singular="note",
    model=Note,
    schema=NoteSchema,
    rules=lambda settings: [allow(AUTHENTICATED)],
)
"""
    page = {
        "name": "Page",
        "properties": {"note": {"type": "Note"}, "by": {"type": "User"}},
        "relations": {"notes": {"type": "embedsMany", "model": "Note", "property": "noteList"}},
        "acls": OPEN,
    }
    api = serve({"page": page}, code={"note": note})
    token = api.logged_in()
    held = {"text": "a", "secret": SECRET}
    user = {"email": "a", "password": SECRET, "verificationToken": SECRET}

    created = api("POST", "/pages", {"note": held, "noteList": [held], "by": user}, token=token)

    assert created.json == {
        "id": 1,
        "note": {"text": "a"},
        "noteList": [{"text": "a"}],
        "by": {"email": "a"},
    }


def test_what_an_included_row_protects_is_not_included_by_the_name_of_a_relation(serve):
    person = {**MODELS["person"], "protected": ["homeAddress"]}
    api = serve({**MODELS, "person": person}, CONFIG)
    token = api.logged_in()
    api("POST", "/people", ADA, token=token)
    api("POST", "/pets", {"personId": 1}, token=token)

    def pets(include):
        scope = {"relation": "person", "scope": {"include": include}}
        query = {"filter": json.dumps({"include": scope})}
        return api("GET", "/pets", token=token, query_string=query)

    assert api("GET", "/people?filter[include]=home", token=token).json[0]["home"] == shown("Ulm")
    assert "homeAddress" not in pets([]).json[0]["person"]
    refused = pets("home")
    assert refusal(refused) == (400, "INVALID_FILTER")
    assert refused.json["message"] == (
        "include.person.home is not shown where its row is included."
    )


def test_the_document_tells_nothing_of_what_is_hidden(serve):
    home = MODELS["person"]["relations"]["home"]
    properties = {
        "pin": {"type": "string", "hidden": True, "default": secret("pin")},
        "work": {"type": "Address", "default": address("Bonn")},
    }
    relations = {"home": {**home, "default": address("Ulm")}}
    person = {**MODELS["person"], "properties": properties, "relations": relations}
    api = serve({**MODELS, "person": person}, CONFIG)

    assert SECRET not in api("GET", "/openapi.json").text
    token = api.logged_in()
    assert api("POST", "/people", {}, token=token).json["homeAddress"] == shown("Ulm")


def test_the_rows_of_a_data_source_show_of_embedded_objects_what_clients_see(
    serve,
    server,  # noqa: F811
):
    rows = {1: {"id": 1, **ADA, "extra": {"city": "x"}, "$others": 5}}

    def answer(handler):
        body = json.loads(handler.content or b"null")
        if handler.command == "GET":
            one = handler.path.partition("?")[0].endswith("/1")
            handler.reply(rows[1] if one else list(rows.values()))
        else:
            rows[1].update(body)
            handler.reply(rows[1])

    server.routes["people"] = answer
    sources = {"desk": {"connector": "rest", "baseURL": server.url}}
    person = {
        **MODELS["person"],
        "resourceName": "people",
        "strict": False,
        "properties": {
            name: property_
            for name, property_ in MODELS["person"]["properties"].items()
            # As an embedded object that only a relation declares.
            if name != "place"
        },
    }
    config = {**CONFIG, "Person": {"dataSource": "desk"}}
    del config["Pet"]
    api = serve({**MODELS, "person": person}, config, DATA_SOURCES=sources)
    token = api.logged_in()
    shown_row = {**SEEN, "extra": {"city": "x"}, "$others": 5}

    assert api("GET", "/people", token=token).json == [shown_row]
    assert api("GET", "/people/1", token=token).json == shown_row
    seen = len(server.seen)
    for path in HIDDEN_PATHS:
        for part in ({"where": {path: {"like": "k%"}}}, {"order": path}):
            query = {"filter": json.dumps(part)}
            refused = api("GET", "/people", token=token, query_string=query)
            assert refusal(refused) == (400, "INVALID_FILTER"), part
    assert len(server.seen) == seen
    body = {"work": {**shown("Bonn"), "x": 1}}
    assert api("PATCH", "/people/1", body, token=token).json["work"] == body["work"]
    assert server.seen[-1]["json"]["work"] == {**address("Bonn"), "x": 1}
