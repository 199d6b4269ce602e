"""Computed properties and rules: which rows count, and what a caller can find out by them."""

import json

import pytest

from app.database.session import db
from app.rest.collection import get_resource
from tests.support.rows import statements

from .library import OPEN, OWNED, rule
from .test_related_plans import plan_of

pytestmark = pytest.mark.both_databases

READ_BY_ALL = [rule("$everyone", accessType="READ"), rule("$authenticated")]
ROOM = {
    "name": "Room",
    "properties": {
        "name": "string",
        "all": {"computed": {"count": "notes"}},
        "mine": {"computed": {"count": "notes", "visibleToCaller": True}},
        "myStars": {"computed": {"sum": "notes.stars", "visibleToCaller": True}},
        "members": {"computed": {"count": "users"}},
    },
    "relations": {
        "notes": {"type": "hasMany", "model": "Note"},
        "users": {
            "type": "hasMany",
            "model": "user",
            "through": "Note",
            "foreignKey": "roomId",
            "keyThrough": "ownerId",
        },
    },
    "acls": READ_BY_ALL,
}
NOTE = {
    "name": "Note",
    "properties": {"stars": "integer", "secret": {"type": "integer", "hidden": True}},
    "relations": {
        "owner": {"type": "belongsTo", "model": "user", "foreignKey": "ownerId"},
        "room": {"type": "belongsTo", "model": "Room"},
    },
    "acls": OWNED,
}
HIDDEN = {"stars": 1000}


class House:
    """Calls of Ada, Bob, an admin and somebody without a token; all rows are in the first room."""

    def __init__(self, api):
        self.api = api
        self.tokens = {
            name: api.logged_in(f"{name}@example.com") for name in ("ada", "bob", "root")
        }
        self.tokens["nobody"] = None
        runner = api.client.application.test_cli_runner()
        runner.invoke(args=["roles", "grant", "root@example.com", "admin"])
        for _ in range(2):
            api("POST", "/rooms", {"name": "Hall"}, token=self.tokens["ada"])

    def note(self, name, **values):
        answer = self.api("POST", "/notes", {"roomId": 1, **values}, token=self.tokens[name])
        assert answer.status_code == 200
        return answer.json["id"]

    def ask(self, name, path, **parameters):
        query = {key: json.dumps(value) for key, value in parameters.items()}
        return self.api("GET", path, token=self.tokens[name], query_string=query)


@pytest.fixture
def house(serve):
    return House(serve({"room": ROOM, "note": NOTE}))


def test_rows_that_a_caller_may_not_read_count_only_if_all_do(house):
    house.note("ada", stars=2)
    house.note("bob", stars=5)
    house.note("bob", stars=6)

    shown = {name: house.ask(name, "/rooms/1").json for name in house.tokens}

    assert {name: room["all"] for name, room in shown.items()} == dict.fromkeys(shown, 3)
    assert {name: (room["mine"], room["myStars"]) for name, room in shown.items()} == {
        "ada": (1, 2),
        "bob": (2, 11),
        "root": (3, 13),
        "nobody": (0, None),
    }
    assert shown["nobody"]["members"] == 2


# Each shows, or uses, the values of rooms.
CALLS = [
    ("/rooms", {}),
    ("/rooms/1", {}),
    ("/rooms/1", {"filter": {"fields": ["mine", "myStars"]}}),
    ("/rooms/findOne", {}),
    ("/rooms", {"filter": {"where": {"mine": {"gt": 1}}}}),
    ("/rooms", {"filter": {"where": {"myStars": {"gt": 100}}}}),
    ("/rooms", {"filter": {"order": "myStars DESC"}}),
    ("/rooms", {"filter": {"order": ["mine", "id DESC"]}}),
    ("/rooms/count", {"where": {"myStars": {"neq": None}}}),
    ("/rooms/aggregate", {"filter": {"aggregate": {"n": {"sum": "mine"}}}}),
    ("/rooms/aggregate", {"filter": {"groupBy": "myStars"}}),
    ("/notes", {"filter": {"include": "room"}}),
    ("/notes", {"filter": {"where": {"room": {"mine": {"lt": 2}}}}}),
]


