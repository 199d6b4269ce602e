"""Polymorphic relations: to rows of several models, and from each of them back."""

import json
import re

import pytest
from openapi_spec_validator import validate
from sqlalchemy import inspect, text

from app.database.session import db
from tests.support.answers import field_codes, refusal
from tests.support.documents import blocks
from tests.support.races import at_once
from tests.support.rows import statements

from .library import OPEN, rule

KEYS = {"foreignKey": "subjectId", "discriminator": "subjectKind"}
REMARKS = {"type": "hasMany", "model": "Remark", "polymorphic": KEYS}
IMAGES = {"type": "hasMany", "model": "Image", "polymorphic": "imageable"}
PLACE = {
    "name": "Place",
    "properties": {"title": "string"},
    "relations": {
        "images": IMAGES,
        "remarks": REMARKS,
        "cover": {"type": "hasOne", "model": "Cover", "polymorphic": {"as": "coverable"}},
    },
    "acls": OPEN,
}
PERSON = {
    "name": "Person",
    "properties": {"name": "string"},
    "relations": {
        "images": IMAGES,
        "remarks": REMARKS,
        "owner": {"type": "belongsTo", "model": "User"},
    },
    "acls": [rule("$authenticated", property="create"), rule("$owner")],
}
IMAGE = {
    "name": "Image",
    "properties": {"url": "string"},
    "relations": {"imageable": {"type": "belongsTo", "polymorphic": True}},
    "acls": OPEN,
}
COVER = {
    "name": "Cover",
    "relations": {"coverable": {"type": "belongsTo", "polymorphic": True}},
    "acls": OPEN,
}
# Of a place or a person, or of another remark; and it is nothing without.
REMARK = {
    "name": "Remark",
    "properties": {
        "text": "string",
        "subjectId": {"type": "string", "required": True},
        "subjectKind": {"type": "string", "required": True},
    },
    "relations": {
        "subject": {"type": "belongsTo", "polymorphic": {**KEYS, "idType": "string"}},
        "remarks": REMARKS,
        "images": IMAGES,
    },
    "acls": OPEN,
}
GALLERY = {"place": PLACE, "person": PERSON, "image": IMAGE, "cover": COVER, "remark": REMARK}
OF_PLACE = {"imageableId": 1, "imageableType": "Place"}


@pytest.fixture
def gallery(serve):
    """Serve the gallery to Ada, with the places 1 and 2, and the person 1."""
    api = serve(GALLERY, COMPATIBILITY="loopback3")
    token = api.logged_in()

    def call(method, path, body=None, token=token):
        return api(method, path, body, token)

    call.api, call.token = api, token
    for title in ("Rome", "Oslo"):
        call("POST", "/Places", {"title": title})
    call("POST", "/People", {"name": "Ada"})
    return call


def included(gallery, path, include):
    return gallery("GET", f"{path}?filter={json.dumps({'include': include})}")


@pytest.mark.both_databases
def test_rows_are_created_listed_and_changed_by_the_relation(gallery):
    made = gallery("POST", "/Places/1/images", {"url": "a"}).json
    gallery("POST", "/People/1/images", {"url": "b"})
    gallery("POST", "/Images", {"url": "c", "imageableId": 1, "imageableType": "Place"})

    assert made == {"id": 1, "url": "a", **OF_PLACE}
    assert [row["url"] for row in gallery("GET", "/Places/1/images").json] == ["a", "c"]
    assert gallery("GET", "/Places/1/images/count").json == {"count": 2}
    assert gallery("GET", "/People/1/images").json[0]["imageableType"] == "Person"
    assert gallery("GET", "/Places/1/images/1").json == made
    assert gallery("PUT", "/Places/1/images/1", {"url": "A"}).json == {**made, "url": "A"}
    # Of a person with the same id.
    for method in ("GET", "PUT", "DELETE"):
        assert (
            gallery(method, "/Places/1/images/2", {} if method == "PUT" else None).status_code
            == 404
        )
    assert gallery("DELETE", "/Places/1/images/3").status_code == 204
    assert gallery("DELETE", "/Places/1/images").status_code == 204
    assert [row["url"] for row in gallery("GET", "/Images").json] == ["b"]
    wrong = gallery("POST", "/Places/1/images", {"imageableType": "Person"})
    assert field_codes(wrong) == {"imageableType": ["invalid"]}


@pytest.mark.both_databases
def test_a_row_leads_to_that_of_its_model(gallery):
    gallery("POST", "/Places/2/images", {})
    gallery("POST", "/People/1/images", {})
    gallery("POST", "/Images", {})
    gallery("POST", "/Images", {"imageableId": 1, "imageableType": "place"})

    found = [gallery("GET", f"/Images/{number}/imageable").json for number in (1, 2, 3, 4)]

    person = {"id": 1, "name": "Ada", "ownerId": 1}
    assert found == [{"id": 2, "title": "Oslo"}, person, {}, {"id": 1, "title": "Rome"}]


