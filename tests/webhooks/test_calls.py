"""The calls for webhooks: who may make them, what they refuse, and what they never show."""

import pytest
from sqlalchemy import select

from app.database.session import db
from app.webhooks.models import Webhook, WebhookDelivery

from .conftest import KEY

URL = "https://hooks.example.com/shop"


def test_only_admins_manage_webhooks(sending, api):
    webhook = sending.add(URL, models=["Orders"])
    path = f"/admin/webhooks/{webhook['id']}"
    calls = [
        ("GET", "/admin/webhooks"),
        ("POST", "/admin/webhooks"),
        ("GET", path),
        ("PATCH", path),
        ("DELETE", path),
        *(("POST", f"{path}/{name}") for name in ("rotate", "test", "enable", "disable")),
        ("GET", f"{path}/deliveries"),
        ("POST", f"{path}/deliveries/1/resend"),
    ]
    other = api.logged_in("bob@example.com")
    for method, called in calls:
        assert sending.call(method, called, {}, token=None).status_code == 401, called
        assert sending.call(method, called, {}, token=other).status_code == 403, called


def test_a_webhook_is_listed_changed_and_deleted(sending):
    webhook = sending.add(URL, models=["Orders"], ordered=True, where={"Orders": {"status": "a"}})
    path = f"/admin/webhooks/{webhook['id']}"
    shown = {name: value for name, value in webhook.items() if name != "secret"}
    assert sending.call("GET", path).json == shown
    assert shown["kinds"] == ["created", "updated", "removed"]
    assert shown["events"] == []
    assert shown["ordered"] is shown["enabled"] is True
    changed = sending.call("PATCH", path, {"kinds": ["removed"], "ordered": False}).json
    assert changed == {**shown, "kinds": ["removed"], "ordered": False}
    assert sending.call("GET", "/admin/webhooks").json == [changed]
    assert sending.call("DELETE", path).status_code == 204
    assert sending.call("GET", path).status_code == 404
    assert sending.call("GET", "/admin/webhooks").json == []


@pytest.mark.parametrize(
    ("settings", "field", "text"),
    [
        ({"url": "http://hooks.example.com"}, "url", "https"),
        ({"url": "ftp://hooks.example.com"}, "url", "https"),
        ({"url": "https://user:pass@hooks.example.com"}, "url", "without a user"),
        ({"url": "https://" + "a" * 2000}, "url", "too long"),
        ({"url": "https://localhost"}, "url", "not public"),
        ({"url": "https://127.0.0.1"}, "url", "not public"),
        ({"url": "https://[::ffff:10.0.0.1]:8443"}, "url", "not public"),
        ({"url": "https://169.254.169.254/latest"}, "url", "not public"),
        ({"url": "https://0x7f000001"}, "url", "not public"),
        ({"models": ["Notes"]}, "models", "'Notes', whose changes are not recorded"),
        ({"models": ["Order"]}, "models", "Orders"),
        ({"models": ["Orders"] * 101}, "models", "Longer than"),
        ({"models": []}, "models", "something to send"),
        ({"kinds": ["made"]}, "kinds.0", "created, updated, removed"),
        ({"events": ["users.made"]}, "events.0", "users.created"),
        ({"where": {"Lines": {"sku": "1"}}}, "models", "lacks 'Lines'"),
        ({"where": {"Orders": {"nothing": 1}}}, "models", "nothing"),
        ({"where": {"Orders": {"secret": "1"}}}, "models", "secret"),
        ({"where": {"Orders": {"lines": {"sku": "1"}}}}, "models", "relations"),
        ({"where": {"Orders": []}}, "where.Orders.value", "mapping"),
        ({"secret": "own"}, "secret", "not a property"),
    ],
)
def test_settings_that_cannot_be_used_are_refused(make_sending, settings, field, text):
    sending = make_sending(WEBHOOK_HOSTS=["hooks.internal"])
    answer = sending.call("POST", "/admin/webhooks", {"url": URL, "models": ["Orders"], **settings})
    assert answer.status_code == 422, answer.json
    messages = answer.json["error"]["details"]["messages"]
    assert text in messages[field][0], messages
    assert sending.call("GET", "/admin/webhooks").json == []


def test_a_change_is_checked_with_what_stays(sending):
    webhook = sending.add(URL, models=["Orders"], where={"Orders": {"status": "a"}})
    path = f"/admin/webhooks/{webhook['id']}"
    answer = sending.call("PATCH", path, {"models": ["Lines"]})
    assert answer.status_code == 422
    assert "lacks 'Orders'" in answer.json["error"]["message"]


@pytest.mark.parametrize("id", ["2", "x", "-1", "1" * 30, "٣"])
def test_unknown_webhooks_are_not_found(sending, id):
    sending.add(URL, models=["Orders"])
    for method, path in (
        ("GET", ""),
        ("POST", "/rotate"),
        ("GET", "/deliveries"),
        ("POST", "/deliveries/1/resend"),
    ):
        answer = sending.call(method, f"/admin/webhooks/{id}{path}")
        assert answer.status_code == 404, answer.json
    assert sending.call("POST", f"/admin/webhooks/1/deliveries/{id}/resend").status_code == 404


