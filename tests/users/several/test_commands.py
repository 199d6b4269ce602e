"""Commands, fixtures and the admin page with two models of users."""

import html
import json
import re
from urllib.parse import quote

import pytest

from app.access.roles import grant
from app.database.session import db
from app.projects.fixtures.loading import load_fixtures
from app.users.models import User
from app.users.service import find_user
from tests.conftest import PASSWORD

from .shop import CONFIG, CUSTOMERS, MODELS, STAFF_PATH


@pytest.fixture
def run(api, secrets):
    runner = api.client.application.test_cli_runner()

    def call(*arguments, **options):
        return runner.invoke(args=arguments, **options)

    return call


def test_a_user_of_a_model_is_created_and_found_by_its_name(api, run):
    for model in ([], ["--model", "staff"]):
        made = run(
            *("users", "create", "ada@example.com", "--password-stdin"),
            *model,
            *(["--property", "badge=7"] if model else ["--property", "level=3"]),
            input=PASSWORD,
        )
        assert made.exit_code == 0, made.output
    listed = json.loads(run("users", "list", "--json").stdout)
    assert [(user["email"], user["model"]) for user in listed] == [
        ("ada@example.com", "Customer"),
        ("ada@example.com", "Staff"),
    ]
    [staff] = json.loads(run("users", "list", "--model", "Staff", "--json").stdout)
    assert staff["badge"] == "7"
    assert "level" in staff
    done = run("users", "disable", "ada@example.com", "--model", "Staff")
    assert done.output.startswith("Disabled user 2")
    run("roles", "grant", "ada@example.com", "admin", "--model", "Staff")
    assert "Staff" not in run("users", "delete", "ada@example.com", "--yes").output
    with api.client.application.app_context():
        assert (find_user("ada@example.com"), find_user("ada@example.com", None, "Staff").id) == (
            None,
            2,
        )


def test_a_list_of_roles_says_the_model_of_each_member(run, customer, staff):
    for model in ("Customer", "Staff"):
        run("roles", "grant", "ada@example.com", "chief", "--model", model)

    listed = json.loads(run("roles", "list", "--json").stdout)

    assert [(row["userId"], row["model"]) for row in listed] == [
        (customer.id, "Customer"),
        (staff.id, "Staff"),
    ]
    assert run("roles", "list").stdout.splitlines()[0].endswith("realm  model")


def test_an_unknown_model_is_named_with_the_known_ones(run):
    wrong = run("users", "list", "--model", "Stuff")
    assert "There is no model of users Stuff; there are Customer, Staff" in wrong.output


def test_the_users_of_a_model_are_exported_and_imported(api, run, customer, staff, tmp_path):
    api("PATCH", f"{STAFF_PATH}/{staff.id}", {"badge": "7"}, token=staff.token)
    path, again = str(tmp_path / "staff.csv"), str(tmp_path / "again.csv")
    exported = run("users", "export", path, "--with-password-hashes", "--model", "Staff")
    assert exported.output.endswith(f"Exported 1 users to {path}.\n")
    taken = run("users", "import", path, "--model", "Staff")
    assert "`email` already exists" in taken.output
    assert "is not a column" in run("users", "import", path).output
    run("users", "delete", staff.email, "--model", "Staff", "--yes")

    imported = run("users", "import", path, "--model", "Staff")

    assert imported.output.startswith("Imported 1 users"), imported.output
    run("users", "export", again, "--with-password-hashes", "--model", "Staff")
    with open(path) as first, open(again) as second:
        assert first.read() == second.read()
    answer = api("POST", f"{STAFF_PATH}/login", {"email": staff.email, "password": PASSWORD})
    api.secrets.append(answer.json["id"])
    assert answer.json["userId"] == staff.id


def test_fixtures_have_users_of_each_model(api, tmp_path):
    app = api.client.application
    folder = tmp_path / "project"
    (folder / "fixtures").mkdir(parents=True)
    given = {"email": "ada@example.com", "password": PASSWORD}
    declared = {
        "Customer": [{**given, "level": 3}],
        "Staff": [{**given, "badge": "7", "roles": ["chief"]}],
        "Ticket": {
            "key": ["text"],
            "rows": [
                {
                    "text": "x",
                    "customer": {"email": "ada@example.com"},
                    "staff": {"email": "ada@example.com"},
                }
            ],
        },
    }
    (folder / "fixtures" / "all.json").write_text(json.dumps(declared))
    app.instance_path = str(folder)

    for _ in range(2):
        load_fixtures(app)

    with app.app_context():
        customer, staff = find_user("ada@example.com"), find_user("ada@example.com", None, "Staff")
        assert (customer.level, staff.staff_badge) == (3, "7")
        ids = customer.id, staff.id
    answer = api("POST", f"{CUSTOMERS}/login", given)
    api.secrets.append(answer.json["id"])
    [ticket] = api("GET", "/Tickets", token=answer.json["id"]).json
    assert (ticket["customerId"], ticket["staffId"]) == ids


def test_the_admin_page_lists_the_users_of_all_models(api, customer, staff):
    app = api.client.application
    with app.app_context():
        grant(customer.id, "admin")
        db.session.get(User, staff.id)
    listed = api("GET", "/admin/users", token=customer.token).json
    assert [(user["id"], user["principalType"]) for user in listed] == [
        (customer.id, ""),
        (staff.id, "Staff"),
    ]
    where = quote(json.dumps({"where": {"principalType": "Staff"}}))
    found = api("GET", f"/admin/users?filter={where}", token=customer.token).json
    assert [user["id"] for user in found] == [staff.id]
    shown = api("GET", f"/admin/users/{staff.id}", token=customer.token).json
    assert (shown["principalType"], shown["sessions"]) == ("Staff", 1)
    done = api("POST", f"{STAFF_PATH}/{staff.id}/disable", token=customer.token)
    assert done.status_code == 204


@pytest.mark.parametrize("page", ["/admin", "/account"])
def test_a_page_logs_in_users_of_the_model_in_its_address(serve, page):
    client = serve(MODELS, CONFIG, ACCOUNT_PAGE=True).client

    for model, path in (
        ("", "customers"),
        ("?model=staff", "staff"),
        ("?model=Customer", "customers"),
    ):
        [held] = re.findall('data-page="(.*?)"', client.get(page + model).text)
        settings = json.loads(html.unescape(held))
        assert settings["users"] == path
    assert client.get(f"{page}?model=stuff").status_code == 404
