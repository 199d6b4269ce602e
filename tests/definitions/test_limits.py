"""Limits: how many rows of a model may belong to one row of another, under every way to write."""

import json

import pytest
from sqlalchemy import make_url

from app.database.session import transaction
from app.definitions.reading import json_models
from app.problems import ConfigurationError
from app.rest.collection import get_resource
from app.rest.rows.limits import LimitReached
from tests.support.races import at_once

from .library import OPEN, rule

FULL = {
    "per": "shift",
    "atMost": "capacity",
    "where": {"cancelled": False},
    "code": "SHIFT_IS_FULL",
}
SHIFT = {
    "name": "Shift",
    "properties": {"title": "string", "capacity": "integer"},
    "relations": {
        "signUps": {"type": "hasMany", "model": "SignUp"},
        "tasks": {"type": "hasMany", "model": "Task", "through": "SignUp"},
    },
    "acls": OPEN,
}
TASK = {"name": "Task", "properties": {"title": "string"}, "acls": OPEN}


def sign_up(*limits, **more):
    return {
        "name": "SignUp",
        "properties": {"note": "string", "cancelled": {"type": "boolean", "default": False}},
        "relations": {
            "shift": {"type": "belongsTo", "model": "Shift"},
            "task": {"type": "belongsTo", "model": "Task"},
        },
        "limits": list(limits),
        "acls": OPEN,
        **more,
    }


class Rota:
    """Calls of one user, who may do everything, on the models of this file."""

    def __init__(self, api):
        self.api, self.token = api, api.logged_in()

    def __call__(self, method, path, body=None, **options):
        return self.api(method, path, body, token=self.token, **options)

    def shift(self, capacity, signed_up=0, **more):
        """Store a shift with sign-ups; return its id."""
        shift_id = self("POST", "/shifts", {"capacity": 1000}).json["id"]
        for _ in range(signed_up):
            self.sign_up(shift_id, **more)
        self("PATCH", f"/shifts/{shift_id}", {"capacity": capacity})
        return shift_id

    def sign_up(self, shift_id, **more):
        return self("POST", "/signUps", {"shiftId": shift_id, **more})

    def count(self, shift_id, **where):
        where = json.dumps({"shiftId": shift_id, **where})
        return self("GET", "/signUps/count", query_string={"where": where}).json["count"]

    def update_all(self, where, values):
        where = json.dumps(where)
        return self("POST", "/signUps/update", values, query_string={"where": where})

    def at_once(self, *calls):
        """Make calls, each a method, a path and a body, at the same time; return the statuses."""
        headers = {"Authorization": self.token}

        def call(method, path, body):
            return lambda client: client.open(
                f"/api{path}", method=method, json=body, headers=headers
            )

        answers = at_once(self.api.client.application, *(call(*each) for each in calls))
        return sorted(answer.status_code for answer in answers)


@pytest.fixture
def rota(serve):
    def start(*limits, **models):
        models = {"signUp": sign_up(*limits), "shift": SHIFT, "task": TASK, **models}
        return Rota(serve(models))

    return start


SEVEN_OF_TWENTY = [200] * 7 + [409] * 13


@pytest.mark.both_databases
def test_of_twenty_requests_at_once_exactly_as_many_succeed_as_there_is_room_for(rota):
    rota = rota(FULL)
    created, moved, changed, restored = (rota.shift(7) for _ in range(4))
    others = rota.shift(None, signed_up=40)
    for _ in range(20):
        rota.sign_up(restored, cancelled=True)
    where = '/signUps/update?where={"id":%d}'

    assert rota.at_once(*[("POST", "/signUps", {"shiftId": created})] * 20) == SEVEN_OF_TWENTY
    assert (
        rota.at_once(*(("PATCH", f"/signUps/{n}", {"shiftId": moved}) for n in range(1, 21)))
        == SEVEN_OF_TWENTY
    )
    assert (
        rota.at_once(*(("POST", where % n, {"shiftId": changed}) for n in range(21, 41)))
        == SEVEN_OF_TWENTY
    )
    assert (
        rota.at_once(*(("POST", where % n, {"cancelled": False}) for n in range(41, 61)))
        == SEVEN_OF_TWENTY
    )
    assert [rota.count(shift) for shift in (created, moved, changed)] == [7] * 3
    assert rota.count(restored, cancelled=False) == 7
    assert rota.count(others) == 40 - 14


