"""Computed properties of models in JSON: read-only values in every answer, filter and aggregate."""

import json

import pytest

from .library import OPEN

pytestmark = pytest.mark.both_databases

COMPUTED = {
    "taken": {"computed": {"count": "signUps", "where": {"cancelled": False}}},
    "hours": {"computed": {"sum": "signUps.hours"}},
    "points": {"computed": {"sum": "signUps.points"}},
    "paid": {"computed": {"sum": "signUps.price"}},
    "first": {"computed": {"min": "signUps.day"}},
    "lastNote": {"computed": {"max": "signUps.note"}},
}
SHIFT = {
    "name": "Shift",
    "properties": {"title": "string", "capacity": "integer", **COMPUTED},
    "relations": {"signUps": {"type": "hasMany", "model": "SignUp"}},
    "acls": OPEN,
}
SIGN_UP = {
    "name": "SignUp",
    "properties": {
        "note": "string",
        "cancelled": {"type": "boolean", "default": False},
        "hours": "number",
        "points": "integer",
        "price": {"type": "decimal", "precision": 8, "scale": 2},
        "day": "dateonly",
    },
    "relations": {"shift": {"type": "belongsTo", "model": "Shift"}},
    "acls": OPEN,
}
MODELS = {"shift": SHIFT, "sign-up": SIGN_UP}
NOTHING = dict.fromkeys(COMPUTED) | {"taken": 0}
SIGN_UPS = [
    {"hours": 1.5, "points": 2**52, "price": "0.10", "day": "2026-03-02", "note": "b"},
    {"hours": 2.5, "points": 2**52 + 1, "price": "0.20", "day": "2026-03-01", "note": "a"},
    {"cancelled": True},
]
TAKEN = {
    "taken": 2,
    "hours": 4,
    "points": 2**53 + 1,
    "paid": "0.30",
    "first": "2026-03-01",
    "lastNote": "b",
}


def computed(answer):
    """Return the computed properties of an object."""
    return {name: value for name, value in answer.items() if name in COMPUTED}


class Rota:
    """Calls of one user, who may do everything, on the models of this file."""

    def __init__(self, api):
        self.api, self.token = api, api.logged_in()

    def __call__(self, method, path, body=None, **options):
        return self.api(method, path, body, token=self.token, **options)

    def sign_up(self, shift_id, *sign_ups):
        for each in sign_ups:
            assert self("POST", "/signUps", {"shiftId": shift_id, **each}).status_code == 200

    def find(self, path="/shifts", **filter_):
        return self("GET", path, query_string={"filter": json.dumps(filter_)})


@pytest.fixture
def rota(serve):
    """Serve shifts: the first has sign-ups, the second none."""
    rota = Rota(serve(MODELS))
    for title in ("Morning", "Evening"):
        rota("POST", "/shifts", {"title": title, "capacity": 3})
    rota.sign_up(1, *SIGN_UPS)
    return rota


def test_a_row_has_its_computed_properties_in_every_answer(rota):
    shown = {
        "find": lambda: rota("GET", "/shifts").json[0],
        "findById": lambda: rota("GET", "/shifts/1").json,
        "findOne": lambda: rota("GET", "/shifts/findOne").json,
        "patchAttributes": lambda: rota("PATCH", "/shifts/1", {"title": "Early"}).json,
        "replaceById": lambda: rota("PUT", "/shifts/1", {"title": "Early"}).json,
        "patchOrCreate": lambda: rota("PATCH", "/shifts", {"id": 1, "title": "Early"}).json,
        "replaceOrCreate": lambda: rota("PUT", "/shifts", {"id": 1, "title": "Early"}).json,
        "upsertWithWhere": lambda: (
            rota("POST", '/shifts/upsertWithWhere?where={"id":1}', {"title": "Early"}).json
        ),
        "include": lambda: rota.find("/signUps", include="shift").json[0]["shift"],
        "relation": lambda: rota("GET", "/signUps/1/shift").json,
        "batch": lambda: (
            rota("POST", "/batch", {"requests": [{"method": "GET", "path": "/shifts/1"}]}).json
        ),
    }

    answers = {name: call() for name, call in shown.items()}

    batch = answers.pop("batch")
    assert computed(batch["responses"][0]["body"]) == TAKEN
    assert {name: computed(answer) for name, answer in answers.items()} == dict.fromkeys(
        answers, TAKEN
    )


