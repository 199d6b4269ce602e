"""Rows that a caller may not read are as if they did not exist: in status, body and work."""

import re
from dataclasses import replace

import pytest
from sqlalchemy import insert, select

from app.access.rules import AUTHENTICATED, allow
from app.database.session import db
from app.rest.endpoint import served_endpoints
from tests.support.rows import statements

from .clinic import Appointment, Badge, Base, Key, Patient, Physician, Room, resources

ADA, BOB = 1, 2
# The ids of rows of Ada's and Bob's in each table, and of none.
HERS, HIS, NONE = 1, 2, 99
BADGED, UNBADGED = 3, 4
# Bob's physician is in Ada's room; physicians and patients of both have appointments; Bob has a key
# of Ada's room, and one of her physicians has a badge of his.
ROWS = {
    Room: [{"name": "a", "owner_id": ADA}, {"name": "b", "owner_id": BOB}],
    Physician: [
        {"name": "a", "owner_id": ADA, "room_id": HERS},
        {"name": "b", "owner_id": BOB, "room_id": HERS},
        {"name": "c", "owner_id": ADA, "room_id": None},
        {"name": "d", "owner_id": ADA, "room_id": None},
    ],
    Patient: [{"name": "a", "owner_id": ADA}, {"name": "b", "owner_id": BOB}],
    Badge: [
        {"text": "a", "owner_id": ADA, "physician_id": HIS},
        {"text": "b", "owner_id": BOB, "physician_id": BADGED},
    ],
    Appointment: [
        {"physician_id": HERS, "patient_id": HIS},
        {"physician_id": HIS, "patient_id": HERS},
    ],
    Key: [{"room_id": HERS, "user_id": BOB}],
}
BODIES = {"POST": [{"name": "x"}, {"nmae": 1}], "PUT": [{"name": "x"}, {"nmae": 1}]}
BODIES["PATCH"] = BODIES["PUT"]
# Methods that everybody who is logged in may call on the rows of others.
LINKING = [f"__{method}__patients" for method in ("link", "unlink", "exists")]


@pytest.fixture
def app(serve, api, token):
    """Serve the clinic with these rows."""
    api.logged_in("bob@example.com")
    opened = allow(AUTHENTICATED, *LINKING)
    served = {each.name: each for each in resources()}
    closed = served["physicians"].rules
    served["physicians"] = replace(
        served["physicians"], rules=lambda settings: [*closed(settings), opened]
    )
    app = serve(Base.metadata, *served.values())
    with app.app_context(), db.engine.begin() as connection:
        for model, rows in ROWS.items():
            connection.execute(insert(model), rows)
    return app


def routes(app):
    """Yield the verb and path of each route that has an id, and what a path has in its place."""
    for name, endpoint in served_endpoints.of(app).items():
        collection = name.partition(".")[0]
        if collection not in ("rooms", "physicians", "patients", "badges"):
            continue
        for verb, path in endpoint.routes:
            if "<fk>" in path:
                yield verb, f"/{collection}{path.replace('<id>', str(HERS))}", (HIS, NONE)
            if "<id>" in path:
                yield verb, f"/{collection}{path.replace('<fk>', str(HERS))}", (HIS, NONE)
            if path == "/<id>/badge" and verb != "POST":
                yield verb, "/physicians/<id>/badge", (BADGED, UNBADGED)


def answer(app, token, verb, path, id, body):
    """Return the status and body of the answer without the id, and what it took."""
    client, headers = app.test_client(), {"Authorization": token}
    filled = re.sub("<id>|<fk>", str(id), path)
    with statements(app) as sent:
        response = client.open(f"/api{filled}", method=verb, json=body, headers=headers)
    said = re.sub(rf"\b{id}\b", "ID", response.get_data(as_text=True))
    return response.status_code, said, len(sent)


def dump(app):
    with app.app_context():
        return [db.session.execute(select(model.__table__)).all() for model in ROWS]


@pytest.mark.both_databases
def test_rows_that_are_hidden_are_as_if_they_did_not_exist(app, token):
    before, differing, seen = dump(app), [], 0

    for verb, path, ids in routes(app):
        for body in BODIES.get(verb, [None]):
            hidden, none = [answer(app, token, verb, path, id, body) for id in ids]
            seen += 1
            if hidden != none or (hidden[0] not in (404, 422) and "exists" not in path):
                differing.append((verb, path, body, hidden, none))

    assert differing == [], "\n".join(map(str, differing))
    assert seen > 60
    assert dump(app) == before
