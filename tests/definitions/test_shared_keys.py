"""Foreign keys that relations of several models use, and keys between two models."""

import pytest

from app.definitions.reading import json_models
from tests.support.answers import field_codes

from .library import rule

EVERYONE = [rule("$everyone")]
# As in an application of the public: the key of a child is that of its mother or father, who may be
# in the table of members or in that of spouses.
MEMBER = {
    "name": "Member",
    "properties": {"name": "string"},
    "relations": {
        "spouse": {"type": "hasOne", "model": "Spouse", "foreignKey": "spouseId"},
        "children": {"type": "hasMany", "model": "Child", "foreignKey": "parentId"},
        "info": {"type": "hasOne", "model": "Info", "foreignKey": "memberId"},
    },
    "acls": EVERYONE,
}
FAMILY = {
    "child": {"name": "Child", "base": "Member"},
    "info": {
        "name": "Info",
        "properties": {"text": "string"},
        "relations": {"member": {"type": "belongsTo", "model": "Member", "foreignKey": "memberId"}},
        "acls": EVERYONE,
    },
    "member": MEMBER,
    "spouse": {"name": "Spouse", "base": "Member"},
}


def warnings(api):
    return json_models.of(api.client.application).problems.warnings


@pytest.mark.both_databases
def test_a_key_that_a_derived_model_inherits_has_the_ids_of_both(serve):
    api = serve(FAMILY)
    assert warnings(api) == []
    api("POST", "/members", {"name": "Ada"})
    for name in ("Bob", "Eve"):
        api("POST", "/spouses", {"name": name})

    kim = api("POST", "/members/1/children", {"name": "Kim"})
    tom = api("POST", "/spouses/2/children", {"name": "Tom"})

    assert (kim.json["parentId"], tom.json["parentId"]) == (1, 2)
    assert [each["name"] for each in api("GET", "/members/1/children").json] == ["Kim"]
    assert [each["name"] for each in api("GET", "/spouses/2/children").json] == ["Tom"]
    included = api("GET", "/spouses?filter[include]=children").json
    assert [len(each["children"]) for each in included] == [1, 1]
    assert api("POST", "/spouses/2/info", {"text": "a"}).json["memberId"] == 2
    assert api("GET", "/spouses/2/info").json["text"] == "a"
    # A key that a client names is that of the first model.
    assert api("PATCH", "/children/1", {"parentId": 1}).status_code == 200
    assert field_codes(api("PATCH", "/children/1", {"parentId": 2})) == {"parentId": ["invalid"]}
    assert api("DELETE", "/spouses/2").status_code == 200
    assert api("GET", "/children/2").json["parentId"] == 2


def test_a_key_of_models_that_have_no_base_in_common_is_that_of_one(serve):
    shelf = {"name": "Shelf", "acls": EVERYONE}
    box = {
        **shelf,
        "name": "Box",
        "relations": {"books": {"type": "hasMany", "model": "Book", "foreignKey": "placeId"}},
    }
    book = {
        **shelf,
        "name": "Book",
        "relations": {"shelf": {"type": "belongsTo", "model": "Shelf", "foreignKey": "placeId"}},
    }
    api = serve({"shelf": shelf, "box": box, "book": book})

    [warning] = warnings(api)
    assert warning.endswith(
        "relations.books: is not served: placeId of Book refers to another model"
    )


PATIENT, DOCTOR = ({"name": name, "acls": EVERYONE} for name in ("Patient", "Doctor"))
VISIT = {
    "name": "Visit",
    "relations": {
        "doctor": {"type": "belongsTo", "model": "Doctor", "foreignKey": "byId"},
        "patient": {"type": "belongsTo", "model": "Patient"},
    },
    "acls": EVERYONE,
}


@pytest.mark.parametrize(
    "given",
    [
        {"foreignKey": "byId"},
        {"foreignKey": "byId", "keyThrough": "patientId"},
        {},
        # The key of the other side, as it is often written.
        {"foreignKey": "patientId"},
        {"foreignKey": "patientId", "keyThrough": "byId"},
    ],
)
def test_keys_of_a_relation_through_a_model_are_those_of_its_own_relations(serve, given):
    relation = {"type": "hasMany", "model": "Patient", "through": "Visit", **given}
    models = {
        "doctor": {**DOCTOR, "relations": {"patients": relation}},
        "patient": PATIENT,
        "visit": VISIT,
    }
    api = serve(models)
    for path in ("/doctors", "/doctors", "/patients", "/patients", "/patients"):
        api("POST", path, {})

    assert api("PUT", "/doctors/2/patients/rel/3").status_code == 204
    [visit] = api("GET", "/visits").json
    assert (visit["byId"], visit["patientId"]) == (2, 3)
    assert api("GET", "/doctors/2/patients").json == [{"id": 3}]
    assert warnings(api) == []
