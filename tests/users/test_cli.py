"""The commands `flask users` and `flask tokens`."""

import json
import re

import pytest

from app.todos.models import Todo
from app.users.models import AccessToken, User
from tests.conftest import NEW, PASSWORD
from tests.support.rows import count, expire


@pytest.fixture
def run(runner, secrets):
    """Run a command; its stdin is a password."""
    secrets.append(NEW)

    def run(*arguments, stdin=f"{NEW}\n"):
        return runner.invoke(args=list(arguments), input=stdin)

    return run


def refused(result):
    """Check that a command failed with one sentence, which it returns."""
    assert result.exit_code == 1, result.output
    assert isinstance(result.exception, SystemExit)
    lines = result.output.strip().splitlines()
    assert len(lines) == 1
    return lines[0].removeprefix("Error: ")


def test_create_adds_a_user_who_can_log_in(api, run):
    result = run(
        *("users", "create", "Ada@example.com", "--username", "ada", "--realm", "acme"),
        "--password-stdin",
    )

    assert (result.exit_code, result.output) == (0, "Created user 1, ada@example.com.\n")
    credentials = {"username": "ada", "realm": "acme", "password": NEW}
    response = api("POST", "/users/login", credentials)
    api.secrets.append(response.json["id"])
    assert response.json["userId"] == 1


def test_create_prompts_for_the_password_without_showing_it(app, run):
    result = run("users", "create", "ada@example.com", stdin=f"{NEW}\n{NEW}\n")

    assert result.exit_code == 0
    assert NEW not in result.output
    assert count(app, User) == 1


def test_create_works_while_registration_is_closed(make_app, secrets):
    app = make_app(REGISTRATION_OPEN=False)
    arguments = ["users", "create", "ada@example.com", "--password-stdin"]

    result = app.test_cli_runner().invoke(args=arguments, input=f"{PASSWORD}\n")

    assert result.exit_code == 0
    assert count(app, User) == 1


@pytest.mark.parametrize(
    ("arguments", "stdin", "word"),
    [
        (["ada"], NEW, "email"),
        (["ada@example.com"], "", "password"),
        (["ada@example.com"], "short", "password"),
        (["ada@example.com"], "password1", "common"),
        (["bob@example.com"], NEW, "already exists"),
        (["ada@example.com", "--username", "bob"], NEW, "username"),
        (["ada@example.com", "--username", ""], NEW, "username"),
        (["ada@example.com", "--username", "x" * 256], NEW, "username"),
        (["ada@example.com", "--username", "a\nb"], NEW, "username"),
        (["ada@example.com", "--realm", "x" * 256], NEW, "realm"),
    ],
    ids=[
        "no address",
        "no password",
        "short",
        "common",
        "email taken",
        "username taken",
        "empty username",
        "long username",
        "line break in username",
        "long realm",
    ],
)
def test_create_reports_an_error_in_one_sentence(app, api, run, arguments, stdin, word):
    api.register("bob@example.com", username="bob")

    result = run("users", "create", *arguments, "--password-stdin", stdin=f"{stdin}\n")

    assert word in refused(result)
    assert count(app, User) == 1


def test_list_shows_every_user_on_a_line(api, run):
    api.register("ada@example.com", username="ada", realm="acme")
    api.register("bob@example.com")

    run("users", "disable", "bob@example.com")

    table = run("users", "list").output.splitlines()
    found = json.loads(run("users", "list", "--json").output)

    created = [item.pop("created") for item in found]
    enabled, disabled = [item.pop("disabledAt") for item in found]
    assert enabled is None
    assert table == [
        "id  email            username  realm  emailVerified  created                   disabledAt",
        f"1   ada@example.com  ada       acme   no             {created[0]}  -",
        f"2   bob@example.com  -         -      no             {created[1]}  {disabled}",
    ]
    ada = {"id": 1, "email": "ada@example.com", "username": "ada", "realm": "acme"}
    bob = {"id": 2, "email": "bob@example.com", "username": None, "realm": None}
    assert found == [{**user, "emailVerified": False} for user in (ada, bob)]


def test_list_without_users_prints_the_header_line(run):
    table, found = run("users", "list"), run("users", "list", "--json")

    assert table.output == "id  email  username  realm  emailVerified  created  disabledAt\n"
    assert (table.exit_code, found.output) == (0, "[]\n")


def test_set_password_ends_all_sessions(api, token, run):
    result = run("users", "set-password", "ada@example.com", "--password-stdin")

    assert result.output == "Set the password of user 1 and ended all sessions.\n"
    assert api("GET", "/users/1", token=token).status_code == 401
    login = api("POST", "/users/login", {"email": "ada@example.com", "password": NEW})
    api.secrets.append(login.json["id"])
    assert login.status_code == 200