def test_a_row_that_a_caller_may_not_read_changes_no_answer(house):
    house.note("ada", stars=2)

    def answers():
        # Twice, as statements are kept for further calls; between calls of another user.
        found = []
        for path, parameters in CALLS:
            for name in ("ada", "bob", "ada", "ada"):
                answer = house.ask(name, path, **parameters)
                assert answer.status_code == 200, (path, answer.json)
                if name == "ada":
                    rooms = json.loads(answer.get_data())
                    found.append((path, str(parameters), _without_all(rooms)))
        return found

    before = answers()
    for _ in range(3):
        house.note("bob", **HIDDEN)

    assert answers() == before


def _without_all(value):
    """Return an answer without what counts all rows."""
    if isinstance(value, list):
        return list(map(_without_all, value))
    if not isinstance(value, dict):
        return value
    return {
        name: _without_all(inner) for name, inner in value.items() if name not in ("all", "members")
    }


def test_a_change_of_many_rows_chooses_them_by_what_the_caller_may_read(house):
    house.note("bob", **HIDDEN)
    path = '/rooms/update?where={"mine":{"gt":0}}'

    def changed(name):
        return house.api("POST", path, {"name": name}, token=house.tokens[name]).json

    assert changed("ada") == {"count": 0}
    assert changed("bob") == {"count": 1}


def test_a_caller_without_the_token_for_a_relation_reads_the_row_and_counts_nothing(serve):
    api = serve({"room": ROOM, "note": {**NOTE, "acls": [rule("clerk")]}})
    token = api.logged_in()
    room = api("POST", "/rooms", {"name": "Hall"}, token=token)
    with api.client.application.app_context():
        get_resource("Notes").insert([{"room_id": 1, "owner_id": 1}])

    assert (room.json["mine"], room.json["all"]) == (0, 0)
    shown = api("GET", "/rooms/1", token=token).json
    assert (shown["mine"], shown["myStars"], shown["all"]) == (0, None, 1)


def test_with_the_rules_of_the_parent_all_rows_of_a_relation_are_visible(serve):
    api = serve({"room": {**ROOM, "acls": OPEN}, "note": NOTE}, RELATION_PERMISSIONS="parent")
    ada, bob = api.logged_in("ada@example.com"), api.logged_in("bob@example.com")
    api("POST", "/rooms", {"name": "Hall"}, token=ada)
    api("POST", "/notes", {"roomId": 1}, token=bob)

    assert len(api("GET", "/rooms/1/notes", token=ada).json) == 1
    assert api("GET", "/rooms/1", token=ada).json["mine"] == 1


def test_a_declaration_may_use_hidden_properties_and_be_hidden_itself(serve):
    properties = {
        "secrets": {"computed": {"sum": "notes.secret", "where": {"secret": {"gt": 1}}}},
        "kept": {"computed": {"count": "notes"}, "hidden": True},
        "guarded": {"computed": {"count": "notes"}},
    }
    room = {**ROOM, "properties": properties, "protected": ["guarded"]}
    api = serve({"room": room, "note": {**NOTE, "acls": OPEN}})
    token = api.logged_in()
    api("POST", "/rooms", {}, token=token)
    for secret in (1, 2, 3):
        api("POST", "/notes", {"roomId": 1, "secret": secret}, token=token)

    assert api("GET", "/rooms/1", token=token).json == {"id": 1, "secrets": 5, "guarded": 3}
    included = api("GET", '/notes/1?filter={"include":"room"}', token=token).json
    assert included["room"] == {"id": 1, "secrets": 5}
    for path in ("/rooms", "/rooms/aggregate"):
        for filter_ in (
            {"where": {"kept": 3}},
            {"order": "kept"},
            {"fields": ["kept"]},
            {"groupBy": "kept"},
        ):
            answer = api("GET", path, token=token, query_string={"filter": json.dumps(filter_)})
            assert answer.status_code == 400
    related = {"filter": json.dumps({"where": {"room": {"guarded": 3}}})}
    assert api("GET", "/notes", token=token, query_string=related).status_code == 400


@pytest.mark.only_on("sqlite")
def test_rows_of_one_owner_are_found_by_the_parent(house):
    app = house.api.client.application
    house.note("ada")
    with statements(app) as sent:
        house.ask("ada", "/rooms", filter={"fields": ["mine"]})
    [statement] = [each for each in sent if "note AS" in each]

    with app.app_context(), db.engine.connect() as connection:
        plan = plan_of(connection, statement)

    # An index of owners may lead to all notes, for each room.
    assert any("note_room_id" in step for step in plan), plan
    assert not any("note_owner_id" in step for step in plan), plan
