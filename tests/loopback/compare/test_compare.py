"""`ostiary loopback compare`, between Ostiary and a service whose answers differ as chosen."""

import json

import pytest
from click.testing import CliRunner

from ostiary_loopback.cli import loopback
from ostiary_loopback.compare.answers import Service
from ostiary_loopback.compare.callers import Caller, headers
from ostiary_loopback.compare.calls import filtered
from ostiary_loopback.compare.comparison import Comparison, answer_of, read_document
from ostiary_loopback.compare.rate import Rate
from ostiary_loopback.compare.report import Report
from tests.support.live import serve_app

from .servers import Altered, ok, raw_server

TITLES = ("Buy milk", "Call Grace")


@pytest.fixture
def services(app, api, token):
    """The old service, its address, and that of the new one; two rows are there."""
    for title in TITLES:
        api("POST", "/todos", {"title": title}, token)
    old = Altered(app.wsgi_app)
    with serve_app(old) as old_url, serve_app(app) as new_url:
        yield old, f"{old_url}/api", f"{new_url}/api"


@pytest.fixture
def run(services, token):
    """Run the command as the anonymous caller and as one with a token."""

    def run(*arguments, **environment):
        _, old, new = services
        return CliRunner().invoke(
            loopback,
            ["compare", "--old", old, "--new", new, "--rate", "1000", "--token", "ada", *arguments],
            env={"TOKEN_ADA": token, **environment},
        )

    return run


def report(result):
    assert result.exit_code in (0, 1), result.output
    found = json.loads(result.stdout)
    return found, {row["difference"]: row for row in found["differences"]}


def test_the_same_service_does_not_differ_from_itself_by_any_reading_call(services, run, token):
    old, *_ = services
    result = run()
    assert result.exit_code == 0, result.output
    number = len(old.calls)
    assert result.stdout == f"Calls compared: {number}; with differences: 0.\n"
    assert {verb for verb, *_ in old.calls} == {"GET", "HEAD"}
    assert {caller for *_, caller in old.calls} == {token, None}
    paths = {path.partition("?")[0] for _, path, _ in old.calls}
    assert paths >= {
        *("/api/todos", "/api/todos/count", "/api/todos/findOne", "/api/todos/1", "/api/users/1"),
        *("/api/todos/1/exists", "/api/todos/1/owner", "/api/todos/2147483647"),
        *("/api/users/1/todos", "/api/users/1/todos/count", "/api/users/1/todos/1"),
    }
    assert not [path for path in paths if path.endswith(("logout", "confirm", "/login"))]
    asked = " ".join(path for _, path, _ in old.calls)
    for word in ("include", "fields", "order", "skip", "between", "inq", "regexp", "nlike"):
        assert word in asked


@pytest.mark.live
def test_differences_are_told_by_kind_with_an_example_without_values(services, run, token):
    old, *_ = services
    old.bodies["/api/todos"] = lambda rows: [
        {
            **{name: value for name, value in row.items() if name not in ("desc", "ownerId")},
            "created": row["created"].replace("Z", "+00:00"),
            "title": row["title"].upper(),
            "isComplete": "no",
            "color": "red",
        }
        for row in reversed(rows)
    ]
    old.bodies["/api/todos/count"] = lambda body: {"count": body["count"] + 1}
    old.bodies["/api/users/1/todos"] = lambda rows: rows[1:]
    old.statuses["/api/todos/2"] = ("404 Not Found", b"{}")
    old.statuses["/api/users/2147483647"] = ("403 Forbidden", b"{}")

    result = run("--json")
    assert result.exit_code == 1
    _, found = report(result)
    assert {name for name, row in found.items() if row["documented"]} == {
        *("date", "null", "refusal", "error text", "order of ties"),
    }
    assert {name for name, row in found.items() if not row["documented"]} == {
        *("value", "type", "missing property", "added property", "row order", "status"),
        "added row",
    }
    assert found["date"]["old"] == '"9999-99-99A99:99:99.999+99:99"'
    assert found["date"]["example"] == 'GET /todos?filter={"limit":100} (ada)'
    assert (found["type"]["old"], found["type"]["new"]) == ('"aa"', "false")
    assert found["missing property"]["place"] == "[].color"
    assert found["added property"]["place"] == "[].ownerId"
    assert found["null"]["place"] == "[].desc"
    assert (found["status"]["old"], found["status"]["new"]) == ("404", "200")
    text = run().output
    for secret in (token, *TITLES, *map(str.upper, TITLES), "ada@example.com", "milk"):
        assert secret not in text
        assert secret not in result.output


