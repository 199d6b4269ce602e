"""The recipes of docs/rules.md do what their tables say."""

import json
import re

import pytest

from app.access.roles import grant
from app.rest.collection import get_resource
from tests.support.documents import ROOT, blocks, calls

PAGE = "docs/rules.md"
RECIPES = re.findall("^### (.*)$", (ROOT / PAGE).read_text(), re.MULTILINE)
USERS = {"Ada": (), "Bob": (), "Carol": ("clerk",), "Rita": ("admin",)}
BODIES = {"POST": {"title": "Evening"}, "PATCH": {"title": "Night"}}


@pytest.fixture
def shifts(serve):
    """Serve shifts by these rules; return the client and the tokens of the callers."""

    def start(rules):
        shift = {
            "name": "shift",
            "properties": {"title": "string"},
            "relations": {"owner": {"type": "belongsTo", "model": "user"}},
            "acls": rules,
        }
        api = serve({"shift": shift})
        tokens = {"nobody": None}
        with api.client.application.app_context():
            for number, (name, roles) in enumerate(USERS.items(), 1):
                tokens[name] = api.logged_in(f"{name.lower()}@example.com")
                for role in roles:
                    grant(number, role)
            get_resource("shifts").insert([{"title": "Morning", "owner_id": 1}])
        return api, tokens

    return start


@pytest.mark.parametrize("recipe", RECIPES)
def test_a_recipe_does_what_its_table_says(shifts, recipe):
    [rules] = blocks(PAGE, "json", recipe)
    cases = calls(PAGE, recipe)
    api, tokens = shifts(json.loads(rules))

    answers = [
        api(verb, path, BODIES.get(verb), token=tokens[caller]) for caller, verb, path, *_ in cases
    ]

    assert len(cases) > 1
    assert [str(answer.status_code) for answer in answers] == [status for *_, status in cases]
    if recipe == "Private to the owner":
        assert answers[1].json == []
