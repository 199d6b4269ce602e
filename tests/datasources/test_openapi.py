"""Public data sources in the OpenAPI document."""

import pytest
from openapi_spec_validator import validate


@pytest.fixture
def app(make_app, geo):
    geo["operations"][0]["template"]["variables"] = {
        "tenant": {"secret": True, "default": "a planted secret"},
        "city": {"doc": "Where it is.", "enum": ["San Mateo", "Berlin"]},
    }
    return make_app(DATA_SOURCES={"geo": geo})


def test_functions_are_described_with_their_variables(api):
    document = api("GET", "/openapi.json").json

    validate(document)
    geocode = document["paths"]["/geo/geocode"]["get"]
    assert geocode["operationId"] == "geo.geocode"
    parameters = {each["name"]: each for each in geocode["parameters"]}
    assert {name: each["in"] for name, each in parameters.items()} == {
        "street": "query",
        "city": "query",
        "floor": "query",
        "tenant": "header",
    }
    assert parameters["street"]["required"]
    assert parameters["city"]["description"] == "Where it is."
    assert parameters["city"]["schema"]["enum"] == ["San Mateo", "Berlin"]
    assert parameters["floor"]["schema"] == {"type": "number"}
    assert {"422", "502", "504", "401"} <= geocode["responses"].keys()


def test_bodies_and_paths_are_described_and_no_secret_is(api):
    response = api("GET", "/openapi.json")

    paths = response.json["paths"]
    body = paths["/geo/note"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    assert body == {
        "type": "object",
        "properties": {"note": {"type": "string"}},
        "required": ["note"],
    }
    assert paths["/geo/inFormat/{format}"]["get"]["parameters"][0]["schema"]["default"] == "json"
    assert "a planted secret" not in response.text


def test_defaults_of_the_environment_are_not_described(make_app, geo, monkeypatch):
    monkeypatch.setenv("PLANTED", "from-the-environment")
    env = {"$env": "PLANTED"}
    geo["operations"][0]["template"]["variables"] = {
        "tenant": {"default": env},
        "city": {"doc": env, "enum": [env]},
    }

    app = make_app(DATA_SOURCES={"geo": geo})

    assert "from-the-environment" not in app.test_client().get("/api/openapi.json").text
    shown = app.test_cli_runner().invoke(args=["datasources", "show", "geo"]).output
    assert "tenant" in shown
    assert "from-the-environment" not in shown