@pytest.mark.both_databases
def test_a_has_one_relation_has_its_row(gallery):
    assert gallery("POST", "/Places/1/cover", {}).json["coverableType"] == "Place"
    assert gallery("POST", "/Places/1/cover", {}).status_code == 409
    assert gallery("GET", "/Places/1/cover").json["coverableId"] == 1
    assert gallery("GET", "/Places/2/cover").status_code == 404
    assert gallery("GET", "/Covers/1/coverable").json["title"] == "Rome"
    assert included(gallery, "/Places", "cover").json[0]["cover"]["id"] == 1
    assert gallery("DELETE", "/Places/1/cover").status_code == 204


@pytest.mark.both_databases
def test_rows_of_several_models_are_included_by_a_query_for_each(gallery):
    for path in ("/Places/1", "/People/1", "/Places/2", "/Places/2"):
        gallery("POST", f"{path}/images", {})
    gallery("POST", "/Images", {})

    with statements(gallery.api.client.application) as sent:
        rows = included(gallery, "/Images", "imageable").json
    alike = {"relation": "imageable", "scope": {"fields": ["title", "name"]}}
    named = included(gallery, "/Images", alike).json
    where = {"relation": "imageable", "scope": {"where": {"title": "Oslo"}}}
    filtered = included(gallery, "/Images", where).json
    unknown = {"relation": "imageable", "scope": {"where": {"colour": "red"}}}

    found = [row.get("imageable", {}) for row in rows]
    assert [each.get("title", each.get("name")) for each in found] == [
        "Rome",
        "Ada",
        "Oslo",
        "Oslo",
        None,
    ]
    assert len([each for each in sent if "FROM place" in each or "FROM person" in each]) == 2
    assert [row.get("imageable") for row in named[:2]] == [{"title": "Rome"}, {"name": "Ada"}]
    assert ["imageable" in row for row in filtered] == [False, False, True, True, False]
    assert refusal(included(gallery, "/Images", unknown)) == (400, "INVALID_FILTER")
    back = included(gallery, "/Images", {"imageable": "images"}).json
    led = [[image["id"] for image in row["imageable"]["images"]] for row in back[:3]]
    assert led == [[1], [2], [3, 4]]
    again = included(gallery, "/Images", {"imageable": {"images": "imageable"}})
    assert "leads to several models" in again.json["message"]
    places = included(gallery, "/Places", ["images", "remarks"]).json
    assert [[image["id"] for image in place["images"]] for place in places] == [[1], [3, 4]]


@pytest.mark.both_databases
def test_two_requests_that_change_a_part_each_make_no_reference_of_both(gallery):
    # There are two places, and one person.
    gallery("POST", "/Images", OF_PLACE)
    headers = {"Authorization": gallery.token}

    def change(body):
        return lambda client: client.patch("/api/Images/1", json=body, headers=headers)

    for _ in range(10):
        at_once(
            gallery.api.client.application,
            change({"imageableId": 2}),
            change({"imageableType": "Person"}),
        )
        image = gallery("GET", "/Images/1").json
        assert (image["imageableId"], image["imageableType"]) in [(2, "Place"), (1, "Person")]
        gallery("PATCH", "/Images/1", OF_PLACE)


@pytest.mark.both_databases
def test_filters_know_both_properties(gallery):
    gallery("POST", "/Places/1/images", {})
    gallery("POST", "/People/1/images", {})

    found = gallery("GET", f"/Images?filter={json.dumps({'where': OF_PLACE})}").json

    assert [row["id"] for row in found] == [1]


@pytest.mark.both_databases
@pytest.mark.parametrize(
    ("given", "refused"),
    [
        ({"imageableId": 9, "imageableType": "Place"}, "imageableId"),
        ({"imageableId": 1, "imageableType": "Nothing"}, "imageableType"),
        ({"imageableId": 1}, "imageableType"),
        ({"imageableType": "Cover"}, "imageableType"),
        ({"imageableId": "x", "imageableType": "Place"}, "imageableId"),
    ],
)
def test_what_a_row_belongs_to_must_exist(gallery, given, refused):
    gallery("POST", "/Images", {})

    for method, path in (("POST", "/Images"), ("PATCH", "/Images/1"), ("PUT", "/Images/1")):
        assert field_codes(gallery(method, path, given)).keys() == {refused}
    many = gallery("POST", "/Images", [{}, given])
    assert field_codes(many).keys() in ({f"1.{refused}"}, {"1"})