@pytest.mark.only_on("postgresql")
def test_a_database_whose_transactions_see_the_past_by_default_has_limits_too(serve, postgres_url):
    see_past = r"-c default_transaction_isolation=repeatable\ read"
    url = make_url(postgres_url).update_query_dict({"options": see_past})
    models = {"signUp": sign_up(FULL), "shift": SHIFT, "task": TASK}
    uri = url.render_as_string(hide_password=False)
    rota = Rota(serve(models, SQLALCHEMY_DATABASE_URI=uri))
    shift = rota.shift(7)

    assert rota.at_once(*[("POST", "/signUps", {"shiftId": shift})] * 20) == SEVEN_OF_TWENTY


@pytest.mark.both_databases
def test_requests_for_many_rows_in_opposite_orders_do_not_wait_for_each_other(rota):
    rota = rota(FULL)
    shifts = [rota.shift(6) for _ in range(5)]
    up = [{"shiftId": shift} for shift in shifts]

    statuses = rota.at_once(*[("POST", "/signUps", up), ("POST", "/signUps", up[::-1])] * 5)

    assert statuses == [200] * 6 + [409] * 4
    assert [rota.count(shift) for shift in shifts] == [6] * 5


@pytest.mark.only_on("postgresql")
def test_moves_in_both_directions_do_not_wait_for_each_other(rota):
    rota = rota(FULL)
    shifts = [rota.shift(80) for _ in range(2)]
    for shift in shifts * 20:
        rota("POST", "/signUps", [{"shiftId": shift}] * 2)
    where = '/signUps/update?where={"shiftId":%d}'
    moves = [("POST", where % shifts[n], {"shiftId": shifts[1 - n]}) for n in range(2)]

    for _ in range(5):
        assert rota.at_once(*moves * 5) == [200] * 10
    assert sum(map(rota.count, shifts)) == 80


def refusals(rota, full, elsewhere, cancelled):
    """Yield a call for each way to add a row to a full shift."""
    new, moved = {"shiftId": full}, f"/signUps/{elsewhere}"
    where = {"where": json.dumps({"id": elsewhere})}
    yield rota("POST", "/signUps", new)
    yield rota("POST", "/signUps", [{}, new])
    yield rota("PUT", "/signUps", new)
    yield rota("PATCH", "/signUps", {"id": elsewhere, **new})
    yield rota("POST", "/signUps/replaceOrCreate", {"id": elsewhere, **new})
    yield rota("POST", "/signUps/upsertWithWhere", new, query_string=where)
    yield rota("POST", "/signUps/upsertWithWhere", new, query_string={"where": '{"id": 99}'})
    yield rota("PATCH", moved, new)
    yield rota("PUT", moved, new)
    yield rota("POST", f"{moved}/replace", new)
    yield rota.update_all({"id": elsewhere}, new)
    yield rota.update_all({"note": "spare"}, new)
    yield rota("PATCH", f"/signUps/{cancelled}", {"cancelled": False})
    yield rota.update_all({"shiftId": full}, {"cancelled": False})
    yield rota("POST", f"/shifts/{full}/signUps", {})
    yield rota("PUT", f"/shifts/{full}/signUps/{cancelled}", {"cancelled": False})
    yield rota("POST", f"/shifts/{full}/tasks", {"title": "Cook"})
    yield rota("PUT", f"/shifts/{full}/tasks/rel/1")


