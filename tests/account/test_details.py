"""Properties that a project has declared for its users, on the account page."""

import json
from contextlib import contextmanager
from decimal import Decimal

import pytest
import requests
from playwright.sync_api import expect

from app.database.session import db
from app.testing.apps import close
from app.users.models import user_model
from tests.support.apps import build
from tests.support.live import serve_app

from .browser import AccountPage
from .conftest import Service, make_tables
from .test_page import told

pytestmark = pytest.mark.live

PROPERTIES = {
    "company": {"type": "string", "required": True, "length": 40, "description": "Where you work."},
    "badgeNumber": {"type": "integer", "unique": True},
    "height": {"type": "number", "validates": {"min": 1}},
    "fee": {"type": "decimal", "precision": 6, "scale": 2},
    "plan": {"type": "string", "enum": ["free", "paid"]},
    "newsletter": "boolean",
    "birthday": "dateonly",
    "reminder": "date",
    "biography": {"type": "string", "length": 2000},
    "tags": ["string"],
    "balance": {"type": "decimal", "precision": 8, "scale": 2, "readOnly": True},
    "memberSince": {"type": "date", "readOnly": True, "description": "Set by the office."},
    "score": {"type": "object", "readOnly": True},
    "note": {"type": "string", "hidden": True},
}
SCRIPT = "<img src=x onerror=alert(1)>"


@contextmanager
def serving(folder, **settings):
    url = f"sqlite:///{folder}/ostiary.sqlite"
    settings = {"ACCOUNT_PAGE": True, "USER_PROPERTIES": PROPERTIES, **settings}
    make_tables(url, folder, settings)
    app = build(url, folder, **settings)
    with serve_app(app) as address:
        yield Service(app, address, folder)
    close(app)


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    with serving(tmp_path_factory.mktemp("details")) as service:
        yield service


def change(service, token, user_id, **values):
    """Change a user by a call; return the answer."""
    return send(service, "PATCH", token, user_id, values)


def read(service, token, user_id):
    return send(service, "GET", token, user_id)


def send(service, method, token, user_id, body=None):
    path = f"{service.url}/api/users/{user_id}"
    answer = requests.request(method, path, json=body, headers={"Authorization": token}, timeout=60)
    assert answer.status_code == 200, answer.text
    return answer.json()


def card(account):
    return account.page.get_by_role("region", name="Details", exact=True)


def control(account, label):
    return card(account).get_by_label(label, exact=True)


def save(account):
    account.press("Save the details")


def test_the_page_is_told_which_properties_there_are_but_for_hidden_ones(service):
    page = requests.get(f"{service.url}/account", timeout=60).text

    assert told(page)["userProperties"] == [name for name in PROPERTIES if name != "note"]


def test_each_kind_of_property_has_its_control_and_is_saved(service, account):
    token, user_id = service.user("ada@example.com")
    account.enter(token, user_id)
    for label in ("Company", "Badge number", "Height", "Fee", "Biography", "Tags"):
        expect(control(account, label)).to_have_role("textbox")
    control(account, "Company").fill(SCRIPT)
    control(account, "Badge number").fill("12")
    control(account, "Height").fill("1.5")
    control(account, "Fee").fill("12.50")
    control(account, "Plan").select_option("paid")
    control(account, "Newsletter").select_option("yes")
    control(account, "Birthday").fill("1990-05-12")
    control(account, "Reminder").fill("2026-01-02T03:04:05")
    control(account, "Biography").fill("First line\nSecond line")
    control(account, "Tags").fill('["a", "b"]')
    account.assert_accessible()
    save(account)
    account.expect_text("Your details are changed.")
    expect(control(account, "Company")).to_have_value(SCRIPT)
    expect(control(account, "Company")).to_have_accessible_description(
        "Where you work. (at most 40 characters)"
    )
    zone_offset = account.page.evaluate("new Date('2026-01-02T03:04:05').toISOString()")

    assert {
        "company": SCRIPT,
        "badgeNumber": 12,
        "height": 1.5,
        "fee": "12.50",
        "plan": "paid",
        "newsletter": True,
        "birthday": "1990-05-12",
        "reminder": zone_offset,
        "biography": "First line\nSecond line",
        "tags": ["a", "b"],
    }.items() <= read(service, token, user_id).items()