def test_set_password_applies_the_policy(api, token, run):
    result = run("users", "set-password", "ada@example.com", "--password-stdin", stdin="short\n")

    assert "too short" in refused(result)
    assert api("GET", "/users/1", token=token).status_code == 200


def test_delete_also_deletes_tokens_and_todos(app, api, token, run):
    api("POST", "/todos", {"title": "buy milk"}, token=token)

    result = run("users", "delete", "ada@example.com", "--yes")

    assert (result.exit_code, result.output) == (0, "Deleted user 1, ada@example.com.\n")
    assert [count(app, model) for model in (User, AccessToken, Todo)] == [0, 0, 0]


@pytest.mark.parametrize(("answer", "left"), [("y\n", 0), ("n\n", 1), ("", 1)])
def test_delete_asks_for_confirmation(app, api, run, answer, left):
    api.register()

    result = run("users", "delete", "ada@example.com", stdin=answer)

    assert result.exit_code == (1 if left else 0)
    assert count(app, User) == left


def test_purge_deletes_expired_tokens_only(app, api, token, run):
    expire(app, api.login()["id"])
    expire(app, api.login()["id"])

    result = run("tokens", "purge")

    assert (result.exit_code, result.output) == (0, "Purged 2 expired tokens.\n")
    assert api("GET", "/users/1", token=token).status_code == 200


def test_revoke_ends_all_sessions_of_one_user(api, token, run):
    api.login()
    other = api.newcomer("bob@example.com")

    result = run("tokens", "revoke", "ada@example.com")

    assert (result.exit_code, result.output) == (0, "Revoked 2 tokens of user 1.\n")
    assert api("GET", "/users/1", token=token).status_code == 401
    assert api("GET", "/users/2", token=other).status_code == 200


@pytest.mark.parametrize(
    "command",
    [
        ["users", "set-password", "--password-stdin"],
        ["users", "delete", "--yes"],
        ["tokens", "revoke"],
    ],
    ids=" ".join,
)
def test_an_unknown_user_is_reported_with_the_realms_that_have_the_email(api, run, command):
    for realm in ("acme", "globex"):
        api.register("ada@example.com", realm=realm)
    api.register("bob@example.com")

    said = [
        refused(run(*command, *arguments))
        for arguments in (
            ["ada@example.com"],
            ["ADA@example.com", "--realm", "initech"],
            ["bob@example.com", "--realm", "acme"],
            ["eve@example.com"],
            ["eve@example.com", "--realm", "acme"],
        )
    ]

    assert said == [
        "There is no user ada@example.com without a realm; there is one in realm acme or in realm"
        " globex.",
        "There is no user ADA@example.com in realm initech; there is one in realm acme or in realm"
        " globex.",
        "There is no user bob@example.com in realm acme; there is one without a realm.",
        "There is no user eve@example.com.",
        "There is no user eve@example.com in realm acme.",
    ]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["ada"], "`email` is not an email address."),
        (["bob@example.com"], "`email` already exists."),
        (["ada@example.com", "--username", "BOB"], "`username` already exists."),
        (["ada@example.com", "--role", "$owner"], "$owner cannot be granted"),
        (
            ["ada@example.com", "--role", "admin", "--role", " "],
            "`role` must be printable, not blank and without ';'.",
        ),
        (["ada@example.com", "--role", "x" * 256], "`role` is too long"),
    ],
    ids=["email", "email taken", "username taken", "computed role", "blank role", "long role"],
)
def test_create_checks_everything_else_before_the_password_is_asked(app, api, run, arguments, said):
    api.register("bob@example.com", username="bob")

    result = run("users", "create", *arguments)

    assert said in refused(result)
    assert count(app, User) == 1


def test_create_grants_every_role_and_warns_of_those_that_no_rule_mentions(api, run):
    roles = ["--role", "admin", "--role", "admn"]

    created = run("users", "create", "ada@example.com", *roles, "--password-stdin")
    held = run("roles", "list", "--json")

    assert created.exit_code == 0
    assert created.stderr == ("Warning: no rule mentions the role admn; did you mean admin?\n")
    assert created.stdout == "Created user 1, ada@example.com, with roles admin, admn.\n"
    assert [holder["role"] for holder in json.loads(held.output)] == ["admin", "admn"]


def test_the_realm_option_finds_the_user(api, run):
    api.register("ada@example.com", realm="acme")

    result = run("tokens", "revoke", "ada@example.com", "--realm", "acme")

    assert (result.exit_code, result.output) == (0, "Revoked 0 tokens of user 1.\n")


@pytest.mark.parametrize("group", ["users", "tokens", "roles"])
def test_help_describes_every_command(run, group):
    result = run(group, "--help")

    commands = result.output.partition("Commands:")[2].strip().splitlines()
    assert commands
    assert all(re.fullmatch(r"  \S+ +[A-Z].*\.", f"  {line.strip()}") for line in commands)