@pytest.mark.both_databases
def test_no_way_to_write_goes_beyond_the_maximum_and_what_is_refused_changes_nothing(rota):
    rota = rota(FULL)
    rota("POST", "/tasks", {"title": "Clean"})
    full = rota.shift(2, signed_up=2)
    cancelled = rota.sign_up(full, cancelled=True).json["id"]
    elsewhere = rota.sign_up(rota.shift(None), note="spare").json["id"]
    rota.sign_up(None, note="spare")
    before = [rota("GET", path).json for path in ("/signUps", "/tasks")]

    answers = list(refusals(rota, full, elsewhere, cancelled))

    assert [answer.status_code for answer in answers] == [409] * len(answers)
    for answer in answers:
        assert answer.json["error"] == {
            "statusCode": 409,
            "name": "Conflict",
            "code": "SHIFT_IS_FULL",
            "message": "At most 2 sign ups for this shift.",
            "details": {"per": "shift", "id": full, "atMost": 2},
        }
    assert [rota("GET", path).json for path in ("/signUps", "/tasks")] == before


@pytest.mark.both_databases
def test_a_lowered_maximum_blocks_new_rows_only(rota):
    rota = rota(FULL)
    shift = rota.shift(2, signed_up=4)

    assert rota.sign_up(shift).status_code == 409
    assert rota.sign_up(shift, cancelled=True).status_code == 200
    assert rota("PATCH", "/signUps/1", {"note": "late"}).status_code == 200
    assert rota("PUT", "/signUps/1", {"shiftId": shift, "note": "later"}).status_code == 200
    assert rota.update_all({"shiftId": shift}, {"note": "all"}).json == {"count": 5}
    assert rota.update_all({"cancelled": False}, {"shiftId": shift}).json == {"count": 4}
    for number in (1, 2):
        assert rota("PATCH", f"/signUps/{number}", {"cancelled": True}).status_code == 200
    assert rota("PATCH", "/signUps/1", {"cancelled": False}).status_code == 409
    assert rota("DELETE", "/signUps/3").status_code == 200
    assert rota("PATCH", "/signUps/1", {"cancelled": False}).status_code == 200
    assert rota("PATCH", f"/shifts/{shift}", {"capacity": None}).status_code == 200
    assert rota.sign_up(shift).status_code == 200
    for capacity in (0, -7):
        rota("PATCH", f"/shifts/{shift}", {"capacity": capacity})
        assert rota.sign_up(shift).json["message"] == "At most 0 sign ups for this shift."


@pytest.mark.both_databases
def test_a_model_may_have_several_limits_also_per_user_and_per_row_of_its_own(serve):
    volunteer = {"per": "volunteer", "atMost": 2, "code": "TOO_MANY_SHIFTS"}
    swaps = {"per": "swap", "atMost": 1}
    relations = {
        **sign_up()["relations"],
        "volunteer": {"type": "belongsTo", "model": "User"},
        "swap": {"type": "belongsTo", "model": "SignUp"},
    }
    model = sign_up(volunteer, FULL, swaps, relations=relations)
    rota = Rota(serve({"signUp": model, "shift": SHIFT, "task": TASK}))
    small, large = rota.shift(1), rota.shift(10)

    answers = [
        rota.sign_up(small),
        rota.sign_up(small),
        rota.sign_up(large, swapId=1),
        rota.sign_up(large),
        rota("PATCH", "/signUps/1", {"swapId": 1}),
    ]

    codes = [answer.json.get("error", {}).get("code") for answer in answers]
    assert codes == [None, "SHIFT_IS_FULL", None, "TOO_MANY_SHIFTS", "LIMIT_REACHED"]
    assert answers[-1].json["message"] == "At most 1 sign up for this swap."
    assert answers[-1].json["error"]["details"] == {"per": "swap", "id": 1, "atMost": 1}


