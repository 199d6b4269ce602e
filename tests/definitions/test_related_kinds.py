"""Conditions on related rows of users, roles and links, and by the rules of a parent."""

import json

import pytest

from tests.support.answers import refusal
from tests.support.rows import make_admin

from . import test_relation_permissions, test_roles
from .library import OPEN, rule
from .sites import ask, belongs_to, has_many


def ids(response):
    assert response.status_code == 200, response.json
    return [row["id"] for row in response.json]


@pytest.mark.both_databases
def test_users_are_selected_by_their_roles_and_changed(serve):
    api = serve({"account": test_roles.USER})
    ada = api.logged_in()
    api.logged_in("bob@example.com")
    with api.client.application.app_context():
        make_admin(api.client.application)
        test_roles.grant(2, "clerk")

    def update(where):
        query = {"where": json.dumps(where)}
        return api("POST", "/users/update", {"username": None}, token=ada, query_string=query).json

    is_clerk = {"roles": {"some": {"name": "clerk"}}}
    for _ in range(3):
        assert ids(ask(api, "/users", ada, filter={"where": is_clerk})) == [2]
        assert ids(ask(api, "/users", ada, filter={"where": {"roles": {"none": {}}}})) == []
        mapped = {"roleMappings": {"every": {"principalId": 2}}}
        assert ids(ask(api, "/users", ada, filter={"where": mapped})) == [2]
    assert update(is_clerk) == {"count": 1}
    assert update({"roles": {"name": "nobody"}}) == {"count": 0}


@pytest.mark.both_databases
def test_rules_of_the_parent_decide_on_the_related_rows_that_count(serve):
    api = serve(test_relation_permissions.MODELS, RELATION_PERMISSIONS="parent")
    ada, bob = (api.logged_in(f"{name}@example.com") for name in ("ada", "bob"))
    for path, token, line in (
        ("/users/1/notes", ada, "x"),
        ("/users/2/notes", bob, "y"),
        ("/notes", ada, "gone"),
    ):
        note = api("POST", path, {"text": "a"}, token=token).json["id"]
        api("POST", f"/notes/{note}/lines", {"text": line}, token=token)

    def found(token, **where):
        return ids(ask(api, "/notes", token, filter={"where": where}))

    for _ in range(3):
        assert found(ada, lines={"text": "y"}) == [2]
        assert found(ada, lines={"none": {}}) == [3]
        # Users keep their own rules: those that an include leaves out do not count.
        shown = ask(api, "/notes", ada, filter={"include": "author"}).json
        authors = [note["id"] for note in shown if note.get("author")]
        assert found(ada, author={"exists": True}) == authors
    assert refusal(ask(api, "/notes", None, filter={"where": {"lines": {"some": {}}}})) == (
        401,
        "AUTHORIZATION_REQUIRED",
    )


def test_lenient_filters_take_relations_and_ignore_what_is_unknown(serve):
    models = {
        "author": {
            "name": "Author",
            "properties": {"name": "string"},
            "relations": {"books": has_many("Book", "aId")},
            "acls": OPEN,
        },
        "book": {
            "name": "Book",
            "scope": {"where": {"aId": {"neq": "9"}}},
            "relations": {"author": belongs_to("Author", "aId")},
            "acls": OPEN,
        },
    }
    api = serve(models, COMPATIBILITY="loopback3")
    token = api.logged_in()
    for name in ("Zoe", "Ann"):
        api("POST", "/authors", {"name": name}, token=token)
    for author in (1, 2):
        api("POST", "/books", {"aId": author}, token=token)

    assert ids(ask(api, "/books", token, filter={"where": {"author": {"name": "Ann"}}})) == [2]
    assert ids(ask(api, "/books", token, filter={"order": "author.name"})) == [2, 1]
    assert ids(ask(api, "/books", token, filter={"order": ["nothing.name", "id DESC"]})) == [2, 1]
    assert ids(ask(api, "/authors", token, filter={"where": {"books": {"exists": True}}})) == [1, 2]
    refused = ask(api, "/books", token, filter={"where": {"author": {"nothing": 1}}})
    assert refusal(refused) == (400, "INVALID_FILTER")


# Members of a room read it, and its other members, by a role that reads the table of members.
MEMBERS = """
from sqlalchemy import exists, select


def extend(member):
    table = member.model.__table__

    def fellow(user_id):
        own = table.alias()
        is_fellow = select(own.c.room_id).where(own.c.user_id == user_id)
        return member.model.room_id.in_(is_fellow)

    member.roles["fellow"] = fellow
"""
ROOMS = """
from sqlalchemy import exists


def extend(room):
    from app.rest.collection import get_resource

    member = get_resource("Members").model

    def occupant(user_id):
        return exists().where(member.room_id == room.model.id, member.user_id == user_id)

    room.roles["occupant"] = occupant
"""