@pytest.mark.both_databases
def test_a_change_is_checked_with_what_the_row_has(gallery):
    gallery("POST", "/Places/2/images", {})

    assert field_codes(gallery("PATCH", "/Images/1", {"imageableType": "Person"})) == {
        "imageableId": ["invalid"]
    }
    assert gallery("PATCH", "/Images/1", {"imageableId": 1}).json == {
        "id": 1,
        "url": None,
        **OF_PLACE,
    }
    assert gallery("PATCH", "/Images/1", {"imageableType": "Person"}).status_code == 200
    common = gallery("POST", '/Images/update?where={"id":1}', {"imageableId": 2})
    assert field_codes(common) == {"imageableType": ["invalid"]}
    both = {"imageableId": 2, "imageableType": "Place"}
    assert gallery("POST", '/Images/update?where={"id":1}', both).json == {"count": 1}
    assert gallery("PATCH", "/Images/1", {"imageableId": None}).status_code == 200


@pytest.mark.both_databases
def test_a_row_goes_with_what_it_belongs_to_if_it_must_have_that(gallery):
    gallery("POST", "/Places/1/images", {})
    gallery("POST", "/Places/2/images", {})
    gallery("POST", "/Places/1/remarks", {"text": "a"})
    gallery("POST", "/Places/2/remarks", {"text": "b"})
    # A remark on the first, one on that, and its image.
    gallery("POST", "/Remarks/1/remarks", {"text": "c"})
    gallery("POST", "/Remarks/3/remarks", {"text": "d"})
    gallery("POST", "/Remarks/4/images", {})

    assert gallery("DELETE", "/Places/1").status_code in (200, 204)

    assert [row["text"] for row in gallery("GET", "/Remarks").json] == ["b"]
    kept = [(row["imageableId"], row["imageableType"]) for row in gallery("GET", "/Images").json]
    assert kept == [(None, None), (2, "Place"), (None, None)]


@pytest.mark.both_databases
@pytest.mark.parametrize("way", ["request", "command"])
def test_rows_that_are_deleted_with_their_owner_are_followed(gallery, way):
    gallery("POST", "/People/1/remarks", {"text": "a"})
    gallery("POST", "/People/1/images", {})

    if way == "request":
        assert gallery("DELETE", "/users/1").status_code == 200
    else:
        runner = gallery.api.client.application.test_cli_runner()
        assert runner.invoke(args=["users", "delete", "ada@example.com", "--yes"]).exit_code == 0

    eve = gallery.api.logged_in("eve@example.com")
    assert gallery("GET", "/Remarks", token=eve).json == []
    [image] = gallery("GET", "/Images", token=eve).json
    assert (image["imageableId"], image["imageableType"]) == (None, None)


def chain(gallery, length):
    """Store a remark on a place, and each other one on the one before."""
    rows = [
        (number, str(number - 1 or 1), "Remark" if number > 1 else "Place")
        for number in range(1, length + 1)
    ]
    statement = "INSERT INTO remark (id, subject_id, subject_kind) VALUES (:id, :subject, :kind)"
    with gallery.api.client.application.app_context(), db.engine.begin() as connection:
        given = [dict(zip(("id", "subject", "kind"), row, strict=True)) for row in rows]
        connection.execute(text(statement), given)


def test_a_long_chain_of_rows_is_deleted_and_a_longer_one_refused(gallery, monkeypatch):
    chain(gallery, 500)
    monkeypatch.setattr("app.rest.rows.dependents.MAX_FOLLOWED", 50_000)
    refused = gallery("DELETE", "/Places/1")
    left = gallery("GET", "/Remarks/count").json
    monkeypatch.undo()
    deleted = gallery("DELETE", "/Places/1")

    assert refusal(refused) == (409, "TOO_MANY_DEPENDENTS")
    assert left == {"count": 500}
    assert deleted.status_code == 200
    assert gallery("GET", "/Remarks/count").json == {"count": 0}


@pytest.mark.both_databases
def test_a_row_in_a_circle_is_deleted_with_all_of_it(gallery):
    gallery("POST", "/Places/1/remarks", {"text": "a"})
    gallery("POST", "/Remarks/1/remarks", {"text": "b"})
    gallery("PATCH", "/Remarks/1", {"subjectId": 2, "subjectKind": "Remark"})

    assert gallery("DELETE", "/Remarks/1").json == {"count": 1}
    assert gallery("GET", "/Remarks").json == []


@pytest.mark.both_databases
def test_rows_that_the_caller_may_not_read_are_as_if_they_did_not_exist(gallery):
    gallery("POST", "/People/1/images", {})
    gallery("POST", "/Places/1/images", {})
    eve = gallery.api.logged_in("eve@example.com")

    def answers(person):
        given = {"imageableId": person, "imageableType": "Person"}
        calls = [
            ("POST", "/Images", given),
            ("PATCH", "/Images/2", given),
            ("GET", f"/People/{person}/images", None),
            ("POST", f"/People/{person}/images", {}),
            ("DELETE", f"/People/{person}/images/1", None),
        ]
        done = [gallery(*call, token=eve) for call in calls]
        return [
            (each.status_code, re.sub(rf"\b{person}\b", "ID", each.get_data(as_text=True)))
            for each in done
        ]

    assert answers(1) == answers(99)
    # As LoopBack 3 answers for a row that is gone.
    assert gallery("GET", "/Images/1/imageable", token=eve).json is None
    rows = gallery("GET", "/Images?filter[include]=imageable", token=eve).json
    assert ["imageable" in row for row in rows] == [False, True]


