"""Sites, coordinators, shifts and sign-ups, as the documents have them, with its tests."""

import json

import pytest

from ostiary.testing import Client, Parallel, Users
from tests.support.documents import blocks

ROLES, COORDINATORS = "docs/dynamic-roles.md", "The coordinators of a site"
LIMITS = "docs/limits.md"


@pytest.fixture
def app(make_models):
    """The app of the models and the code of both sections."""
    [code, _] = blocks(ROLES, "python", COORDINATORS)
    sign_up, _ = blocks(LIMITS, "json")
    models = [*map(json.loads, blocks(ROLES, "json", COORDINATORS)), json.loads(sign_up)]
    return make_models({model["name"]: model for model in models}, code={"Shift": code})


@pytest.fixture
def client(app):
    app.test_client_class = Client
    return app.test_client()


@pytest.mark.both_databases
def test_coordinators_write_the_shifts_of_their_site_as_documented(app, client):
    [_, test] = blocks(ROLES, "python", COORDINATORS)
    namespace = {}
    exec(test, namespace)

    namespace["test_coordinators_write_the_shifts_of_their_site"](client, Users(app))


@pytest.mark.both_databases
def test_a_shift_has_no_more_sign_ups_than_its_capacity_as_documented(app, client):
    [test] = blocks(LIMITS, "python")
    namespace = {}
    exec(test, namespace)

    namespace["test_a_shift_has_no_more_sign_ups_than_its_capacity"](client, Users(app), Parallel())


def test_a_cancelled_that_is_null_takes_a_place_of_the_documented_shift(app, client):
    user = Users(app)
    admin, ada = user(role="admin"), user()
    client.post("/api/sites", json={"name": "North"}, user=admin)
    client.post("/api/coordinators", json={"siteId": 1, "userId": ada.id}, user=admin)
    client.post("/api/shifts", json={"title": "Late", "siteId": 1, "capacity": 1}, user=ada)
    sign_up = {"shiftId": 1, "cancelled": None}

    answers = [client.post("/api/signUps", json=sign_up, user=ada) for _ in range(2)]

    assert [answer.status_code for answer in answers] == [200, 409]


def test_the_error_is_the_documented_one(app, client):
    _, error = blocks(LIMITS, "json")
    user = Users(app)
    admin, ada = user(role="admin"), user()
    client.post("/api/sites", json={"name": "North"}, user=admin)
    client.post("/api/coordinators", json={"siteId": 1, "userId": ada.id}, user=admin)
    client.post("/api/shifts", json={"title": "Late", "siteId": 1, "capacity": 1}, user=ada)

    _, refused = [client.post("/api/signUps", json={"shiftId": 1}, user=ada) for _ in range(2)]

    assert refused.json == json.loads(error)
