"""Receivers that must not be called, and those that answer slowly, endlessly or elsewhere."""

import socket
import threading

from app.webhooks import sending as calls
from app.webhooks.sending import senders

from .conftest import Handler


def test_private_addresses_are_refused_when_they_are_called(make_sending, receiver):
    """Also those that were permitted when the webhook was added."""
    before = make_sending()
    before.add(receiver.url.replace("http:", "https:"), events=["users.created"])
    before.call("POST", "/admin/webhooks/1/test")
    with before.app.app_context():
        before.app.config["WEBHOOK_HOSTS"] = []
        senders.set(before.app, calls.Sender(before.app))
    before.work()
    assert receiver.messages == []
    assert before.deliveries({"id": 1})[0]["lastError"] == "BlockedHostError"


def test_a_name_is_checked_by_the_address_of_the_connection(make_sending, receiver, monkeypatch):
    """A name server that first answers a public address, and then a private one, gains nothing."""
    sending = make_sending(WEBHOOK_HOSTS=[])
    port = int(receiver.url.rpartition(":")[2])
    asked = []

    def look_up(host, *arguments, **options):
        asked.append(host)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", port))]

    webhook = sending.add(f"https://hooks.example.com:{port}/", events=["users.created"])
    sending.call("POST", f"/admin/webhooks/{webhook['id']}/test")
    monkeypatch.setattr(calls, "CONNECT_TIMEOUT", 1.0)
    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    sending.work()
    assert "hooks.example.com" in asked
    assert receiver.messages == []
    assert sending.deliveries(webhook)[0]["lastError"] == "BlockedHostError"


def test_http_is_only_for_permitted_hosts(make_sending, receiver):
    port = receiver.url.rpartition(":")[2]
    sending = make_sending(WEBHOOK_HOSTS=[f"127.0.0.1:{port}", "10.0.0.0/8", "hooks.internal"])
    for url, status in (
        (receiver.url, 200),
        ("http://127.0.0.1:1", 422),
        ("http://10.1.2.3", 200),
        ("http://11.1.2.3", 422),
        ("http://hooks.internal:8080", 200),
        ("http://hooks.example.com", 422),
    ):
        answer = sending.call("POST", "/admin/webhooks", {"url": url, "events": ["users.created"]})
        assert answer.status_code == status, answer.json
    sending.call("POST", "/admin/webhooks/1/test")
    sending.work()
    assert len(receiver.messages) == 1


def test_redirects_are_not_followed(sending, receiver):
    webhook = sending.add(f"{receiver.url}/moved", events=["users.created"])
    receiver.answers["/moved"] = lambda handler: handler.answer(302, Location=receiver.url)
    sending.call("POST", f"/admin/webhooks/{webhook['id']}/test")
    sending.work()
    assert [path for path, _, _ in receiver.messages] == ["/moved"]
    assert sending.deliveries(webhook)[0]["status"] == 302


def test_an_answer_is_read_to_a_limit_and_for_a_time(sending, receiver, monkeypatch):
    def endless(handler: Handler) -> None:
        handler.send_response(200)
        handler.end_headers()
        for _ in range(1000):
            handler.wfile.write(b"x" * 65536)

    def dripping(handler: Handler) -> None:
        for _ in range(1000):
            handler.wfile.write(b"HTTP/1.1 200 OK\r\nX-Wait: ")
            if receiver_is_done.wait(0.05):
                break

    receiver_is_done = threading.Event()
    monkeypatch.setattr(calls, "TIMEOUT", 0.5)
    receiver.answers |= {"/endless": endless, "/dripping": dripping}
    states = {}
    for path in receiver.answers:
        webhook = sending.add(receiver.url + path, events=["users.created"])
        sending.call("POST", f"/admin/webhooks/{webhook['id']}/test")
        sending.work()
        [found] = sending.deliveries(webhook)
        states[path] = (found["status"], found["attempts"])
    receiver_is_done.set()
    assert states == {"/endless": (200, 1), "/dripping": (None, 1)}
