"""Declarations of computed properties: what is refused at the start, and with which others."""

import json

import pytest

from app.problems import ConfigurationError
from app.rest.collection import get_resource

from .library import OPEN

NOTE = {
    "name": "Note",
    "properties": {
        "text": "string",
        "stars": "integer",
        "kind": {"type": "uuid"},
        "tags": ["string"],
        "lines": {"computed": {"count": "rooms"}},
    },
    "relations": {
        "room": {"type": "belongsTo", "model": "Room"},
        "about": {"type": "belongsTo", "polymorphic": True},
        "rooms": {"type": "hasMany", "model": "Room", "foreignKey": "noteId"},
    },
    "acls": OPEN,
}
RELATIONS = {
    "notes": {"type": "hasMany", "model": "Note"},
    "favourites": {"type": "referencesMany", "model": "Note"},
    "owner": {"type": "belongsTo", "model": "user"},
}


def room(**properties):
    return {
        "name": "Room",
        "properties": {"name": "string", **properties},
        "relations": RELATIONS,
        "acls": OPEN,
    }


def computed(more=None, **declared):
    return {"value": {"computed": declared, **(more or {})}}


REFUSED = {
    "properties.value.computed: must be an object with one of count, sum, min, max": [
        computed(),
        computed(where={}),
        computed(count="notes", sum="notes.stars"),
        computed(avg="notes.stars"),
        {"value": {"computed": "notes"}},
        {"value": {"computed": None}},
    ],
    "computed.count: must be the name of a relation": [
        computed(count="notes.stars"),
        computed(count=""),
        computed(count=1),
        computed(count=["notes"]),
    ],
    "computed.sum: must be a relation and a property of its rows, as in signUps.hours": [
        computed(sum="notes"),
        computed(sum=".stars"),
        computed(sum=None),
    ],
    "computed.count: there is no relation 'nots'; did you mean 'notes'?": [computed(count="nots")],
    "computed.count: favourites leads to rows of several models": [computed(count="favourites")],
    "computed.sum: the rows of notes have no property 'star'; did you mean 'stars'?": [
        computed(sum="notes.star")
    ],
    "computed.sum: the rows of notes have no property 'room.name'": [
        computed(sum="notes.room.name")
    ],
    "computed.sum: there is no sum of text; there is count and min and max": [
        computed(sum="notes.text")
    ],
    "computed.min: there is no min of kind; there is count": [computed(min="notes.kind")],
    "computed.max: there is no max of tags; there is count": [computed(max="notes.tags")],
    "computed.max: lines is computed itself; functions are of stored properties": [
        computed(max="notes.lines")
    ],
    "computed.max: the rows of owner have no property 'password'": [computed(max="owner.password")],
    "computed.where: There is no property 'star'": [computed(count="notes", where={"star": 1})],
    "computed.where: There is no property 'room'": [
        computed(count="notes", where={"room": {"name": "x"}})
    ],
    "computed.where: stars.eq must be a whole number": [
        computed(count="notes", where={"stars": "x"})
    ],
    "computed.where: must be an object": [computed(count="notes", where=["stars"])],
    "computed.visibleToCaller: must be true or false": [
        computed(count="notes", visibleToCaller="yes")
    ],
    "computed.visibleToCalle: there is no such key; did you mean 'visibleToCaller'?": [
        computed(count="notes", visibleToCalle=True)
    ],
    "properties.value.required: a computed property has none: no value is stored": [
        computed({"required": True}, count="notes")
    ],
    "properties.value.type: a computed property has none: no value is stored": [
        computed({"type": "number"}, count="notes")
    ],
    "properties.value.hiden: there is no such key; did you mean 'hidden'?": [
        computed({"hiden": True}, count="notes")
    ],
    "properties.Name: its name is that of name too": [{"Name": {"computed": {"count": "notes"}}}],
    "properties.or: a name has": [{"or": {"computed": {"count": "notes"}}}],
}


@pytest.mark.parametrize("message", REFUSED)
def test_a_declaration_that_cannot_be_used_is_refused_with_its_place(serve, message):
    for properties in REFUSED[message]:
        with pytest.raises(ConfigurationError) as refused:
            serve({"room": room(**properties), "note": NOTE})

        assert message in str(refused.value)


def test_users_and_rows_elsewhere_have_no_computed_properties(serve):
    user = {
        "name": "Person",
        "base": "User",
        "properties": {"n": {"computed": {"count": "notes"}}},
        "relations": {"notes": {"type": "hasMany", "model": "Note", "foreignKey": "roomId"}},
    }

    with pytest.raises(ConfigurationError, match="computed: is not possible: users have none"):
        serve({"person": user, "note": NOTE, "room": room()})


@pytest.mark.parametrize(
    ("scope", "problem"),
    [
        ({"where": {"value": 1}}, "value is a computed property; default filters and scopes use"),
        ({"order": "value"}, "There is no property 'value'"),
    ],
)
def test_default_filters_neither_select_nor_order_by_computed_properties(serve, scope, problem):
    with pytest.raises(ConfigurationError, match=problem):
        serve({"room": {**room(**computed(count="notes")), "scope": scope}, "note": NOTE})


