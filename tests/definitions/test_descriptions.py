"""The descriptions of models in JSON and of their properties, in the document."""

import pytest

from .library import rule

EVERYONE = [rule("$everyone")]


def test_the_document_has_the_descriptions_of_models_and_properties(serve):
    shift = {
        "name": "Shift",
        "description": ["A time at which", "volunteers work."],
        "properties": {
            "capacity": {"type": "number", "description": "The most volunteers."},
            "place": {"type": "string", "description": ["Where", "they meet."]},
            "note": "string",
        },
        "acls": EVERYONE,
    }
    document = serve({"shift": shift})("GET", "/openapi.json").json

    schema = document["components"]["schemas"]["Shift"]
    tags = {tag["name"]: tag["description"] for tag in document["tags"]}
    assert schema["description"] == tags["Shifts"] == "A time at which volunteers work."
    assert schema["properties"]["capacity"]["description"] == "The most volunteers."
    assert schema["properties"]["place"]["description"] == "Where they meet."
    assert "description" not in schema["properties"]["note"]


def test_a_model_without_description_is_described_by_its_plural(serve):
    shift = {"name": "Shift", "properties": {"note": "string"}, "acls": EVERYONE}
    document = serve({"shift": shift})("GET", "/openapi.json").json

    tags = {tag["name"]: tag["description"] for tag in document["tags"]}
    assert document["components"]["schemas"]["Shift"]["description"] == "A row of Shifts."
    assert tags["Shifts"] == "A row of Shifts."


@pytest.mark.parametrize("description", [7, {"text": "a"}, ["a", 7]])
def test_a_description_that_is_no_text_is_ignored_with_a_warning(serve, caplog, description):
    note = {"type": "string", "description": description}
    shift = {"name": "Shift", "description": description, "properties": {"note": note}}
    document = serve({"shift": {**shift, "acls": EVERYONE}})("GET", "/openapi.json").json

    schema = document["components"]["schemas"]["Shift"]
    assert schema["description"] == "A row of Shifts."
    assert "description" not in schema["properties"]["note"]
    said = "is ignored: it must be a text, or a list of texts"
    assert f"shift.json: description: {said}" in caplog.text
    assert f"shift.json: properties.note.description: {said}" in caplog.text


def test_the_document_has_defaults_that_are_the_same_for_all_rows(serve):
    shift = {
        "name": "Shift",
        "properties": {
            "places": {"type": "integer", "default": 7},
            "kind": {"type": "string", "default": "day"},
            "fee": {"type": "decimal", "precision": 8, "scale": 2, "default": "1.50"},
            "from": {"type": "dateonly", "default": "2026-01-02"},
            "made": {"type": "date", "defaultFn": "now"},
            "extra": {"type": "object", "default": {"a": 1}},
            "secret": {"type": "string", "default": "a secret word", "hidden": True},
        },
        "acls": EVERYONE,
    }
    api = serve({"shift": shift})

    document = api("GET", "/openapi.json")
    new = document.json["components"]["schemas"]["NewShift"]["properties"]
    shown = {
        name: property_["default"] for name, property_ in new.items() if "default" in property_
    }
    assert shown == {"places": 7, "kind": "day", "fee": "1.50", "from": "2026-01-02"}
    assert "a secret word" not in document.text
    created = api("POST", "/shifts", {}).json
    assert {name: created[name] for name in shown} == shown


def test_the_document_has_bounds_of_integers_that_were_declared_and_no_others(serve):
    places = {"type": "integer", "validates": {"min": 1, "max": 60}}
    shift = {"name": "Shift", "properties": {"places": places, "code": "integer"}}
    document = serve({"shift": {**shift, "acls": EVERYONE}})("GET", "/openapi.json").json

    properties = document["components"]["schemas"]["NewShift"]["properties"]
    assert properties["code"] == {"type": ["integer", "null"], "format": "int64"}
    assert (properties["places"]["minimum"], properties["places"]["maximum"]) == (1, 60)
