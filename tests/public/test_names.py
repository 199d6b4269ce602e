"""The public names: none vanishes, and importing a module costs what it is about."""

import inspect
import json
import subprocess
import sys

import pytest

from tools.reference import public_modules

# Changed by hand, on purpose: projects import these names. One that is taken away, or renamed, is
# a new major version; a new one is added here.
NAMES = {
    "audit": ("Action AuditRecord find_records record"),
    "columns": (
        "IDS_GIVEN_ONCE ExactDecimal GeoPoint Id IntegerId Json ObjectId Position RowId "
        "TextId UtcDateTime UuidId new_id now"
    ),
    "connector": (
        "BlockedHostError BoundModel Call CallTimeoutError ConfigError ConnectError "
        "ConnectorError DataSource HTTPStatusError MissingVariableError NotFoundError "
        "NotSupportedError Operation Pages PaginationError RateLimitedError Record Request "
        "Response ResponseDecodeError ResponseError ResponsePathError ResponseTooLargeError "
        "TLSError Template TooManyCallsError TooManyRedirectsError TransportError "
        "UnauthorizedError UnknownVariableError Variable VariableError VariableTypeError "
        "items_of without_waiting"
    ),
    "csv_files": ("protect"),
    "database": ("Model after_commit db transaction"),
    "datasources": ("data_source"),
    "errors": (
        "AccessDenied AccessTokenRequired AuthorizationRequired ConfigurationError "
        "EmailNotVerified EmailRequired InvalidConfirmation InvalidEmail InvalidPassword "
        "InvalidRealm InvalidToken InvalidTtl InvalidUsername LimitReached LoginFailed "
        "ModelNotFound RealmRequired RemoteError RemoteTimeout TemporarilyUnavailable TooManyCalls "
        "TooManyHashes TooManyRequests TooManyRows UsernameOrEmailRequired ValidationError"
    ),
    "fields": (
        "Array Boolean Date Decimal Enumeration GeoPointField Id Int32 Integer Number Object "
        "Schema Text Timestamp Uuid not_blank"
    ),
    "identity": ("Identity LiveToken current_identity"),
    "loopback": ("NotWritten hook_stub method_stub role_stub route_stub"),
    "mail": ("send"),
    "jobs": ("cron every"),
    "outbox": ("Attempt DeliveryError UndeliverableError cancel define record subscribe"),
    "resources": (
        "Conditions DeleteEvent Limit LoadEvent Readable Relation Repository Resource Row "
        "SaveEvent Values add_relation belongs_to belongs_to_any embeds_many embeds_one "
        "get_resource has_many has_many_through has_one references_many register_resource"
    ),
    "rules": (
        "ADMIN AUTHENTICATED EVERYONE EXECUTE OWNER READ STRONG UNAUTHENTICATED WEAK WRITE "
        "DynamicRole Rule UserPrincipal allow deny"
    ),
    "signals": (
        "account_claimed audited delivery_attempted email_change_request email_changed "
        "email_code_request email_verified emit emit_after_commit identity_linked identity_login "
        "identity_unlinked login_code_request password_reset "
        "reset_password_request verification_request"
    ),
    "testing": "PASSWORD Caller Client Login Mail Mails Parallel Users",
    "throttles": ("allows clear count count_failure count_success current_network define"),
    "users": (
        "IssuedToken User change_password computes_hash confirm_email create_user delete_user "
        "destroy_all_tokens disable_user enable_user find_user get_user grant_role "
        "issue_token login logout request_email_change request_password_reset "
        "request_verification reset_password revoke_role role_names set_password users"
    ),
}
# What only some projects use, and takes long to import.
HEAVY = (
    "alembic",
    "app.connector",
    "apispec",
    "authlib",
    "joserfc",
    "jsonpath_ng",
    "prometheus_client",
    "psycopg",
    "pytest",
    "requests",
    "zxcvbn",
)
IMPORTED = """
import importlib, json, sys
importlib.import_module(sys.argv[1])
print(json.dumps([name for name in sys.argv[2:] if name in sys.modules]))
"""


def imported(module, *names):
    """Return which of these modules a new process has imported once it has imported one."""
    command = [sys.executable, "-c", IMPORTED, module, *names]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def test_the_public_names_are_those_that_projects_import():
    assert {name: " ".join(module.__all__) for name, module in public_modules().items()} == NAMES


@pytest.mark.parametrize("name", public_modules())
def test_every_public_name_has_a_docstring(name):
    module = public_modules()[name]

    assert module.__doc__
    for public in module.__all__:
        value = getattr(module, public)
        if inspect.isclass(value) or inspect.isfunction(value):
            assert inspect.getdoc(value), public


@pytest.mark.live
def test_the_package_imports_no_framework_and_the_connector_needs_none():
    frameworks = ("flask", "sqlalchemy", "werkzeug", "marshmallow")

    assert imported("ostiary", *frameworks, "app.connector") == []
    assert imported("ostiary.connector", "flask", "sqlalchemy", "werkzeug") == []


@pytest.mark.live
def test_modules_import_no_library_that_others_need():
    everything_else = "; ".join(
        f"import ostiary.{name}" for name in public_modules() if name != "connector"
    )
    code = f"{everything_else}\n{IMPORTED}"
    command = [sys.executable, "-c", code, "ostiary", *HEAVY]
    done = subprocess.run(command, capture_output=True, text=True, check=True)

    assert json.loads(done.stdout) == []
