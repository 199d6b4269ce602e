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