def test_default_filters_and_scopes_may_have_computed_fields(serve):
    fields = {"fields": ["name", "value"]}
    note = {
        **NOTE,
        "relations": {**NOTE["relations"], "room": {**NOTE["relations"]["room"], "scope": fields}},
    }
    api = serve({"room": {**room(**computed(count="notes")), "scope": fields}, "note": note})
    token = api.logged_in()
    api("POST", "/rooms", {"name": "Hall"}, token=token)
    api("POST", "/notes", {"roomId": 1}, token=token)

    assert api("GET", "/rooms/1", token=token).json == {"name": "Hall", "value": 1}
    assert api("GET", "/notes/1/room", token=token).json == {"name": "Hall", "value": 1}
    path = '/notes?filter={"where":{"room":{"value":1}},"fields":["id"]}'
    assert api("GET", path, token=token).json == [{"id": 1}]


def test_a_base_gives_computed_properties_to_models_that_extend_it(serve):
    cellar = {
        "name": "Cellar",
        "base": "Room",
        "relations": {"notes": {**RELATIONS["notes"], "foreignKey": "cellarId"}},
    }
    api = serve({"room": room(**computed(count="notes")), "cellar": cellar, "note": NOTE})
    token = api.logged_in()
    api("POST", "/cellars", {}, token=token)
    api("POST", "/notes", {"cellarId": 1}, token=token)

    assert api("GET", "/cellars/1", token=token).json["value"] == 1


@pytest.mark.both_databases
@pytest.mark.parametrize("id_type", [None, "uuid", "objectid"])
def test_computed_properties_work_with_every_kind_of_ids_and_undeclared_properties(serve, id_type):
    properties = {
        **computed(count="notes", where={"text": {"inq": ["a", "b"]}}),
        "last": {"computed": {"max": "notes.text"}},
        **({"id": {"type": id_type, "id": True}} if id_type else {}),
    }
    api = serve({"room": {**room(**properties), "strict": False}, "note": NOTE})
    token = api.logged_in()
    room_id = api("POST", "/rooms", {"name": "Hall", "more": 1}, token=token).json["id"]
    for text in ("a", "b", "c"):
        api("POST", "/notes", {"roomId": room_id, "text": text}, token=token)

    for _ in range(3):
        shown = api("GET", f"/rooms/{room_id}", token=token).json
        assert (shown["value"], shown["last"], shown["more"]) == (2, "c", 1)
        listed = api("GET", "/rooms", token=token).json
        assert listed == [shown]
    changed = api("PATCH", f"/rooms/{room_id}", {"more": 2}, token=token).json
    assert changed == {**shown, "more": 2}


def test_each_row_counts_once_however_many_links_lead_to_it(serve):
    link = {
        "name": "Link",
        "relations": {
            "room": {"type": "belongsTo", "model": "Room"},
            "note": {"type": "belongsTo", "model": "Note"},
        },
        "acls": OPEN,
    }
    linked = {**room(**computed(sum="notes.stars"))}
    linked["relations"] = {"notes": {"type": "hasMany", "model": "Note", "through": "Link"}}
    api = serve({"room": linked, "note": NOTE, "link": link})
    token = api.logged_in()
    api("POST", "/rooms", {}, token=token)
    api("POST", "/notes", {"stars": 4}, token=token)
    for _ in range(2):
        api("POST", "/links", {"roomId": 1, "noteId": 1}, token=token)

    assert api("GET", "/rooms/1", token=token).json["value"] == 4


CODE = """
from ostiary.resources import get_resource


def extend(rooms):
    @rooms.after_save.connect
    def add_note(resource, event):
        event.row.value + 1
        get_resource("Notes").insert([{"room_id": event.row.id}])

    @rooms.loaded.connect
    def double(resource, event):
        event.values["twice"] = 2 * event.values["value"]
"""


def test_hooks_see_computed_properties_and_the_answer_has_what_they_leave(serve):
    api = serve({"room": room(**computed(count="notes")), "note": NOTE}, code={"room": CODE})
    token = api.logged_in()

    created = api("POST", "/rooms", {"name": "Hall"}, token=token)
    assert (created.json["value"], created.json["twice"]) == (1, 2)
    changed = api("PATCH", "/rooms/1", {"name": "Room"}, token=token)
    assert (changed.json["value"], changed.json["twice"]) == (2, 4)
    assert changed.headers["ETag"] == api("GET", "/rooms/1", token=token).headers["ETag"]


def test_application_code_gets_computed_properties(serve):
    api = serve({"room": room(**computed(count="notes")), "note": NOTE})
    with api.client.application.app_context():
        rooms, notes = get_resource("Rooms"), get_resource("Notes")
        [created] = rooms.insert([{"name": "Hall"}])
        notes.insert([{"room_id": created.id}])
        [changed] = rooms.update([rooms.model.id == created.id], {"name": "Room"})

    assert (created.value, changed.value, changed.name) == (0, 1, "Room")


def test_compatible_clients_may_send_everything_back(serve):
    api = serve({"room": room(**computed(count="notes")), "note": NOTE}, COMPATIBILITY="loopback3")
    token = api.logged_in()

    created = api("POST", "/Rooms", {"name": "Hall", "value": 7}, token=token)
    changed = api("PUT", "/Rooms/1", {**created.json, "value": 8}, token=token)

    assert (created.status_code, created.json["value"]) == (200, 0)
    assert (changed.status_code, changed.json["value"]) == (200, 0)


def test_what_a_filter_compares_is_checked_like_other_numbers(serve):
    api = serve({"room": room(**computed(count="notes")), "note": NOTE})
    token = api.logged_in()

    for condition in ({"value": "x"}, {"value": 2**70}, {"value": {"like": "1%"}}):
        path = f"/rooms?filter={json.dumps({'where': condition})}"
        assert api("GET", path, token=token).status_code == 400
