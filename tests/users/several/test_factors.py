"""Second factors, personal tokens and batches of users of each model."""

import pytest

from app.database.session import db
from app.users.accounts.credentials import vouch_for
from app.users.models import user_model
from tests.conftest import PASSWORD
from tests.support.second_factors import OPTIONAL, Device

from .shop import CONFIG, CUSTOMERS, MODELS, STAFF_PATH, Person

OTHER = {CUSTOMERS: STAFF_PATH, STAFF_PATH: CUSTOMERS}


def prove_address(api, person):
    with api.client.application.app_context():
        vouch_for(db.session.get(user_model(), person.id))


@pytest.mark.parametrize("path", OTHER)
def test_the_second_step_of_a_login_is_at_the_path_of_its_model(serve, path):
    api = serve(MODELS, CONFIG, **OPTIONAL)
    person = Person(api, path, "ada@example.com")
    other = Person(api, OTHER[path], "ada@example.com")
    prove_address(api, person)
    below = f"{path}/{person.id}/factors/totp"
    refused = api("POST", below, {"name": "phone"}, token=other.token)
    assert refused.status_code == 403
    made = api("POST", below, {"name": "phone"}, token=person.token)
    api.secrets.append(made.json["secret"])
    device = Device(made.json["secret"])
    confirmed = api("POST", f"{below}/confirm", {"code": device.code()}, token=person.token)
    assert confirmed.status_code == 204

    given = {"email": person.email, "password": PASSWORD}
    first = api("POST", f"{path}/login", given)
    assert first.status_code == 401
    ticket = first.json["error"]["details"]["ticket"]
    api.secrets.append(ticket)
    body = {"ticket": ticket, "code": device.code()}
    assert api("POST", f"{OTHER[path]}/login/factor", body).status_code == 401
    answer = api("POST", f"{path}/login/factor", body)

    api.secrets.append(answer.json["id"])
    name = "Customer" if path == CUSTOMERS else "Staff"
    assert (answer.json["userId"], answer.json["principalType"]) == (person.id, name)
    # The other one has none.
    answer = api("POST", f"{OTHER[path]}/login", given)
    api.secrets.append(answer.json["id"])
    assert answer.status_code == 200


def test_a_personal_token_is_that_of_a_user_of_its_model(serve):
    api = serve(MODELS, CONFIG, PERSONAL_TOKENS={})
    customer = Person(api, CUSTOMERS, "ada@example.com")
    staff = Person(api, STAFF_PATH, "ada@example.com")
    prove_address(api, staff)
    body = {"name": "till", "scopes": {"Notes": ["*"], "staff": ["*"], "users": ["*"]}}
    made = api("POST", f"{STAFF_PATH}/{staff.id}/personalTokens", body, token=staff.token)
    assert made.status_code == 200, made.json
    token = made.json["token"]
    api.secrets.append(token)

    note = api("POST", "/Notes", {"text": "x"}, token=token)
    assert note.json["authorId"] == staff.id
    for path in (f"{CUSTOMERS}/{customer.id}", f"{CUSTOMERS}/{staff.id}"):
        assert api("GET", path, token=token).status_code == 403


@pytest.mark.parametrize("path", OTHER)
def test_a_batch_reaches_no_more_than_its_calls(serve, path):
    api = serve(MODELS, CONFIG, BATCH_ENABLED=True)
    customer = Person(api, CUSTOMERS, "ada@example.com")
    staff = Person(api, STAFF_PATH, "ada@example.com")
    caller = staff if path == CUSTOMERS else customer
    for row_id in (customer.id, staff.id):
        call = {"method": "PATCH", "path": f"{path}/{row_id}", "body": {"level": None}}
        answer = api("POST", "/batch", {"requests": [call]}, token=caller.token)
        assert answer.status_code == 403, answer.json