@pytest.mark.both_databases
@pytest.mark.parametrize("id_type", ["uuid", "objectid"])
def test_rows_have_ids_of_any_type_and_the_maximum_may_be_a_property_of_users(serve, id_type):
    person = {
        "name": "Person",
        "base": "User",
        "properties": {"mostShifts": {"type": "integer", "hidden": True}},
    }
    relations = {
        **sign_up()["relations"],
        "shift": {"type": "belongsTo", "model": "Shift"},
        "person": {"type": "belongsTo", "model": "Person"},
    }
    limit = {"per": "person", "atMost": "mostShifts"}
    id_ = {"id": {"type": id_type, "id": True}}
    model = sign_up(FULL, limit, relations=relations, properties={**id_, **sign_up()["properties"]})
    shift = {**SHIFT, "properties": {**id_, **SHIFT["properties"]}}
    rota = Rota(serve({"person": person, "signUp": model, "shift": shift, "task": TASK}))
    with rota.api.client.application.app_context():
        get_resource("users").update([], {"most_shifts": 2})
    first, second = rota.shift(1), rota.shift(2)

    answers = [rota.sign_up(each) for each in (first, first, second, second)]

    assert [answer.status_code for answer in answers] == [200, 409, 200, 409]
    assert answers[1].json["error"]["details"] == {"per": "shift", "id": first, "atMost": 1}
    assert answers[3].json["message"] == "No more sign ups for this person."


def test_a_relation_with_a_scope_counts_all_rows(rota):
    scope = {"where": {"note": "first"}}
    firsts = {"type": "hasMany", "model": "SignUp", "foreignKey": "shiftId", "scope": scope}
    rota = rota(FULL, shift={**SHIFT, "relations": {**SHIFT["relations"], "firsts": firsts}})
    shift = rota.shift(1, signed_up=1)

    answer = rota("POST", f"/shifts/{shift}/firsts", {"note": "first"})

    assert answer.status_code == 409


def test_a_change_of_very_many_rows_is_only_refused_for_what_a_limit_uses(rota):
    rota = rota(FULL)
    shift = rota.shift(None)
    with rota.api.client.application.app_context():
        sign_ups = get_resource("SignUps")
        sign_ups.insert([{"shift_id": None}] * 10_001)

    noted = rota.update_all({"shiftId": None}, {"note": "many"})
    moved = rota.update_all({"shiftId": None}, {"shiftId": shift})

    assert noted.json == {"count": 10_001}
    assert (moved.status_code, moved.json["error"]["code"]) == (400, "TOO_MANY_ROWS")
    assert rota.count(shift) == 0


HOOKS = """
from ostiary.errors import LimitReached
from ostiary.resources import get_resource

def extend(shifts):
    @shifts.after_save.connect
    def sign_up_the_first(resource, event):
        sign_ups = get_resource("SignUps")
        if event.row.title == "refused":
            sign_ups.insert([{"shift_id": event.row.id, "cancelled": False}] * 2)
        if event.row.title == "caught":
            try:
                sign_ups.insert([{"shift_id": event.row.id, "cancelled": False}] * 2)
            except LimitReached:
                sign_ups.insert([{"shift_id": event.row.id, "cancelled": True}])
"""
RESTORING = """
def extend(sign_ups):
    @sign_ups.before_save.connect
    def restore(resource, event):
        if event.values.get("note") == "restore":
            event.values["cancelled"] = False
"""


@pytest.mark.both_databases
def test_hooks_and_code_of_the_project_are_held_too(serve):
    models = {"signUp": sign_up(FULL), "shift": SHIFT, "task": TASK}
    rota = Rota(serve(models, code={"shift": HOOKS, "signUp": RESTORING}))
    full = rota.shift(1, signed_up=1)
    cancelled = rota.sign_up(full, cancelled=True).json["id"]

    refused = rota("POST", "/shifts", {"title": "refused", "capacity": 1})
    caught = rota("POST", "/shifts", {"title": "caught", "capacity": 1})
    restored = rota("PATCH", f"/signUps/{cancelled}", {"note": "restore"})
    with rota.api.client.application.app_context():
        sign_ups = get_resource("SignUps")
        cancelled_ones = [sign_ups.model.cancelled.is_(True)]
        for change in (
            lambda: sign_ups.insert([{"shift_id": full, "cancelled": False}]),
            lambda: sign_ups.update(cancelled_ones, {"cancelled": False, "shift_id": full}),
        ):
            with pytest.raises(LimitReached, match="No more sign ups for this shift"):
                change()
            with transaction():
                with pytest.raises(LimitReached):
                    change()
                get_resource("Shifts").lock(full)

    assert (refused.status_code, restored.status_code) == (409, 409)
    assert rota("GET", "/shifts/count").json == {"count": 2}
    assert rota.count(caught.json["id"]) == 1
    assert rota.count(caught.json["id"], cancelled=True) == 1
    assert rota.count(full, cancelled=False) == 1


