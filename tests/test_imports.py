"""A start of the service imports what it needs; the rest waits until it is used."""

import json
from importlib.util import find_spec

import pytest

from tests.support.installation import Installation

pytestmark = pytest.mark.live

# What takes long to import, and the services that a setting or a first request needs.
NEEDED_LATER = (
    "app.account",
    "alembic",
    "apispec",
    "app.connector",
    "app.oauth.cli",
    "app.oauth.login",
    "app.oauth.views",
    "authlib",
    "cryptography",
    "app.datasources.endpoints",
    "app.frontend",
    "app.migrate.cli",
    "app.openapi.document",
    "app.metrics",
    "app.outbox.cli",
    "app.users.commands.users",
    "app.users.transfer.importing",
    "joserfc",
    "jsonpath_ng",
    "prometheus_client",
    "psycopg",
    "requests",
    "sqlalchemy.dialects.postgresql",
    "zxcvbn.frequency_lists",
)
NEVER = ("hypothesis", "pytest", "schemathesis")
CODE = """
import gc, json, sys
from wsgi import app
print(json.dumps([sorted(sys.modules), gc.isenabled(), gc.get_freeze_count()]))
"""


@pytest.fixture
def start(tmp_path):
    """Start the service as gunicorn does; return the names of the modules that are imported."""

    def start(**settings):
        result = Installation(tmp_path).run("-c", CODE, **settings)
        assert result.returncode == 0, result.stderr
        return json.loads(result.stdout)

    return start


def test_a_start_imports_nothing_that_is_not_configured(start):
    modules, is_collecting, frozen = start(APP_EXPLORER_ENABLED="false", APP_ADMIN_ENABLED="false")

    assert all(find_spec(name) for name in (*NEEDED_LATER, *NEVER))
    assert not {*NEEDED_LATER, *NEVER, "app.admin", "app.explorer"} & set(modules)
    # Garbage is collected again, but not looked for among what the start has made.
    assert is_collecting
    assert frozen > 50_000


def test_the_calls_of_administration_import_what_they_need_when_they_are_made(start):
    modules, _, _ = start()

    assert "app.admin.endpoints.state" in modules
    assert not {*NEEDED_LATER, "app.definitions"} & set(modules)


def test_a_command_imports_only_its_own(tmp_path):
    installation = Installation(tmp_path)
    installation.run("-m", "flask", "db", "upgrade")

    result = installation.run("-X", "importtime", "-m", "flask", "users", "list", "--json")

    imported = {line.rpartition("|")[2].strip() for line in result.stderr.splitlines()}
    assert (result.returncode, result.stdout) == (0, "[]\n")
    own = {"app.users.commands.users", "app.users.transfer.importing"}
    assert {*NEEDED_LATER, *NEVER} & imported == own


def test_a_start_imports_what_is_configured(start):
    source = {"connector": "rest", "operations": []}
    provider = {"clientID": "ostiary"}

    modules, _, _ = start(
        APP_DATA_SOURCES=json.dumps({"geo": source}),
        APP_PROVIDERS=json.dumps({"google": provider}),
    )

    assert {"app.connector", "app.datasources.endpoints", "app.explorer", "requests"} <= {*modules}
    assert {"app.oauth.views", "authlib", "joserfc"} <= {*modules}
    # Authlib's client for Flask keeps its state in Flask's session.
    assert "authlib.integrations.flask_client" not in modules