def test_a_value_is_removed_by_emptying_its_field(service, account):
    token, user_id = service.user("bo@example.com")
    given = {"badgeNumber": 7, "plan": "free", "birthday": "1990-05-12", "tags": ["a"]}
    change(service, token, user_id, **given)
    account.enter(token, user_id)
    for label in ("Badge number", "Birthday", "Tags"):
        control(account, label).fill("")
    control(account, "Plan").select_option("(none)")
    save(account)
    account.expect_text("Your details are changed.")

    after = read(service, token, user_id)
    assert [after[name] for name in given] == [None] * 4


def test_what_users_cannot_write_is_only_shown_and_hidden_properties_are_not(service, account):
    token, user_id = service.user("cy@example.com")
    with service.app.app_context():
        user = db.session.get(user_model(), user_id)
        user.balance, user.score = Decimal("12.5"), {"html": SCRIPT}
        db.session.commit()
    change(service, token, user_id, note="only written")
    account.enter(token, user_id)
    facts = card(account).locator("dl")
    expect(facts).to_contain_text("12.50")

    assert facts.locator("dt").all_inner_texts() == ["Balance", "Member since", "Score"]
    assert facts.locator("dd").all_inner_texts()[1].split("\n") == ["none", "Set by the office."]
    assert json.loads(facts.locator("pre").inner_text()) == {"html": SCRIPT}
    labels = card(account).locator("label").all_inner_texts()
    assert not {"Balance", "Member since", "Score", "Note"} & {*labels}
    assert "only written" not in account.page.content()


def test_errors_of_values_are_at_their_fields(service, account):
    change(service, *service.user("dan@example.com"), badgeNumber=100)
    token, user_id = service.user("eve@example.com")
    account.enter(token, user_id)
    control(account, "Badge number").fill("many")
    control(account, "Tags").fill("[")
    save(account)
    expect(control(account, "Badge number")).to_have_accessible_description(
        "Badge number must be a whole number"
    )
    expect(control(account, "Badge number")).to_be_focused()
    account.expect_text("Tags is no JSON")
    control(account, "Badge number").fill("100")
    control(account, "Tags").fill("[]")
    save(account)
    expect(card(account).get_by_role("alert")).to_have_text(["Badge number already exists"])
    expect(control(account, "Badge number")).to_be_focused()
    control(account, "Company").fill(" ")
    control(account, "Badge number").fill("101")
    control(account, "Height").fill("0")
    control(account, "Tags").fill("[1]")
    save(account)
    expect(card(account).get_by_role("alert")).to_have_text(
        ["Company can't be blank", "Height must be at least 1.0", "Tags must be an array of texts"]
    )
    account.assert_accessible()
    assert read(service, token, user_id)["badgeNumber"] is None


def test_what_somebody_else_has_changed_meanwhile_is_told_and_not_lost(service, account):
    token, user_id = service.user("fay@example.com")
    account.enter(token, user_id)
    control(account, "Company").fill("Mine")
    change(service, token, user_id, company="Theirs", plan="paid")
    save(account)
    expect(card(account).get_by_role("alert")).to_have_text(
        ["Company was changed to Theirs meanwhile; save again to replace it"]
    )
    expect(control(account, "Plan")).to_have_value("paid")
    assert read(service, token, user_id)["company"] == "Theirs"
    save(account)
    account.expect_text("Your details are changed.")

    assert read(service, token, user_id)["company"] == "Mine"


def test_other_values_that_were_changed_meanwhile_are_kept(service, account):
    token, user_id = service.user("gus@example.com")
    account.enter(token, user_id)
    control(account, "Company").fill("Mine")
    change(service, token, user_id, plan="paid")
    save(account)
    account.expect_text("Your details are changed.")

    after = read(service, token, user_id)
    assert (after["company"], after["plan"]) == ("Mine", "paid")


def test_a_change_is_saved_through_a_proxy_that_marks_tags_as_weak(service, account):
    def compress(route):
        answer = route.fetch()
        tags = {name: f"W/{tag}" for name, tag in answer.headers.items() if name == "etag"}
        route.fulfill(response=answer, headers={**answer.headers, **tags})

    token, user_id = service.user("mia@example.com")
    account.page.route("**/api/users/*", compress)
    account.enter(token, user_id)
    control(account, "Company").fill("Mine")
    save(account)
    account.expect_text("Your details are changed.")
    account.page.unroute("**/api/users/*")

    assert read(service, token, user_id)["company"] == "Mine"