def test_the_error_tells_the_maximum_only_to_those_who_may_read_it(serve):
    everything = rule("$everyone")
    hidden = {**SHIFT, "hidden": ["capacity"], "acls": [everything]}
    unread = [everything, rule("$everyone", "DENY", accessType="READ")]
    private = {**SHIFT, "name": "Party", "acls": unread, "relations": {}}
    relations = {
        **sign_up()["relations"],
        "party": {"type": "belongsTo", "model": "Party"},
    }
    limits = FULL, {**FULL, "per": "party"}
    model = sign_up(*limits, relations=relations, acls=[everything])
    models = {"signUp": model, "shift": hidden, "task": TASK, "party": private}
    api = serve(models)
    with api.client.application.app_context():
        [shift] = get_resource("Shifts").insert([{"capacity": 0}])
        [party] = get_resource("Parties").insert([{"capacity": 0}])
        cancelled = {"party_id": party.id, "cancelled": True}
        [other, free] = get_resource("SignUps").insert([cancelled, {}])

    full = api("POST", "/signUps", {"shiftId": shift.id})
    known = api("PATCH", f"/signUps/{other.id}", {"cancelled": False})
    unknown = api("PATCH", f"/signUps/{free.id}", {"partyId": party.id})

    assert full.json["error"]["message"] == "No more sign ups for this shift."
    assert full.json["error"]["details"] == {"per": "shift", "id": shift.id}
    assert known.json["error"]["message"] == "No more sign ups for this party."
    assert known.json["error"]["details"] == {"per": "party"}
    assert unknown.status_code == 422


def test_a_limit_is_inherited_and_counts_the_rows_of_each_model(rota):
    late = {"name": "LateSignUp", "plural": "late", "base": "SignUp", "acls": OPEN}
    rota = rota(FULL, late=late)
    shift = rota.shift(1)

    statuses = [
        rota("POST", path, {"shiftId": shift}).status_code
        for path in ("/signUps", "/late", "/signUps", "/late")
    ]

    assert statuses == [200, 200, 409, 409]


UNKNOWN = [
    ({"per": "shfit"}, "per: there is no relation 'shfit'; did you mean 'shift'?"),
    ({"per": "signUps"}, "per: there is no relation 'signUps'"),
    ({"per": "later"}, "per: later must be a belongsTo relation to one model"),
    ({"per": "any"}, "per: any must be a belongsTo relation to one model"),
    ({"atMost": "capcity"}, "atMost: Shift has no property 'capcity'; did you mean 'capacity'?"),
    ({"atMost": "title"}, "atMost: the property title of Shift is not a number"),
    (
        {"where": {"canceled": False}},
        "where: There is no property 'canceled'; there are id, note, cancelled, shiftId, taskId, "
        "earlierId, anyId, anyType.",
    ),
    ({"where": {"cancelled": "maybe"}}, "where: cancelled.eq must be true or false."),
]
MALFORMED = [
    ({"per": None}, "per: must be the name of a belongsTo relation"),
    ({"atMost": -1}, "atMost: must be a whole number, or a property of the other model"),
    ({"atMost": 2**63}, "atMost: must be a whole number, or a property of the other model"),
    ({"atMost": True}, "atMost: must be a whole number, or a property of the other model"),
    ({"where": []}, "where: must be an object"),
    ({"code": "full"}, "code: must be a code such as SHIFT_IS_FULL"),
    ({"atmost": 7}, "atmost: there is no such key; did you mean 'atMost'?"),
    ({"unless": {}}, "unless: there is no such key"),
]