def test_the_document_has_each_model(gallery):
    document = gallery("GET", "/openapi.json").json

    validate(document)
    schemas = document["components"]["schemas"]
    names = [f"#/components/schemas/{name}WithRelations" for name in ("Person", "Place", "Remark")]
    expected = {"anyOf": [{"$ref": name} for name in names]}
    assert schemas["ImageWithRelations"]["properties"]["imageable"] == expected
    answer = document["paths"]["/images/{id}/imageable"]["get"]["responses"]["200"]
    assert answer["content"]["application/json"]["schema"] == expected


@pytest.mark.both_databases
def test_the_columns_have_an_index_together(gallery):
    with gallery.api.client.application.app_context():
        indexes = inspect(db.engine).get_indexes("image")

    assert [index["column_names"] for index in indexes] == [["imageable_id", "imageable_type"]]


@pytest.mark.both_databases
def test_ids_of_several_types_are_text(serve):
    named = {"name": {"type": "string", "id": True}}
    shelf = {"name": "Shelf", "properties": named, "relations": {"images": IMAGES}, "acls": OPEN}
    api = serve({"place": PLACE, "image": IMAGE, "shelf": shelf, "cover": COVER, "remark": REMARK})
    token = api.logged_in()
    api("POST", "/Places", {"title": "Rome"}, token)
    api("POST", "/Shelves", {"name": "1"}, token)

    made = api("POST", "/Places/1/images", {}, token).json
    api("POST", "/Shelves/1/images", {}, token)

    assert (made["imageableId"], made["imageableType"]) == ("1", "Place")
    assert [row["id"] for row in api("GET", "/Places/1/images", token=token).json] == [1]
    rows = api("GET", "/Images?filter[include]=imageable", token=token).json
    assert [row["imageable"].get("title") for row in rows] == ["Rome", None]
    assert [row["imageable"].get("name") for row in rows] == [None, "1"]
    [place] = api("GET", "/Places?filter[include]=images", token=token).json
    assert [row["id"] for row in place["images"]] == [1]
    api("DELETE", "/Places/1", token=token)
    assert [row["imageableId"] for row in api("GET", "/Images", token=token).json] == [None, "1"]


@pytest.mark.both_databases
def test_without_a_relation_back_a_row_may_belong_to_any_model_but_only_some_are_included(serve):
    models = {
        f"m{number}": {"name": f"M{number}", "acls": OPEN, "properties": {"a": "string"}}
        for number in range(11)
    }
    api = serve({"image": IMAGE, **models})
    token = api.logged_in()
    for number in range(11):
        api("POST", f"/M{number}s", {}, token)
        given = {"imageableId": 1, "imageableType": f"M{number}"}
        assert api("POST", "/Images", given, token).status_code == 200

    few = api("GET", "/Images?filter[include]=imageable&filter[limit]=10", token=token)
    many = api("GET", "/Images?filter[include]=imageable", token=token)

    assert all("imageable" in row for row in few.json)
    assert refusal(many) == (400, "INVALID_FILTER")
    own = {"imageableId": 1, "imageableType": "User"}
    assert api("POST", "/Images", own, token).status_code == 200


@pytest.mark.both_databases
def test_models_without_polymorphic_children_are_deleted_by_one_statement(gallery):
    with statements(gallery.api.client.application) as sent:
        gallery("DELETE", "/Images/1")

    assert not any("BEGIN" in each for each in sent)


@pytest.mark.both_databases
def test_the_models_in_python_of_the_document_work_as_printed(serve):
    [code] = blocks("docs/relations.md", "python", "Polymorphic relations")
    api = serve({}, code={"image": code})
    token = api.logged_in()
    api("POST", "/places", {"title": "Rome"}, token)

    image = api("POST", "/places/1/images", {"url": "a"}, token).json

    assert image == {"id": 1, "url": "a", "subjectId": 1, "subjectType": "Place"}
    assert api("GET", "/images/1/subject", token=token).json == {"id": 1, "title": "Rome"}
    unknown = {"url": "b", "subjectId": 9, "subjectType": "Place"}
    assert field_codes(api("POST", "/images", unknown, token)) == {"subjectId": ["invalid"]}
    api("DELETE", "/places/1", token=token)
    assert api("GET", "/images", token=token).json == []
