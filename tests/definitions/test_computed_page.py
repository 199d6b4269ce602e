"""The examples of docs/computed.md are answered as printed."""

import json

import pytest

from tests.support.documents import blocks

PAGE = "docs/computed.md"
SHIFT, SIGN_UP, SHIFTS, SIGN_UPS, LISTED, FILTER, FILTERED, OF_PYTHON = map(
    json.loads, blocks(PAGE, "json")
)
[CODE] = blocks(PAGE, "python")


def filled(api, shifts, sign_ups):
    """Store rows, each sign-up by its caller; return Ada's token."""
    tokens = {name: api.logged_in(f"{name}@example.com") for name in ("ada", "bob")}
    for shift in shifts:
        assert api("POST", "/shifts", shift, token=tokens["ada"]).status_code == 200
    for values in sign_ups:
        caller = tokens[values.pop("caller")]
        assert api("POST", "/signUps", values, token=caller).status_code == 200
    return tokens["ada"]


@pytest.mark.both_databases
def test_models_in_json_answer_as_printed(serve):
    api = serve({"shift": SHIFT, "sign-up": SIGN_UP})
    ada = filled(api, SHIFTS, [dict(values) for values in SIGN_UPS])

    assert api("GET", "/shifts", token=ada).json == LISTED
    query = {"filter": json.dumps(FILTER)}
    assert api("GET", "/shifts", token=ada, query_string=query).json == FILTERED
    schemas = api("GET", "/openapi.json").json["components"]["schemas"]
    assert schemas["Shift"]["properties"]["hours"]["description"] == "What all have worked."


@pytest.mark.both_databases
def test_models_in_python_answer_as_printed(serve):
    api = serve({}, code={"shift": CODE})
    sign_ups = [{"caller": name, "shiftId": 1} for name in ("ada", "bob")]
    ada = filled(api, [SHIFTS[0]], sign_ups)

    for _ in range(3):
        assert api("GET", "/shifts", token=ada).json == OF_PYTHON
        assert api("GET", "/shifts/1", token=ada).json == OF_PYTHON[0]