def test_a_new_row_has_the_values_of_no_rows(rota):
    one = rota("POST", "/shifts", {"title": "Night"})
    several = rota("POST", "/shifts", [{"title": "a"}, {"title": "b"}])

    assert [computed(answer) for answer in [one.json, *several.json]] == [NOTHING] * 3


def test_computed_properties_are_in_filters_orders_fields_and_aggregates(rota):
    def titles(**filter_):
        return [row["title"] for row in rota.find(fields=["title"], **filter_).json]

    assert titles(where={"taken": {"gt": 1}}) == ["Morning"]
    assert titles(where={"taken": 0}) == ["Evening"]
    assert titles(where={"hours": {"inq": [4, 5]}}) == ["Morning"]
    assert titles(where={"points": 2**53 + 1}) == ["Morning"]
    assert titles(where={"points": {"between": [1, 2**60]}}) == ["Morning"]
    assert titles(where={"paid": {"lt": "0.31"}}) == ["Morning"]
    assert titles(where={"paid": None}) == ["Evening"]
    assert titles(where={"first": {"lt": "2026-03-02"}}) == ["Morning"]
    assert titles(where={"lastNote": {"like": "b%"}}) == ["Morning"]
    assert titles(order="taken") == ["Evening", "Morning"]
    assert titles(order=["paid DESC", "title"]) == ["Morning", "Evening"]
    assert rota.find(fields=["taken"]).json == [{"taken": 2}, {"taken": 0}]
    assert rota.find(fields={"points": False}).json[1] == {
        "id": 2,
        "title": "Evening",
        "capacity": 3,
        **{name: value for name, value in NOTHING.items() if name != "points"},
    }
    assert rota("GET", '/shifts/count?where={"taken":2}').json == {"count": 1}
    functions = {
        "n": {"sum": "taken"},
        "most": {"max": "taken"},
        "hours": {"avg": "hours"},
        "paid": {"sum": "paid"},
    }
    assert rota.find("/shifts/aggregate", aggregate=functions).json == [
        {"n": 2, "most": 2, "hours": 4.0, "paid": "0.30"}
    ]
    points = rota.find("/shifts/aggregate", aggregate={"points": {"sum": "points"}})
    assert points.json == [{"points": 2**53 + 1}]
    grouped = rota.find("/shifts/aggregate", groupBy="taken", aggregate={"n": {"count": "*"}})
    assert grouped.json == [{"taken": 0, "n": 1}, {"taken": 2, "n": 1}]


def test_conditions_on_related_rows_use_computed_properties_and_orders_and_groups_do_not(rota):
    rota.sign_up(2, {"note": "z"})

    found = rota.find("/signUps", where={"shift": {"taken": 1}}).json

    assert [row["note"] for row in found] == ["z"]
    # The shift of each of many rows would be computed as often.
    for path, filter_ in [
        ("/signUps", {"order": ["shift.taken", "id"]}),
        ("/signUps/aggregate", {"groupBy": "shift.taken"}),
    ]:
        answer = rota.find(path, **filter_)
        assert answer.status_code == 400
        assert "shift.taken' is computed" in answer.json["message"]
    groups = rota("GET", "/openapi.json").json["components"]["schemas"]["SignUpAggregate"]
    assert "shift.title" in str(groups)
    assert "shift.taken" not in str(groups)


