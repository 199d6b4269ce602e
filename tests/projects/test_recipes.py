"""The recipes of docs/recipes.md do what they say."""

import inspect
import json
import re
from contextlib import ExitStack

import pytest

from app import project_modules
from app.access.roles import grant
from app.outbox.delivery import drain
from ostiary.testing import Client, Users
from tests.conftest import Api
from tests.connector.conftest import http_server, server  # noqa: F401 fixtures
from tests.definitions.conftest import running_a_command, tables_of
from tests.support.documents import NAMED, ROOT, STEP, calls, named_files, section

PAGE = "docs/recipes.md"
RECIPES = re.findall("^## (.*)$", (ROOT / PAGE).read_text(), re.MULTILINE)
TESTS = [
    (name, path) for name in RECIPES for path in named_files(section(PAGE, name)) if "test_" in path
]
USERS = {"Ada": (), "Bob": (), "Rita": ("admin",), "Carol": ("clerk",)}


@pytest.fixture
def cook(make_app, tmp_path, monkeypatch):
    """Return the app of a recipe, and its files."""
    with ExitStack() as tables:

        def make(recipe):
            files = named_files(section(PAGE, recipe))
            for name, text in files.items():
                (tmp_path / name).parent.mkdir(exist_ok=True)
                (tmp_path / name).write_text(text)
            # Where relative folders of data sources are.
            monkeypatch.setenv("INSTANCE_PATH", str(tmp_path))
            settings = {"MODELS_FOLDER": str(tmp_path / "models"), "OUTBOX_IN_PROCESS": False}
            exec(files.get("config.py", ""), {}, settings)
            if "project.py" in files:
                settings["PROJECT_FILE"] = str(tmp_path / "project.py")
            if "datasources.json" in files:
                settings["DATA_SOURCES"] = json.loads(files["datasources.json"])
            with running_a_command():
                app = make_app(**settings)
            tables.enter_context(tables_of(app))
            return app, files

        yield make
    project_modules.forget()


@pytest.fixture
def call(secrets):
    """Make the calls of a recipe; compare their statuses; return the last response."""

    def make(recipe, app):
        api, tokens = Api(app.test_client(), secrets), {"nobody": None}
        with app.app_context():
            for number, (name, roles) in enumerate(USERS.items(), 1):
                tokens[name] = api.logged_in(f"{name.lower()}@example.com")
                for role in roles:
                    grant(number, role)
        for caller, verb, path, body, status in calls(PAGE, recipe):
            response = api(verb, path, body, token=tokens[caller])
            assert str(response.status_code) == status, (verb, path, body, response.json)
        return response

    return make


def printed(recipe):
    """Return the blocks of a recipe that are no files: what it says that something receives."""
    steps = STEP.finditer(section(PAGE, recipe))
    return [step["text"] for step in steps if not NAMED.search(step["before"])]


@pytest.mark.both_databases
@pytest.mark.parametrize("recipe", [name for name in RECIPES if calls(PAGE, name)])
def test_the_calls_of_a_recipe_have_the_printed_statuses(
    cook,
    call,
    server,  # noqa: F811
    monkeypatch,
    recipe,
):
    server.routes["orders"] = lambda handler: handler.reply({})
    monkeypatch.setenv("WAREHOUSE_URL", f"{server.url}/orders")
    monkeypatch.setenv("WAREHOUSE_TOKEN", "a token of the warehouse")
    app, _ = cook(recipe)

    last = call(recipe, app)
    drain(app)

    for text in printed(recipe):
        if recipe == "A webhook":
            [told] = server.seen
            assert told["json"] == json.loads(text)
        elif last.is_json:
            assert last.json == json.loads(text)
        else:
            assert last.text.splitlines() == text.splitlines()


@pytest.mark.parametrize(("recipe", "path"), TESTS)
def test_the_tests_of_a_recipe_pass(cook, recipe, path):
    app, files = cook(recipe)
    app.test_client_class = Client
    fixtures = {"app": app, "client": app.test_client(), "user": Users(app)}
    namespace = {}

    exec(files[path], namespace)

    tests = [value for name, value in namespace.items() if name.startswith("test_")]
    assert tests
    for test in tests:
        test(**{name: fixtures[name] for name in inspect.signature(test).parameters})


def test_each_recipe_is_executed():
    assert {name for name in RECIPES if calls(PAGE, name)} | {name for name, _ in TESTS} == {
        *RECIPES
    }