def test_without_a_change_nothing_is_sent(service, account):
    account.enter(*service.user("hal@example.com"))
    expect(control(account, "Company")).to_be_visible()
    sent = []
    account.page.on("request", lambda request: sent.append(request.method))
    save(account)
    account.expect_text("Nothing has changed.")

    assert sent == []


def test_a_document_that_cannot_be_read_is_tried_again(service, account):
    account.page.route("**/openapi.json", lambda route: route.fulfill(status=503, body="{}"))
    account.enter(*service.user("ina@example.com"))
    expect(card(account).get_by_role("alert")).to_have_text(
        "The service does not answer: try again."
    )
    account.page.unroute("**/openapi.json")
    account.errors.clear()
    card(account).get_by_role("button", name="Try again").click()

    expect(control(account, "Company")).to_be_visible()


@pytest.mark.parametrize("status", [401, 403, 404])
def test_who_may_not_change_the_own_record_is_told(tmp_path, context, status):
    everyone = {"principalType": "ROLE", "principalId": "$everyone", "permission": "DENY"}
    owner = {**everyone, "principalId": "$owner", "permission": "ALLOW", "property": "findById"}
    with serving(tmp_path, ACLS={"users": [everyone, owner]}, ACL_ERROR_STATUS=status) as service:
        account = AccountPage(context.new_page(), service.url)
        account.enter(*service.user("jo@example.com"))
        control(account, "Company").fill("Mine")
        save(account)
        expect(card(account).get_by_role("alert")).to_have_text("You may not change these details.")
        account.page.close()

    assert (account.errors, account.foreign) == ([], [])


def test_properties_of_a_model_in_json_that_extends_users_are_shown_and_changed(tmp_path, context):
    models = tmp_path / "models"
    models.mkdir()
    customer = {
        "name": "Customer",
        "base": "User",
        "plural": "users",
        "properties": {
            "nickname": {"type": "string", "length": 20},
            "employerId": {"type": "number", "description": "The number of your firm."},
            "secretWord": "string",
        },
        "hidden": ["secretWord"],
        "relations": {
            "employer": {"type": "belongsTo", "model": "Firm", "foreignKey": "employerId"}
        },
    }
    firm = {"name": "Firm", "properties": {"name": "string"}}
    for model in (customer, firm):
        (models / f"{model['name']}.json").write_text(json.dumps(model))
    with serving(tmp_path, USER_PROPERTIES={}, MODELS_FOLDER=str(models)) as service:
        account = AccountPage(context.new_page(), service.url)
        token, user_id = service.user("lou@example.com")
        account.enter(token, user_id)
        control(account, "Nickname").fill("Lou")
        control(account, "Employer id").fill("7")
        save(account)
        expect(card(account).get_by_role("alert")).to_have_text(
            ["Employer id refers to a row that does not exist, or that you may not read"]
        )
        control(account, "Employer id").fill("")
        save(account)
        account.expect_text("Your details are changed.")
        assert read(service, token, user_id)["nickname"] == "Lou"
        labels = card(account).locator("label").all_inner_texts()
        account.page.close()

    assert labels == ["Nickname", "Employer id"]
    assert (account.errors, account.foreign) == ([], [])


def test_without_such_properties_nothing_is_shown_and_nothing_more_is_loaded(tmp_path, context):
    with serving(tmp_path, USER_PROPERTIES={}) as service:
        account, loaded = AccountPage(context.new_page(), service.url), []
        account.page.on("request", lambda request: loaded.append(request.url))
        account.open("register")
        account.expect_heading("Register")
        account.enter(*service.user("kim@example.com"))
        account.expect_heading("Change the password")
        expect(card(account)).to_have_count(0)
        account.page.close()

    calls = [url for url in loaded if "/api/" in url]
    assert calls == [f"{service.url}/api/users/1"]
    assert not [url for url in loaded if "details.js" in url or "inputs.js" in url]