def test_changes_of_many_rows_and_upserts_may_choose_them_by_computed_properties(rota):
    def path(call):
        return f'/shifts/{call}?where={{"taken":0}}'

    assert rota("POST", path("update"), {"capacity": 9}).json == {"count": 1}
    assert rota("GET", "/shifts/2").json["capacity"] == 9
    assert rota("POST", path("upsertWithWhere"), {"capacity": 8}).json["capacity"] == 8
    assert rota("GET", "/shifts/1").json["capacity"] == 3


def test_a_change_of_a_related_row_shows_at_once(rota):
    rota("PATCH", "/signUps/1", {"cancelled": True})
    rota("DELETE", "/signUps/2")

    assert rota("GET", "/shifts/1").json["taken"] == 0


def test_computed_properties_cannot_be_written_and_what_was_read_can_be_sent_back(rota):
    read = rota("GET", "/shifts/1").json
    rota.sign_up(1, {"note": "c"})

    # The number has changed since it was read.
    changed = rota("PUT", "/shifts/1", {**read, "title": "Early"})
    assert (changed.status_code, changed.json["title"]) == (200, "Early")
    assert changed.json["taken"] == 3
    assert rota("PATCH", "/shifts/1", {"taken": 99}).json["taken"] == 3
    for path, body in [
        ("/shifts", {"title": "x", "taken": 1}),
        ('/shifts/update?where={"id":1}', {"taken": 1}),
    ]:
        answer = rota("POST", path, body)
        assert answer.status_code == 422
        assert answer.json["error"]["details"]["messages"] == {"taken": ["is read-only"]}


def test_an_if_match_compares_what_is_stored_and_a_304_what_is_shown(rota):
    tag = rota("GET", "/shifts/1").headers["ETag"]

    def answer(method, header, body=None):
        return rota(method, "/shifts/1", body, headers={header: tag}).status_code

    assert answer("GET", "If-None-Match") == 304
    rota.sign_up(1, {"note": "c"})
    assert answer("GET", "If-None-Match") == 200
    assert answer("PATCH", "If-Match", {"capacity": 4}) == 200
    # What is stored is another by now.
    assert answer("PATCH", "If-Match", {"capacity": 5}) == 412
    assert answer("DELETE", "If-Match") == 412
    changed = rota("PATCH", "/shifts/1", {"capacity": 6})
    assert changed.headers["ETag"] == rota("GET", "/shifts/1").headers["ETag"]


def test_a_bounded_number_of_computed_properties_is_compared(rota):
    five = [{name: None} for name in ("taken", "hours", "points", "paid", "first")]

    for path, filter_ in [
        ("/shifts", {"where": {"or": five}}),
        ("/shifts", {"where": {"or": five[:3]}, "order": ["taken", "hours"]}),
        ("/shifts/aggregate", {"aggregate": {f"f{n}": {"max": "taken"} for n in range(5)}}),
    ]:
        answer = rota.find(path, **filter_)
        assert answer.status_code == 400
        assert "a computed property counts as one" in answer.json["message"]
    assert rota.find(where={"or": five[:4]}).status_code == 200


def test_a_sum_that_no_number_holds_is_null(rota):
    rota.sign_up(2, {"hours": 1.7e308}, {"hours": 1.7e308})

    assert rota("GET", "/shifts/2").json["hours"] is None
    assert rota.find(where={"hours": {"gt": 1}}).json[0]["id"] == 1
    rota("PATCH", "/signUps/4", {"hours": 5e-324})
    rota("PATCH", "/signUps/5", {"hours": -5e-324})
    assert rota("GET", "/shifts/2").json["hours"] == 0
    rota.sign_up(2, *[{"points": 2**53 - 1}] * 2)
    assert rota("GET", "/shifts/2").json["points"] == 2**54 - 2


