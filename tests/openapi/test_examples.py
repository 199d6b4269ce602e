"""Every example of the document is valid by the schema it stands beside."""

import json

import pytest
from jsonschema import Draft202012Validator
from referencing import Registry
from referencing.jsonschema import DRAFT202012

from .library import library


@pytest.fixture(params=["default", "loopback3", "library"])
def document(request, tmp_path):
    """A document as it is published: of the default settings, and of everything there is."""
    if request.param == "library":
        with library(tmp_path) as app:
            yield app.test_client().get("/api/openapi.json").json
        return
    settings = {} if request.param == "default" else {"COMPATIBILITY": "loopback3"}
    app = request.getfixturevalue("shared_app")(**settings)
    yield app.test_client().get("/api/openapi.json").json


def places(node, path=""):
    """Yield each object of the document with its path."""
    if isinstance(node, dict):
        yield path, node
    pairs = node.items() if isinstance(node, dict) else enumerate(node)
    for name, each in pairs:
        if isinstance(each, dict | list):
            yield from places(each, f"{path}/{name}")


def examples(place):
    """Return the examples that stand in this place, and the schema that they belong to."""
    if isinstance(place.get("examples"), list):
        return place["examples"], place
    if "schema" not in place:
        return [], {}
    named = [each["value"] for each in place.get("examples", {}).values()]
    if "contentSchema" in place["schema"]:
        return [*map(json.loads, named)], place["schema"]["contentSchema"]
    return [*named, *([place["example"]] if "example" in place else [])], place["schema"]


def problems(document):
    """Return what is wrong with examples, by their paths; and how many there are."""
    # References within the document, as those of a document by name.
    named = json.loads(json.dumps(document).replace('"#/', '"urn:document#/'))
    registry = Registry().with_resource("urn:document", DRAFT202012.create_resource(named))
    found, count = {}, 0
    for path, place in places(named):
        given, schema = examples(place)
        validator = Draft202012Validator(
            schema, registry=registry, format_checker=Draft202012Validator.FORMAT_CHECKER
        )
        for each in given:
            count += 1
            if errors := [error.message for error in validator.iter_errors(each)]:
                found[path] = errors
    return found, count


def test_every_example_is_valid_by_its_schema(document):
    found, count = problems(document)

    assert found == {}
    assert count > 100


def test_an_example_that_is_not_valid_is_found():
    schema = {"type": "object", "properties": {"kind": {"enum": ["a"], "examples": ["b"]}}}

    assert problems({"components": {"schemas": {"Kind": schema}}}) == (
        {"/components/schemas/Kind/properties/kind": ["'b' is not one of ['a']"]},
        1,
    )
