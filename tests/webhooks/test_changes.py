"""Changes of rows are sent: signed, once each, in order where asked, until they are taken."""

import threading
from datetime import timedelta

import pytest
from standardwebhooks import Webhook as Verifier

from app.changes.watched import watched_models
from app.times import now
from app.webhooks.models import Webhook
from app.webhooks.worker import workers
from tests.support.waiting import eventually

from .conftest import Handler

pytestmark = pytest.mark.both_databases


def test_changes_are_sent_with_signatures(sending, receiver):
    webhook = sending.add(receiver.url, models=["Orders"])
    order = sending.call("POST", "/orders", {"title": "Home", "secret": "hidden"}).json
    sending.work()
    [(_, headers, body)] = receiver.messages
    verified = Verifier(webhook["secret"]).verify(body.decode(), headers)
    assert verified["type"] == "Orders.created"
    assert verified["data"] == {**order, "title": "Home"}
    assert "hidden" not in body.decode()
    sending.call("PATCH", f"/orders/{order['id']}", {"status": "paid"})
    sending.work()
    sending.call("DELETE", f"/orders/{order['id']}")
    sending.work()
    types = [message["type"] for message in receiver.take()]
    assert types == ["Orders.created", "Orders.updated", "Orders.removed"]
    found = sending.deliveries(webhook)
    assert [(each["state"], each["status"], each["answer"]) for each in found] == [
        ("delivered", 200, "thanks")
    ] * 3


def test_nothing_is_sent_of_before_nor_of_other_models(sending, receiver):
    sending.call("POST", "/orders", {"title": "Before"})
    sending.add(receiver.url, models=["Orders"])
    sending.call("POST", "/lines", {"sku": "1"})
    sending.work()
    assert receiver.take() == []


def test_kinds_and_where_select_what_is_sent(sending, receiver):
    paid = {"Orders": {"status": "paid"}}
    sending.add(f"{receiver.url}/", models=["Orders"], where=paid)
    sending.add(f"{receiver.url}/removed", models=["Orders"], kinds=["removed"])
    order = sending.call("POST", "/orders", {"title": "A", "status": "new"}).json
    sending.work()
    assert receiver.take() == []
    sending.call("PATCH", f"/orders/{order['id']}", {"status": "paid"})
    sending.work()
    sending.call("PATCH", f"/orders/{order['id']}", {"status": "sent"})
    sending.work()
    sent = receiver.take()
    assert [message["type"] for message in sent] == ["Orders.updated", "Orders.removed"]
    assert sent[1]["data"] == {"id": order["id"]}
    assert receiver.take("/removed") == []
    sending.call("DELETE", f"/orders/{order['id']}")
    sending.work()
    assert [message["type"] for message in receiver.take("/removed")] == ["Orders.removed"]


def test_two_secrets_sign_while_one_is_rotated(sending, receiver):
    webhook = sending.add(receiver.url, models=["Orders"])
    path = f"/admin/webhooks/{webhook['id']}"
    rotated = sending.call("POST", f"{path}/rotate").json
    assert rotated["secret"] != webhook["secret"]
    sending.call("POST", "/orders", {"title": "A"})
    sending.work()
    [(_, headers, body)] = receiver.messages
    for secret in (webhook["secret"], rotated["secret"]):
        Verifier(secret).verify(body.decode(), headers)
    sending.age(Webhook, old_secret_until=now() - timedelta(seconds=1))
    receiver.messages.clear()
    sending.call("POST", "/orders", {"title": "B"})
    sending.work()
    [(_, headers, body)] = receiver.messages
    assert len(headers["webhook-signature"].split()) == 1
    Verifier(rotated["secret"]).verify(body.decode(), headers)


def test_what_was_not_taken_is_sent_again_with_the_same_id(sending, receiver):
    webhook = sending.add(receiver.url, models=["Orders"])
    receiver.answers["/"] = lambda handler: handler.answer(503, b"busy\n\x00" + b"x" * 300)
    sending.call("POST", "/orders", {"title": "A"})
    sending.work()
    [waiting] = sending.deliveries(webhook)
    assert (waiting["state"], waiting["status"], waiting["attempts"]) == ("pending", 503, 1)
    assert waiting["answer"] == ("busy  " + "x" * 300)[:200]
    sending.work()
    assert len(receiver.messages) == 1
    del receiver.answers["/"]
    sending.age()
    sending.work()
    first, second = (headers["webhook-id"] for _, headers, _ in receiver.messages)
    assert first == second
    assert sending.deliveries(webhook)[0]["state"] == "delivered"
    assert sending.call("GET", f"/admin/webhooks/{webhook['id']}").json["failures"] == 0


