"""Computed properties of models in Python: SQL of a project, for rows and for related ones."""

import json

import pytest

from app.problems import ConfigurationError

from .test_computed_page import CODE

pytestmark = pytest.mark.both_databases

MORE = """
from datetime import timedelta

from sqlalchemy import case, exists, literal, type_coerce

from ostiary.columns import now
from ostiary.database import db
from ostiary.resources import belongs_to
from ostiary.rules import READ

same = Shift.__table__.alias()
shifts.computed.update(
    places=select(Shift.capacity),
    isFull=Shift.capacity <= taken.scalar_subquery(),
    size=case((Shift.capacity.in_([1, 2]), "small"), else_="large"),
    sameTitle=select(func.count()).select_from(same).where(same.c.title == Shift.title),
    firstId=select(func.min(SignUp.id)).where(SignUp.shift_id == Shift.id),
)
sign_ups.relations["shift"] = belongs_to("shifts", "shift_id")


@shifts.endpoint("first", READ, "GET /first", answer=ShiftSchema)
def first():
    return db.session.get(Shift, 1)


@shifts.endpoint("everything", READ, "GET /everything", answer=[ShiftSchema])
def everything():
    return db.session.scalars(select(Shift).order_by(Shift.id)).all()


@shifts.endpoint("rename", READ, "POST /<id>/rename", answer=ShiftSchema)
def rename(shift):
    [changed] = shifts.update([Shift.id == shift.id], {"title": f"{shift.title} {shift.taken}"})
    return changed
"""


@pytest.fixture
def rota(serve):
    """Serve two shifts, the first one with two sign-ups; return calls with Ada's token."""
    api = serve({}, code={"shift": CODE + MORE})
    tokens = [api.logged_in(f"{name}@example.com") for name in ("ada", "bob")]
    for capacity in (2, 5):
        api("POST", "/shifts", {"title": "Day", "capacity": capacity}, token=tokens[0])
    for token in tokens:
        api("POST", "/signUps", {"shiftId": 1}, token=token)
    return lambda method, path, body=None: api(method, path, body, token=tokens[0])


FIRST = {
    "id": 1,
    "title": "Day",
    "capacity": 2,
    "free": 0,
    "taken": 2,
    "visible": 1,
    "mine": 1,
    "places": 2,
    "isFull": True,
    "size": "small",
    "sameTitle": 2,
    "firstId": 1,
}
SECOND = {
    "id": 2,
    "title": "Day",
    "capacity": 5,
    "free": 5,
    "taken": 0,
    "visible": 0,
    "mine": 0,
    "places": 5,
    "isFull": False,
    "size": "large",
    "sameTitle": 2,
    "firstId": None,
}


def test_values_have_the_types_of_their_sql(rota):
    for _ in range(3):
        assert rota("GET", "/shifts").json == [FIRST, SECOND]
        assert rota("GET", "/shifts/2").json == SECOND
    schema = rota("GET", "/openapi.json").json["components"]["schemas"]["Shift"]["properties"]
    types = {name: schema[name]["type"] for name in ("taken", "isFull", "size")}
    assert types == {
        "taken": ["integer", "null"],
        "isFull": ["boolean", "null"],
        "size": ["string", "null"],
    }


def test_own_endpoints_answer_with_computed_properties_of_rows_and_entities(rota):
    assert rota("GET", "/shifts/first").json == FIRST
    assert rota("GET", "/shifts/everything").json == [FIRST, SECOND]
    renamed = rota("POST", "/shifts/1/rename").json
    assert renamed == {**FIRST, "title": "Day 2", "sameTitle": 1}


@pytest.mark.parametrize(
    ("where", "ids"),
    [
        ({"isFull": True}, [1]),
        ({"free": {"gt": 1}}, [2]),
        ({"size": {"like": "l%"}}, [2]),
        ({"mine": 1}, [1]),
        ({"firstId": {"inq": [1, 7]}}, [1]),
    ],
)
def test_filters_of_rows_and_of_related_rows_compare_them(rota, where, ids):
    filter_ = json.dumps({"where": where, "order": ["free DESC"]})
    related = json.dumps({"where": {"shift": where}})

    assert [row["id"] for row in rota("GET", f"/shifts?filter={filter_}").json] == ids
    own = [row["id"] for row in rota("GET", f"/signUps?filter={related}").json]
    assert own == ([1] if ids == [1] else [])


@pytest.mark.parametrize(
    ("computed", "problem"),
    [
        ("value=select(Shift.id, Shift.title)", "shifts.value: it must select one value"),
        ("value=func.avg(Shift.capacity)", "shifts.value: the type of its values is unknown"),
        ("capacity=taken", "shifts.capacity: its name is that of something else"),
        ("signUps=taken", "shifts.signUps: its name is that of something else"),
        ("Title=taken", "shifts.Title: its name is that of something else"),
        ("_value=taken", "shifts._value: its name must be one that an attribute can have"),
        ("value=lambda readable: taken.where(readable('signUp'))", "shifts.value: KeyError"),
        ("value=lambda readable: unknown", "shifts.value: NameError: name 'unknown'"),
    ],
)
def test_what_cannot_be_used_is_refused_at_the_start(serve, computed, problem):
    with pytest.raises(ConfigurationError, match=problem):
        serve({}, code={"shift": f"{CODE}\n\nshifts.computed.update({computed})\n"})
