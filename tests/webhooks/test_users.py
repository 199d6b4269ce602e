"""Events of users, and the request to reset a password, whose token is sent once."""

import json

import pytest

from tests.conftest import PASSWORD
from tests.support.waiting import eventually

pytestmark = pytest.mark.both_databases
EVENTS = ["users.created", "users.deleted", "users.disabled", "users.loggedIn"]


def register(sending, email="new@example.com"):
    body = {"email": email, "password": PASSWORD}
    answer = sending.call("POST", "/users", body, token=None)
    assert answer.status_code == 200, answer.json
    return answer.json["id"], body


def test_events_of_users_are_sent(sending, receiver):
    sending.add(receiver.url, events=["users.*"])
    sending.add(f"{receiver.url}/deleted", events=["users.deleted"])
    user_id, credentials = register(sending)
    token = sending.call("POST", "/users/login", credentials, token=None).json["id"]
    sending.call("POST", f"/users/{user_id}/disable")
    sending.call("DELETE", f"/users/{user_id}")
    sending.work()
    sent = receiver.take()
    assert [message["type"] for message in sent] == [
        "users.created",
        "users.loggedIn",
        "users.disabled",
        "users.deleted",
    ]
    user = {"id": user_id, "email": "new@example.com", "emailVerified": False}
    assert [message["data"] for message in sent[:3]] == [user] * 3
    assert sent[3]["data"]["id"] == user_id
    assert [message["type"] for message in receiver.take("/deleted")] == ["users.deleted"]
    assert token not in json.dumps(sent)


def test_commands_send_what_is_due(sending, receiver):
    sending.add(receiver.url, events=["users.created"])
    register(sending)
    result = sending.app.test_cli_runner().invoke(args=["outbox", "run", "--once"])
    assert result.exit_code == 0, result.output
    assert [message["type"] for message in receiver.take()] == ["users.created"]


def test_what_is_rolled_back_is_not_sent(sending, receiver):
    sending.add(receiver.url, events=["users.*"])
    register(sending)
    body = {"email": "new@example.com", "password": PASSWORD}
    assert sending.call("POST", "/users", body, token=None).status_code == 422
    sending.work()
    assert [message["type"] for message in receiver.take()] == ["users.created"]


def test_the_token_of_a_reset_is_sent_where_it_is_named(sending, receiver, secrets):
    register(sending)
    sending.add(f"{receiver.url}/all", events=["users.*"])
    webhook = sending.add(receiver.url, events=["resetPasswordRequest"])
    receiver.answers["/"] = lambda handler: handler.answer(500)
    body = {"email": "new@example.com"}
    assert sending.call("POST", "/users/reset", body, token=None).status_code == 200
    eventually(lambda: sending.deliveries(webhook))
    sending.work()
    [message] = receiver.take()
    token = message["data"]["accessToken"]["id"]
    secrets.append(token)
    assert receiver.take("/all") == []
    path = f"/admin/webhooks/{webhook['id']}/deliveries"
    listed = sending.call("GET", path).get_data(as_text=True)
    assert token not in listed
    [delivery] = json.loads(listed)
    assert delivery["type"] == "resetPasswordRequest"
    assert sending.call("POST", f"{path}/{delivery['id']}/resend").status_code == 409
    new = {"newPassword": PASSWORD + "2"}
    answer = sending.call("POST", "/users/reset-password", new, token=token)
    assert answer.status_code == 204, answer.json