def test_sums_of_sums_are_exact_whatever_their_sign(rota):
    rota.sign_up(2, {"points": -(2**53 - 1), "price": "-0.70"}, {"points": -(2**52), "price": "0"})

    functions = {name: {"sum": name} for name in ("points", "paid")}
    totals = rota.find("/shifts/aggregate", aggregate=functions).json
    of_none = rota.find("/shifts/aggregate", where={"id": 7}, aggregate=functions).json

    assert totals == [{"points": 2 - 2**52, "paid": "-0.40"}]
    assert of_none == [{"points": None, "paid": None}]


def test_the_admin_page_is_told_that_they_cannot_be_written(rota):
    runner = rota.api.client.application.test_cli_runner()
    runner.invoke(args=["roles", "grant", "ada@example.com", "admin"])

    models = {model["name"]: model for model in rota("GET", "/admin/models").json}

    shown = models["Shifts"]["schema"]["properties"]
    assert all(shown[name]["readOnly"] for name in COMPUTED)
    assert {*COMPUTED}.isdisjoint(models["Shifts"]["createSchema"]["properties"])


def test_the_document_describes_computed_properties(rota):
    schemas = rota("GET", "/openapi.json").json["components"]["schemas"]
    shown = schemas["Shift"]["properties"]

    assert shown["taken"] == {
        "description": "Computed: the number of signUps.",
        "type": "integer",
        "readOnly": True,
    }
    assert shown["paid"]["type"] == ["string", "null"]
    assert {*COMPUTED}.isdisjoint(schemas["NewShift"]["properties"])
    assert {*COMPUTED}.isdisjoint(schemas["ShiftPartial"]["properties"])
    assert {*COMPUTED} <= schemas["ShiftWhere"]["properties"].keys()
    sums = schemas["ShiftAggregate"]["properties"]["aggregate"]["additionalProperties"]
    assert "taken" in sums["properties"]["sum"]["enum"]


# Types of properties whose values have an order, each with two values in this order.
ORDERED = {
    "text": ({"type": "string"}, "B", "a"),
    "kind": ({"type": "string", "enum": ["z", "b"]}, "b", "z"),
    "whole": ({"type": "integer"}, -3, 2**53 - 1),
    "float": ({"type": "number"}, -0.5, 7),
    "price": ({"type": "decimal", "precision": 12, "scale": 3}, "-1.500", "10.250"),
    "at": ({"type": "date"}, "2026-01-02T03:04:05.678Z", "2026-11-02T03:04:05.000Z"),
    "day": ({"type": "dateonly"}, "2026-01-02", "2026-02-01"),
    "ref": ({"type": "objectid"}, "507f1f77bcf86cd799439011", "507f1f77bcf86cd799439012"),
    "id": (None, 1, 2),
    "shiftId": (None, 1, 1),
}


def test_the_extremes_of_each_type_have_the_form_of_their_properties(serve):
    sign_up = {**SIGN_UP, "properties": {name: type_ for name, (type_, *_) in ORDERED.items()}}
    del sign_up["properties"]["id"], sign_up["properties"]["shiftId"]
    properties = {
        f"{name}{word}": {"computed": {word: f"signUps.{name}"}}
        for name in ORDERED
        for word in ("min", "max")
    }
    api = serve({"shift": {**SHIFT, "properties": properties}, "sign-up": sign_up})
    rota = Rota(api)
    rota("POST", "/shifts", {})
    stored = {name: values for name, (type_, *values) in ORDERED.items() if type_}
    for place in (0, 1):
        rota.sign_up(1, {name: values[place] for name, values in stored.items()})
    rota.sign_up(1, {})

    shown = rota("GET", "/shifts/1").json

    ends = {name: (shown[f"{name}min"], shown[f"{name}max"]) for name in stored}
    assert ends == {name: tuple(values) for name, values in stored.items()}
    assert (shown["idmin"], shown["idmax"], shown["shiftIdmax"]) == (1, 3, 1)
    for name, (least, most) in stored.items():
        for where in ({f"{name}max": most}, {f"{name}min": {"lt": most}}):
            assert len(rota.find(where=where).json) == 1, where
        assert rota.find(where={f"{name}max": least}).json == []
