"""The pytest plugin of the wheel, in runs of pytest on projects."""

import pytest

from .runs import run_pytest

pytestmark = pytest.mark.live

CONFIGURATION = """\
[pytest]
addopts = --strict-markers --strict-config -p no:cacheprovider -p no:randomly
filterwarnings = error
ostiary_databases = sqlite postgresql
"""
TESTS = """\
import pytest
from ostiary.resources import get_resource
from ostiary.testing import Caller

def test_users_mails_and_logins(client, user, login, mails):
    ada = user(role="admin")
    assert (ada.id, ada.email) == (1, "user1@example.com")
    assert client.get("/v1/users", user=ada).status_code == 200
    assert client.get("/v1/users").status_code == 401
    assert client.get("/v1/users", user=user()).status_code == 403
    assert len(mails) == 0

    client.post("/v1/users/reset", json={"email": ada.email})
    [mail] = mails
    assert (mail.to, mail.subject) == (ada.email, "Set a new password")
    assert "access_token=" in mail.links[0] and "<html" in mail.html
    assert mails[-1].message["Content-Language"] == "en"

    token = login("user2@example.com", ttl=60)
    assert client.get("/v1/todos", token=token).json == []
    with pytest.raises(AssertionError, match="login failed"):
        login(Caller(id=1, email=ada.email, password="wrong", token=""))
    assert ada.token not in repr(ada) and "correct" not in repr(ada)

def test_the_next_test_finds_an_empty_database(client, user):
    assert user("eve@example.com", role=["admin", "clerk"], password="a quiet harbour").id == 1
    assert client.get("/v1/users/count", user=user(role="admin")).json == {"count": 2}

def test_calls_in_parallel(client, user, parallel, app):
    ada = user()
    todo = {"title": "Read"}
    answers = parallel(lambda: client.post("/v1/todos", json=todo, user=ada), 8)
    assert sorted(answer.json["id"] for answer in answers) == [*range(1, 9)]

    calls = []
    def fail():
        calls.append(1)
        raise ValueError(f"call {len(calls)}")
    with pytest.raises(ValueError, match="call"):
        parallel(fail, 3)
    assert len(calls) == 3

@pytest.mark.parametrize("run", [1, 2])
def test_limits_and_hooks_that_a_test_changes_are_its_own(app, run):
    limits = app.config["THROTTLES"]["login_identity"]
    with app.app_context():
        hook = get_resource("todos").before_save
    assert limits["limit"] > 0 and not hook.receivers
    limits["limit"] = 0
    hook.connect(print)

@pytest.mark.settings(REGISTRATION_OPEN=False, TOKEN_TTL=5)
class TestSettings:
    @pytest.mark.settings(TOKEN_TTL=7)
    def test_markers_change_settings(self, app, client):
        assert app.config["TOKEN_TTL"] == 7 and app.config["SERVICE_NAME"] == "Library"
        assert client.post("/v1/users", json={}).status_code == 401
        app.config["TOKEN_TTL"] = 8

    @pytest.mark.settings(TOKEN_TTL=7)
    def test_a_changed_app_is_not_used_again(self, app):
        assert app.config["TOKEN_TTL"] == 7

@pytest.mark.settings(RESET_TOKEN_TTL=1, NO_SETTING=2)
def test_a_wrong_setting(app):
    raise AssertionError("it runs")
"""
OWN_FIXTURES = """\
import pytest

@pytest.fixture
def login():
    return "the project's"

def test_a_fixture_of_the_project_is_used(login):
    assert login == "the project's"
"""


@pytest.fixture
def project(tmp_path):
    """A project with a package `app` of its own, and tests."""
    folder = tmp_path / "library"
    for name in ("app", "tests"):
        (folder / name).mkdir(parents=True)
    (folder / "app" / "__init__.py").write_text("raise AssertionError('imported')\n")
    (folder / "config.py").write_text("SERVICE_NAME = 'Library'\nREST_API_ROOT = '/v1'\n")
    (folder / "pytest.ini").write_text(CONFIGURATION)
    (folder / "tests" / "test_api.py").write_text(TESTS)
    (folder / "tests" / "test_own_fixtures.py").write_text(OWN_FIXTURES)
    return folder


def test_fixtures_on_both_databases(installed, project, postgres_database):
    run = run_pytest(installed, project, "-n", "2", TEST_DATABASE_URL=postgres_database.url)

    assert run.returncode == 1, run.stdout + run.stderr
    assert " 15 passed, 2 errors in " in run.stdout, run.stdout
    sentences = [line for line in run.stdout.splitlines() if "NO_SETTING is not" in line]
    assert sentences[:2] == ["NO_SETTING is not a setting"] * 2
    assert "Traceback" not in run.stdout


def test_variables_that_are_not_set_have_placeholders(installed, project):
    (project / "datasources.json").write_text(
        """{
          "geo": {
            "connector": "rest",
            "baseURL": {"$env": "GEO_URL"},
            "options": {"headers": {"X-Key": {"$env": "GEO_KEY"}}},
            "operations": [
              {"template": {"method": "GET", "url": "/places"}, "functions": {"places": []}}
            ]
          }
        }"""
    )
    (project / "providers.json").write_text(
        """{
          "sso": {
            "provider": "google",
            "clientID": {"$env": "SSO_ID"},
            "clientSecret": {"$env": "SSO_SECRET"}
          }
        }"""
    )
    (project / "fixtures").mkdir()
    (project / "fixtures" / "people.json").write_text(
        """{"users": [
          {"email": "ada@example.com", "password": {"$env": "ADA_PASSWORD"}},
          {"email": "bo@example.com", "password": {"$env": "BO_PASSWORD"}}
        ]}"""
    )
    (project / "tests" / "test_api.py").write_text(
        """
import pytest
from ostiary.datasources import data_source

def test_variables(app, login):
    with app.app_context():
        with pytest.raises(Exception, match="geo-url.invalid"):
            data_source("geo").places()
    assert "created 2" in app.test_cli_runner().invoke(args=["fixtures", "load"]).output
    assert login("ada@example.com", "https://ada-password.invalid")
    assert login("bo@example.com", "a calm harbour at night")
"""
    )
    run = run_pytest(
        installed, project, "--ostiary-database=sqlite", BO_PASSWORD="a calm harbour at night"
    )
    assert run.returncode == 0, run.stdout