def test_there_are_at_most_a_hundred(sending):
    values = {"kinds": [], "events": [], "filters": {}, "is_ordered": False, "position": {}}
    with sending.app.app_context(), db.engine.begin() as database:
        rows = [{"url": URL, "models": [], "secret": "", **values} for _ in range(100)]
        database.execute(Webhook.__table__.insert(), rows)
    answer = sending.call("POST", "/admin/webhooks", {"url": URL, "models": ["Orders"]})
    assert answer.status_code == 409
    assert "100" in answer.json["error"]["message"]


def test_deliveries_are_listed_by_pages(sending, receiver):
    webhook = sending.add(receiver.url, models=["Orders"])
    sending.call("PATCH", f"/admin/webhooks/{webhook['id']}", {"models": ["Orders", "Lines"]})
    rows = [{"title": str(number)} for number in range(101)]
    assert sending.call("POST", "/orders", rows).status_code == 200
    sending.work()
    path = f"/admin/webhooks/{webhook['id']}/deliveries"
    first = sending.call("GET", path).json
    assert len(first) == 100
    rest = sending.call("GET", path, query_string={"before": first[-1]["id"]}).json
    assert len(rest) == 1
    for before in ("x", "-1", "1" * 30):
        answer = sending.call("GET", path, query_string={"before": before})
        assert answer.status_code == 422, answer.json


def test_a_test_is_sent(sending, receiver):
    webhook = sending.add(receiver.url, events=["users.created"])
    path = f"/admin/webhooks/{webhook['id']}"
    assert sending.call("POST", f"{path}/test").json["type"] == "webhooks.test"
    sending.work()
    [message] = receiver.take()
    assert (message["type"], message["data"]) == ("webhooks.test", {})
    assert sending.call("POST", f"{path}/disable").json["enabled"] is False
    assert sending.call("POST", f"{path}/test").status_code == 409


def test_secrets_and_bodies_are_encrypted(sending, receiver, secrets):
    webhook = sending.add(receiver.url, models=["Orders"])
    secrets.append(webhook["secret"])
    rotated = sending.call("POST", f"/admin/webhooks/{webhook['id']}/rotate").json
    secrets.append(rotated["secret"])
    sending.call("POST", "/orders", {"title": "A"})
    sending.work()
    assert len(receiver.messages) == 1
    with sending.app.app_context():
        stored = str(db.session.execute(select(Webhook.__table__)).all())
        sent = str(db.session.execute(select(WebhookDelivery.__table__)).all())
    assert "whsec_" not in stored
    assert "title" not in sent
    settings = sending.call("GET", "/admin/settings").get_data(as_text=True)
    assert KEY not in settings


def test_changes_of_webhooks_are_audited(sending):
    webhook = sending.add(URL, models=["Orders"])
    path = f"/admin/webhooks/{webhook['id']}"
    sending.call("PATCH", path, {"ordered": True})
    for name in ("rotate", "disable", "enable"):
        sending.call("POST", f"{path}/{name}")
    sending.call("DELETE", path)
    records = [
        (record["action"], record["details"].get("change"))
        for record in sending.call("GET", "/admin/audit").json
        if record["action"].startswith("webhook")
    ]
    assert records[::-1] == [
        ("webhook-created", None),
        ("webhook-changed", "settings"),
        ("webhook-changed", "secret"),
        ("webhook-changed", "disabled"),
        ("webhook-changed", "enabled"),
        ("webhook-deleted", None),
    ]


def test_they_are_not_served_unless_they_are_switched_on(make_callers_shop):
    shop = make_callers_shop(ADMIN_ENABLED=True)
    assert shop("GET", "/admin/webhooks").status_code == 404


@pytest.mark.parametrize("keys", [[], ["short"]])
def test_they_need_a_key(make_callers_shop, keys):
    with pytest.raises(Exception, match="WEBHOOK_KEYS"):
        make_callers_shop(WEBHOOKS=True, WEBHOOK_KEYS=keys)


def test_commands(sending, receiver):
    def run(*arguments):
        result = sending.app.test_cli_runner().invoke(args=["webhooks", *arguments])
        return result.exit_code, result.output

    where = '{"Orders": {"status": "paid"}}'
    code, output = run("create", receiver.url, "--model", "Orders", "--where", where, "--ordered")
    assert code == 0, output
    assert "whsec_" in output
    assert run("create", receiver.url) == (
        1,
        "Error: `models` or events must name something to send.\n",
    )
    assert run("test", "1") == (0, "The receiver answered 200.\n")
    [message] = receiver.take()
    assert message["type"] == "webhooks.test"
    assert sending.deliveries({"id": 1})[0]["state"] == "delivered"
    receiver.answers["/"] = lambda handler: handler.answer(404)
    assert run("test", "1") == (1, "Error: It failed: status 404.\n")
    code, output = run("rotate", "1")
    assert "whsec_" in output
    assert run("disable", "1") == (0, "Disabled the webhook 1.\n")
    assert run("test", "1") == (1, "Error: The webhook 1 is disabled.\n")
    assert run("enable", "1") == (0, "Enabled the webhook 1.\n")
    code, output = run("list", "--json")
    assert '"url": "' + receiver.url in output
    assert run("delete", "1") == (0, "Deleted the webhook 1.\n")
    assert run("delete", "1") == (1, 'Error: Unknown "webhook" id "1".\n')