def test_a_failing_receiver_delays_no_other_and_rows_keep_their_order(sending, receiver):
    sending.add(f"{receiver.url}/bad", models=["Orders"], ordered=True)
    sending.add(receiver.url, models=["Orders"])
    receiver.answers["/bad"] = lambda handler: handler.answer(500)
    order = sending.call("POST", "/orders", {"title": "A"}).json
    sending.work()
    sending.call("PATCH", f"/orders/{order['id']}", {"title": "B"})
    sending.work()
    assert [message["data"]["title"] for message in receiver.take()] == ["A", "B"]
    assert len(receiver.take("/bad")) == 1
    # Both are recorded and due again: the second waits until the first is taken.
    receiver.answers["/bad"] = Handler.answer
    sending.age()
    sending.work()
    sending.age()
    sending.work()
    assert [message["data"]["title"] for message in receiver.take("/bad")] == ["A", "B"]


def test_a_receiver_that_fails_for_five_days_is_disabled(sending, receiver):
    webhook = sending.add(receiver.url, models=["Orders"])
    receiver.answers["/"] = lambda handler: handler.answer(500)
    sending.call("POST", "/orders", {"title": "A"})
    sending.work()
    sending.age(Webhook, failing_since=now() - timedelta(days=6))
    sending.age()
    sending.work()
    assert not sending.call("GET", f"/admin/webhooks/{webhook['id']}").json["enabled"]
    where = {"where": {"action": "webhook-given-up"}}
    [record] = sending.call(
        "GET", "/admin/audit", query_string={"filter": str(where).replace("'", '"')}
    ).json
    assert record["details"] == {"webhook": webhook["id"], "reason": "failures of five days"}


def test_a_receiver_that_is_gone_is_disabled_at_once(sending, receiver):
    webhook = sending.add(receiver.url, models=["Orders"])
    receiver.answers["/"] = lambda handler: handler.answer(410)
    sending.call("POST", "/orders", {"title": "A"})
    sending.work()
    path = f"/admin/webhooks/{webhook['id']}"
    assert not sending.call("GET", path).json["enabled"]
    sending.call("POST", "/orders", {"title": "Meanwhile"})
    del receiver.answers["/"]
    receiver.messages.clear()
    assert sending.call("POST", f"{path}/enable").json["enabled"]
    sending.call("POST", "/orders", {"title": "B"})
    sending.work()
    titles = [message["data"]["title"] for message in receiver.take()]
    assert titles == ["B"] or titles == ["A", "B"]


def test_a_delivery_expires_and_can_be_sent_again(sending, receiver):
    webhook = sending.add(receiver.url, models=["Orders"])
    receiver.answers["/"] = lambda handler: handler.answer(500)
    sending.call("POST", "/orders", {"title": "A"})
    sending.work()
    sending.age(deadline=now())
    sending.work()
    [failed] = sending.deliveries(webhook)
    assert failed["state"] == "failed"
    del receiver.answers["/"]
    path = f"/admin/webhooks/{webhook['id']}/deliveries/{failed['id']}/resend"
    assert sending.call("POST", path).json["state"] == "pending"
    assert sending.call("POST", path).status_code == 409
    sending.age(Webhook)
    receiver.messages.clear()
    sending.work()
    [(_, headers, body)] = receiver.messages
    assert headers["webhook-id"] == failed["messageId"]
    Verifier(webhook["secret"]).verify(body.decode(), headers)


def test_several_workers_send_each_change_once(sending, receiver):
    sending.add(receiver.url, models=["Orders"])
    for number in range(20):
        sending.call("POST", "/orders", {"title": str(number)})
    barrier = threading.Barrier(4)

    def work():
        barrier.wait()
        workers.of(sending.app).work()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    sent = [message["data"]["title"] for message in receiver.take()]
    assert sent == [str(number) for number in range(20)]


def test_after_a_new_epoch_receivers_read_rows_anew(sending, receiver):
    sending.add(receiver.url, models=["Orders"])
    result = sending.app.test_cli_runner().invoke(args=["changes", "new-epoch"])
    assert result.exit_code == 0, result.output
    sending.work()
    [message] = receiver.take()
    assert (message["type"], message["data"]) == ("resync", {"models": ["Orders"]})