@pytest.mark.live
def test_documented_differences_alone_exit_with_0(services, run):
    old, *_ = services
    old.bodies["/api/todos/1"] = lambda row: dict(reversed(row.items()))
    old.statuses["/api/todos/findOne"] = ("401 Unauthorized", b'{"error": {"statusCode": 401}}')
    result = run("--json")
    _, found = report(result)
    assert result.exit_code == 0
    assert found.keys() == {"key order", "own rows", "hidden row", "error text"}

    # What the old service refuses otherwise is none of them.
    old.statuses["/api/users/1"] = ("401 Unauthorized", b"{}")
    result = run("--json")
    assert result.exit_code == 1
    _, found = report(result)
    assert not found["allowed"]["documented"]


@pytest.fixture
def kinds_found(services, token):
    """Compare one call of the user; return the names of the kinds of differences."""
    old, new = map(Service, services[1:])
    document = read_document(new)

    def kinds_found(path, *others, **filter_):
        ada = Caller("ada", token, token)
        callers = [ada, *(Caller(f"c{number}", each, each) for number, each in enumerate(others))]
        comparison = Comparison(old, new, document, Rate(1000), Report(), callers)
        call = filtered(path, filter=filter_)
        answers = [answer_of(service, call, token) for service in (old, new)]
        return {each.kind.name for each in comparison.found(call, *answers, headers(token))}

    return kinds_found


def test_a_user_whom_the_caller_may_not_read_is_hidden_and_one_who_is_lost_is_a_missing_row(
    services, kinds_found, api, runner
):
    old, *_ = services
    api.register("grace@example.com")
    api.register("admin@example.com")
    runner.invoke(args=["roles", "grant", "admin@example.com", "admin"])
    admin = api.login("admin@example.com")["id"]
    owner = {"id": 2, "email": "grace@example.com"}
    old.bodies["/api/todos"] = lambda rows: [{**row, "owner": owner} for row in rows]

    assert kinds_found("/todos", admin) == {"hidden user"}
    # Nobody is known who may read her.
    assert kinds_found("/todos") == {"missing row"}
    # The caller may read the owner, or nobody is there.
    for owner["id"] in (1, 99):
        assert kinds_found("/todos", admin) == {"missing row"}


def test_users_whom_an_administrator_alone_may_read_are_of_a_kind_of_their_own(
    services, run, api, runner, token
):
    old, *_ = services
    api.register("admin@example.com")
    runner.invoke(args=["roles", "grant", "admin@example.com", "admin"])
    admin = api.login("admin@example.com")["id"]
    refused = "401 Unauthorized", b'{"error": {"statusCode": 401}}'
    old.statuses |= {"/api/users": refused, "/api/users/1": refused}

    assert "administrator" in report(run("--json", TOKEN_ADA=admin))[1]
    # The owner is no administrator.
    assert {"allowed", "administrator"} & report(run("--json"))[1].keys() == {"allowed"}


def test_included_rows_are_documented_if_the_old_service_has_them_in_the_relation(
    services, kinds_found
):
    old, *_ = services

    def without_owner(rows):
        return [{name: row[name] for name in row if name != "owner"} for row in rows]

    old.bodies["/api/todos"] = without_owner
    assert kinds_found("/todos", include="owner") == {"included row"}

    old.bodies["/api/todos/2/owner"] = lambda owner: {}
    assert kinds_found("/todos", include="owner") == {"added row"}


def test_another_page_of_a_list_is_documented_if_all_of_its_rows_are_there(services, kinds_found):
    old, *_ = services
    row = {"id": 2}
    old.bodies["/api/todos(/findOne)?"] = lambda found: row if "id" in found else [row]

    assert kinds_found("/todos/findOne") == kinds_found("/todos", limit=1) == {"other page"}
    row["id"] = 99
    for path, filter_ in (("/todos/findOne", {}), ("/todos", {"limit": 1})):
        assert kinds_found(path, **filter_) == {"missing row"}