@pytest.mark.parametrize("cases", [UNKNOWN, MALFORMED])
def test_invalid_limits_stop_the_start_with_all_problems_and_their_places(make_models, cases):
    relations = {
        **sign_up()["relations"],
        "later": {"type": "hasMany", "model": "SignUp", "foreignKey": "earlierId"},
        "any": {"type": "belongsTo", "polymorphic": True},
    }
    model = sign_up(*({**FULL, **changes} for changes, _ in cases), relations=relations)

    with pytest.raises(ConfigurationError) as raised:
        make_models({"signUp": model, "shift": SHIFT, "task": TASK})

    _, *problems = map(str.strip, str(raised.value).splitlines())
    assert problems == [
        f"signUp.json: limits[{place}].{problem}" for place, (_, problem) in enumerate(cases)
    ]


@pytest.mark.parametrize(
    ("limits", "problem"),
    [({}, 'must be a list, as in [{"per": "shift"'), (["shift"], "must be an object")],
)
def test_limits_of_another_form_stop_the_start(make_models, limits, problem):
    model = {**sign_up(), "limits": limits}

    with pytest.raises(ConfigurationError, match="limits") as raised:
        make_models({"signUp": model, "shift": SHIFT, "task": TASK})

    assert problem in str(raised.value)


@pytest.mark.parametrize(
    ("base", "config"),
    [
        ("User", None),
        ("Model", None),
        ("PersistedModel", {"Person": {"dataSource": "desk"}}),
    ],
)
def test_only_models_with_rows_in_the_database_have_limits(make_models, base, config):
    person = {"name": "Person", "base": base, "limits": [{"per": "shift", "atMost": 1}]}
    desk = {"desk": {"connector": "rest", "baseURL": "http://127.0.0.1:9"}}

    with pytest.raises(ConfigurationError, match=r"person.json: limits: are not possible"):
        make_models({"person": person}, config, {"person": ""}, DATA_SOURCES=desk)


REQUIRED = {"type": "boolean", "default": False, "required": True}
NULL_EVADES = "rows in which {0} is null do not count, and clients may set it to null; write "


@pytest.mark.parametrize(
    ("where", "declared", "advice"),
    [
        (
            {"cancelled": False},
            {},
            '{"cancelled": {"neq": true}}, which counts these rows too, or ',
        ),
        (
            {"cancelled": {"eq": True}},
            {},
            '{"cancelled": {"neq": false}}, which counts these rows ',
        ),
        ({"and": [{"or": [{"note": "late"}]}]}, {}, '"required": true for note'),
        ({"cancelled": {"neq": True}, "note": None}, {}, None),
        ({"cancelled": False}, {"cancelled": REQUIRED}, None),
        ({"cancelled": False}, {"cancelled": {"type": "boolean", "readOnly": True}}, None),
    ],
)
def test_a_limit_that_a_null_evades_is_a_warning(make_models, where, declared, advice):
    properties = {**sign_up()["properties"], **declared}
    model = sign_up({**FULL, "where": where}, properties=properties)

    app = make_models({"signUp": model, "shift": SHIFT, "task": TASK})

    warnings = json_models.of(app).problems.warnings
    assert len(warnings) == (advice is not None)
    for warning in warnings:
        said = NULL_EVADES.format("note" if "note" in advice else "cancelled") + advice
        assert warning.startswith(f"signUp.json: limits[0].where: {said}")


def test_rows_without_a_value_count_if_the_where_excludes_the_other_value(serve):
    limit = {**FULL, "where": {"cancelled": {"neq": True}}}
    rota = Rota(serve({"signUp": sign_up(limit), "shift": SHIFT, "task": TASK}))
    shift = rota.shift(2)

    statuses = [rota.sign_up(shift, cancelled=value).status_code for value in (None, True, None)]

    assert statuses == [200, 200, 200]
    assert rota.sign_up(shift, cancelled=None).status_code == 409
    assert rota("PATCH", "/signUps/2", {"cancelled": None}).status_code == 409