@pytest.mark.both_databases
def test_a_dynamic_role_that_reads_the_same_table_limits_the_related_rows(serve):
    room = {
        "name": "Room",
        "properties": {"name": "string"},
        "relations": {
            "members": has_many("Member", "roomId"),
            "next": belongs_to("Room", "nextId"),
        },
        "acls": [rule("occupant", accessType="READ"), rule("admin")],
    }
    member = {
        "name": "Member",
        "properties": {"name": "string", "userId": "number"},
        "relations": {"room": belongs_to("Room", "roomId")},
        "acls": [rule("fellow", accessType="READ"), rule("admin")],
    }
    api = serve({"member": member, "room": room}, code={"member": MEMBERS, "room": ROOMS})
    ada, root = api.logged_in(), api.logged_in("root@example.com")
    make_admin(api.client.application, 2)
    for name, next_id in (("one", None), ("two", 1), ("three", 2), ("four", 1)):
        api("POST", "/rooms", {"name": name, "nextId": next_id}, token=root)
    for room_id, user_id, name in ((1, 1, "a"), (1, 3, "b"), (2, 3, "c"), (4, 1, "d")):
        values = {"roomId": room_id, "userId": user_id, "name": name}
        assert api("POST", "/members", values, token=root).status_code == 200

    def found(path, **where):
        return ids(ask(api, path, ada, filter={"where": where}))

    for _ in range(3):
        assert found("/rooms", members={"name": "b"}) == [1]
        assert found("/rooms", members={"every": {"name": {"neq": "b"}}}) == [4]
        assert found("/rooms", next={"name": "one"}) == [4]
        assert found("/rooms", next={"members": {"name": "b"}}) == [4]
        assert found("/members", room={"next": {"exists": True}}) == [4]
        assert found("/members", room={"members": {"some": {"name": "b"}}}) == [1, 2]
    ordered = ask(api, "/members", ada, filter={"order": ["room.next.name DESC", "id DESC"]})
    assert ids(ordered) == [4, 2, 1]


@pytest.mark.both_databases
@pytest.mark.parametrize("kind", [None, "uuid", "objectid", "string"])
def test_arrays_of_ids_and_polymorphic_keys_are_compared_with_ids(serve, kind):
    is_typed = {"idType": "string"} if kind else True
    place = {
        "name": "Place",
        "relations": {
            "images": {"type": "hasMany", "model": "Image", "polymorphic": "shown"},
            "tags": {"type": "referencesMany", "model": "Tag"},
        },
    }
    shown = {"type": "belongsTo", "polymorphic": is_typed}
    image = {"name": "Image", "relations": {"shown": shown}}
    tag = {"name": "Tag", "properties": {"name": "string"}}
    for model in (place, image, tag):
        id_ = {"id": {"type": kind, "id": True, "generated": True}} if kind else {}
        model |= {"properties": {**model.get("properties", {}), **id_}, "acls": OPEN}
    api = serve({"place": place, "image": image, "tag": tag})
    token = api.logged_in()

    def create(path, **values):
        response = api("POST", path, values, token=token)
        assert response.status_code == 200, response.json
        return response.json["id"]

    def found(**where):
        return {*ids(ask(api, "/places", token, filter={"where": where}))}

    one, other = (create("/tags", name=name) for name in "ab")
    unusual = [one, other, *([] if kind == "objectid" else ["x-7"])] if kind else [one, other]
    places = [create("/places", tagIds=given) for given in ([one], unusual, [], None)]
    create("/images", shownId=places[1], shownType="Place")

    for _ in range(3):
        assert found(tags={"name": "a"}) == {*places[:2]}
        assert found(tags={"name": "b"}) == {places[1]}
        assert found(tags={"exists": False}) == {*places[2:]}
        assert found(images={"exists": True}) == {places[1]}


@pytest.mark.both_databases
@pytest.mark.parametrize("kind", ["number", "uuid", "objectid", "string"])
def test_an_item_of_an_array_is_an_id_where_an_include_takes_it_for_one(serve, kind):
    tag = {"name": "Tag", "properties": {"id": {"type": kind, "id": True, "generated": True}}}
    place = {
        "name": "Place",
        "properties": {"tagIds": ["any"]},
        "relations": {"tags": {"type": "referencesMany", "model": "Tag"}},
    }
    api = serve({"tag": {**tag, "acls": OPEN}, "place": {**place, "acls": OPEN}})
    token = api.logged_in()
    tag_id = api("POST", "/tags", {}, token=token).json["id"]
    text = str(tag_id)
    for item in (tag_id, text, text.upper(), f"0{text}", f" {text}", f"{text}.0", 1.0, True, "1e0"):
        api("POST", "/places", {"tagIds": [item]}, token=token)

    shown = ask(api, "/places", token, filter={"include": "tags"}).json

    assert shown[0]["tags"] == [{"id": tag_id}]
    for exists in (True, False):
        found = ids(ask(api, "/places", token, filter={"where": {"tags": {"exists": exists}}}))
        assert found == [place["id"] for place in shown if bool(place["tags"]) == exists]