def test_a_model_that_is_not_recorded_any_more_stops_no_other_event(sending, receiver, caplog):
    webhook = sending.add(receiver.url, models=["Orders"])
    sending.add(f"{receiver.url}/lines", models=["Lines"])
    sending.call("POST", f"/admin/webhooks/{webhook['id']}/test")
    sending.call("POST", "/orders", {"title": "A"})
    sending.call("POST", "/lines", {"sku": "1"})
    with sending.app.app_context():
        removed = watched_models.current.pop("Orders")
    sending.work()
    assert "webhook 1: changes cannot be read: the changes of Orders are not" in caplog.text
    assert [message["type"] for message in receiver.take()] == ["webhooks.test"]
    assert [message["type"] for message in receiver.take("/lines")] == ["Lines.created"]
    with sending.app.app_context():
        watched_models.current["Orders"] = removed
    sending.work()
    assert receiver.take() == []
    sending.age()
    sending.work()
    assert [message["type"] for message in receiver.take()] == ["Orders.created"]


def test_changes_that_were_purged_before_they_were_read_are_a_resync(sending, receiver):
    sending.add(receiver.url, models=["Orders"])
    sending.call("POST", "/orders", {"title": "A"})
    sending.age(Webhook, read_at=now() - timedelta(days=30))
    sending.work()
    assert [message["type"] for message in receiver.take()] == ["resync"]
    sending.call("POST", "/orders", {"title": "B"})
    sending.work()
    assert [message["type"] for message in receiver.take()] == ["Orders.created"]


def test_models_that_are_added_later_send_what_happens_from_then_on(sending, receiver):
    webhook = sending.add(receiver.url, events=["users.disabled"])
    sending.call("POST", "/orders", {"title": "Before"})
    path = f"/admin/webhooks/{webhook['id']}"
    assert sending.call("PATCH", path, {"models": ["Orders"]}).status_code == 200
    sending.call("POST", "/orders", {"title": "After"})
    sending.work()
    assert [message["data"]["title"] for message in receiver.take()] == ["After"]


def test_a_changed_address_is_that_of_the_next_delivery(sending, receiver):
    """Also if a process has the webhook in progress."""
    webhook = sending.add(f"{receiver.url}/old", models=["Orders"])
    path = f"/admin/webhooks/{webhook['id']}"

    def change(handler):
        assert sending.call("PATCH", path, {"url": receiver.url}).status_code == 200
        handler.answer()

    receiver.answers["/old"] = change
    for title in "AB":
        sending.call("POST", "/orders", {"title": title})
    sending.work()
    sending.work()
    assert [message["data"]["title"] for message in receiver.take("/old")] == ["A"]
    assert [message["data"]["title"] for message in receiver.take()] == ["B"]


def test_a_where_that_is_not_valid_any_more_stops_no_other_event(sending, receiver):
    webhook = sending.add(receiver.url, models=["Orders"])
    sending.age(Webhook, filters={"Orders": {"gone": 1}})
    sending.call("POST", "/orders", {"title": "A"})
    sending.call("POST", f"/admin/webhooks/{webhook['id']}/test")
    sending.work()
    assert [message["type"] for message in receiver.take()] == ["webhooks.test"]


def test_a_process_that_ends_finishes_the_call_in_progress_and_no_more(sending, receiver):
    """Its threads do not hold up the exit of Python, which calls `stop` after other threads."""
    webhook = sending.add(receiver.url, models=["Orders"])
    begun, released, daemons = threading.Event(), threading.Event(), []

    def slow(handler):
        found = [each for each in threading.enumerate() if each.name.startswith("webhook")]
        daemons.extend(each.daemon for each in found)
        begun.set()
        released.wait(20)
        handler.answer()

    receiver.answers["/"] = slow
    for title in "AB":
        sending.call("POST", "/orders", {"title": title})
    worker = workers.of(sending.app)
    worker.start()
    assert begun.wait(20)
    stopping = threading.Thread(target=worker.stop)
    stopping.start()
    eventually(lambda: worker.is_stopping)
    released.set()
    stopping.join()
    assert daemons == [True, True]
    states = [delivery["state"] for delivery in sending.deliveries(webhook)]
    assert states == ["delivered", "pending"]