def test_recorded_calls_are_made_if_they_only_read(services, run, tmp_path):
    old, old_url, _ = services
    log = tmp_path / "access.log"
    line = '127.0.0.1 - - [23/Nov/2026:10:00:00 +0000] "{} HTTP/1.1" 200 5 "-" "curl"\n'
    lines = [
        "GET /api/todos?filter=%7B%22limit%22:7%7D&access_token=secret",
        "HEAD /api/todos/1",
        "POST /api/todos",
        "GET /api/users/logout",
        "GET /api/Users/Confirm?uid=1",
        "GET /api/exports/run",
        "GET /elsewhere",
        # Whoever has called the old service may have sent anything.
        "GET //[a",
        "GET /api//[a",
        f"GET /api/todos?{'a&' * 200}",
    ]
    log.write_text("".join(map(line.format, lines)) + "no line of a log\n")
    har = tmp_path / "calls.har"
    requests = [
        {"method": "GET", "url": f"{old_url}/todos?filter[limit]=8", "headers": [{"name": "x"}]},
        {"method": "DELETE", "url": f"{old_url}/todos/1"},
    ]
    har.write_text(json.dumps({"log": {"entries": [{"request": each} for each in requests]}}))

    result = run("--calls", str(log), "--calls", str(har), "--except", "exports")
    assert result.exit_code == 0, result.output
    called = {(verb, path) for verb, path, _ in old.calls}
    assert {
        ("GET", "/api/todos?filter=%7B%22limit%22%3A7%7D"),
        ("HEAD", "/api/todos/1"),
        ("GET", "/api/todos?filter%5Blimit%5D=8"),
    } <= called
    joined = " ".join(path for _, path in called)
    for word in ("logout", "onfirm", "exports", "elsewhere", "secret", "access_token"):
        assert word not in joined
    assert {verb for verb, _ in called} == {"GET", "HEAD"}


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--old", "ftp://x"], "ftp://x is not an http or https address"),
        (
            ["--old", "http://ada:pw@127.0.0.1/api"],
            "http://127.0.0.1/api must be the address of an API alone, without user or query",
        ),
        (["--token", "anonymous=x"], "a token needs a name of letters and digits: --token NAME"),
        (["--token", "bob=a b c"], "bob needs one token, or two: the old one and the new one"),
        (
            ["--token", "bob"],
            "the token of bob is missing: set TOKEN_BOB, or TOKEN_BOB_FILE to the path of a file"
            " that has it",
        ),
    ],
)
def test_bad_options_are_one_sentence(arguments, sentence):
    address = ["compare", "--old", "http://127.0.0.1/api", "--new", "http://127.0.0.1/api"]
    result = CliRunner().invoke(loopback, [*address, *arguments])
    assert (result.exit_code, result.output) == (1, f"Error: {sentence}\n")


def test_files_and_services_that_are_of_no_use_are_one_sentence(tmp_path):
    def run(*arguments):
        address = ["--old", "http://127.0.0.1:1/api", "--new", "http://127.0.0.1:1/api"]
        return CliRunner().invoke(loopback, ["compare", *address, *arguments])

    file = tmp_path / "calls"
    file.write_text('{"log": 1')
    result = run("--calls", str(file))
    assert result.output == f"Error: {file} cannot be read: it is neither a HAR file nor a log\n"
    file.write_text("nothing")
    result = run("--calls", str(file))
    assert result.output == f"Error: {file} has no GET or HEAD of a path below /api\n"
    with raw_server() as server:
        server.answers["GET /openapi.json"] = ok(b"{}", status="404 Not Found")
        result = run("--new", server.url)
        assert result.output == (
            "Error: the new service has no openapi.json below /, but answers 404: --new is the"
            " address of its API, such as http://127.0.0.1:3000/api\n"
        )
        server.answers["GET /openapi.json"] = ok(b'{"paths": 1}')
        result = run("--new", server.url)
        assert result.output == "Error: the new service's openapi.json is not Ostiary's\n"
    result = run()
    assert result.output.startswith("Error: the new service does not answer: ")