def test_a_where_may_use_hidden_properties_and_the_document_has_the_codes(serve):
    properties = {**sign_up()["properties"], "secret": {"type": "string", "hidden": True}}
    secret = {"per": "shift", "atMost": 1, "where": {"secret": "x"}, "code": "ONE_SECRET"}
    model = sign_up(secret, properties=properties, hidden=["cancelled"])
    rota = Rota(serve({"signUp": model, "shift": SHIFT, "task": TASK}))
    shift = rota.shift(None)

    statuses = [rota.sign_up(shift, secret=text).status_code for text in ("x", "y", "x")]
    document = rota("GET", "/openapi.json").json

    assert statuses == [200, 200, 409]
    for path, verb in (("/signups", "post"), ("/shifts/{id}/tasks/rel/{fk}", "put")):
        conflict = document["paths"][path][verb]["responses"]["409"]
        assert "ONE_SECRET" in json.dumps(conflict)


BOOK = """
from sqlalchemy import ForeignKey, String
from sqlalchemy.orm import Mapped, mapped_column

from ostiary.columns import Id, RowId
from ostiary.database import Model
from ostiary.fields import Id as IdField, Schema, Text
from ostiary.resources import Limit, Resource, belongs_to
from ostiary.rules import EVERYONE, allow


class Book(Model):
    __tablename__ = "books"

    id: Mapped[Id] = mapped_column(RowId, primary_key=True)
    title: Mapped[str] = mapped_column(String(80))
    state: Mapped[str] = mapped_column(String(10), default="new")
    shift_id: Mapped[Id] = mapped_column(ForeignKey("shift.id"), index=True)


class BookSchema(Schema):
    id = IdField(dump_only=True)
    title = Text(80, required=True)
    shiftId = IdField(attribute="shift_id", required=True)


books = Resource(
    name="books",
    singular="book",
    model=Book,
    schema=BookSchema,
    rules=lambda settings: [allow(EVERYONE)],
    relations={"shift": belongs_to("Shifts", "shift_id")},
    limits=[Limit(LIMIT)],
)
"""


def test_a_resource_in_python_has_limits_also_on_columns_that_are_no_properties(serve):
    limit = 'per="shift", at_most="capacity", where={"state": "new"}, code="TOO_MANY_BOOKS"'
    models = {"signUp": sign_up(FULL), "shift": SHIFT, "task": TASK}
    rota = Rota(serve(models, code={"book": BOOK.replace("LIMIT", limit)}))
    shift = rota.shift(1)

    answers = [rota("POST", "/books", {"title": "Emma", "shiftId": shift}) for _ in range(2)]
    with rota.api.client.application.app_context():
        get_resource("books").update([], {"state": "old"})
    answers.append(rota("POST", "/books", {"title": "Emma", "shiftId": shift}))

    assert [answer.status_code for answer in answers] == [200, 409, 200]
    assert answers[1].json["error"]["code"] == "TOO_MANY_BOOKS"
    assert answers[1].json["message"] == "At most 1 book for this shift."


@pytest.mark.parametrize(
    ("limit", "problem"),
    [
        ('per="shift", at_most="capacity", where={"stat": "new"}', "where: .*stat"),
        ('per="shift", at_most=None', "atMost: must be a whole number"),
        ('per="shift", at_most=-1', "atMost: must be a whole number"),
        ('per="shift", at_most=2**63', "atMost: must be a whole number"),
    ],
)
def test_an_invalid_limit_of_a_resource_in_python_stops_the_start(make_models, limit, problem):
    models = {"signUp": sign_up(FULL), "shift": SHIFT, "task": TASK}

    with pytest.raises(ConfigurationError, match=rf"books.limits\[0\].{problem}"):
        make_models(models, code={"book": BOOK.replace("LIMIT", limit)})
