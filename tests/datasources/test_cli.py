"""The commands `flask datasources`."""

import json

import pytest

from tests.support.installation import Installation

from .conftest import LOCATION


@pytest.fixture
def app(make_app, geo):
    return make_app(DATA_SOURCES={"geo": geo})


def run(runner, *words):
    result = runner.invoke(args=["datasources", *words])
    return result.exit_code, result.output


def test_check_and_list_print_the_data_sources(runner):
    assert run(runner, "check") == (0, "Checked 1 data sources with 5 functions: all in order.\n")
    functions = ["geocode", "inFormat", "note", "status", "slow"]
    table = f"name  public  functions\ngeo   yes     {', '.join(functions)}\n"
    assert run(runner, "list") == (0, table)
    _, found = run(runner, "list", "--json")
    assert json.loads(found) == [{"name": "geo", "public": True, "functions": functions}]


def test_check_counts_warnings_and_is_strict_on_request(make_app, geo, caplog):
    geo["operations"][3] = {
        "template": {"url": "http://{!host}.example/slow"},
        "functions": {"slow": ["host"]},
    }
    runner = make_app(DATA_SOURCES={"geo": geo}).test_cli_runner()

    code, output = run(runner, "check")

    [warning] = caplog.messages
    assert warning.startswith("data source geo: operations[3].template.url: a variable in the host")
    assert '"*.example" of `allowedHosts`' in warning
    assert (code, output) == (
        0,
        "Checked 1 data sources with 5 functions: usable, with warnings.\n",
    )
    assert run(runner, "check", "--strict") == (1, output)


def test_show_prints_the_settings_and_functions(runner, server):
    code, output = run(runner, "show", "geo")

    assert code == 0
    lines = output.splitlines()
    assert lines[:2] == ["geo\tpublic", f'  baseURL\t"{server.url}"']
    assert {"  timeout.read\t20000", "  timeout.total\t60000", "  pool.maxSockets\t20"} < {*lines}
    assert (
        "geocode(street, city=None, floor=None, tenant=None)\tGET /geocode/{format=json}" in lines
    )
    start = lines.index("inFormat(format, street)\tGET /geocode/{format=json}")
    assert lines[start + 1 : start + 4] == [
        "  endpoint\tGET /api/geo/inFormat/{format}",
        '  format\tstring\toptional\tpath\tdefault "json"',
        "  tenant\tstring\toptional\t-",
    ]
    assert "  street\tstring\trequired\tquery" in lines
    assert '  responsePath\t"$.results[0].geometry.location"' in lines
    assert "a planted secret" not in output


def test_show_masks_every_secret(make_app, monkeypatch):
    monkeypatch.setenv("KEY", "planted-1")
    template = {
        "url": "https://api.example.org/{a}?api_key=planted-2",
        "headers": {
            "X-Api-Key": "planted-3",
            "X-Plain": "{mine=planted-4}",
            "X-Env": {"$env": "KEY"},
        },
        "body": {"password": "planted-5"},
        "variables": {"mine": {"secret": True, "enum": ["planted-4"]}, "a": {"doc": "of a"}},
    }
    settings = {
        "operations": [{"template": template, "functions": {"get": ["a", "mine"]}}],
        "options": {
            "auth": {"user": "u", "pass": "planted-6"},
            "proxy": "http://u:planted-7@proxy",
        },
    }
    runner = make_app(DATA_SOURCES={"geo": settings}).test_cli_runner()

    code, output = run(runner, "show", "geo")

    assert code == 0
    assert "planted" not in output
    assert '  proxy\t"http://***@proxy"' in output
    assert "  a\tstring\toptional\tpath\tof a\n" in output


ROWS = [1, 2, {"a": "b\nc"}, 4, 5]


@pytest.fixture
def rows(make_app, geo, server):
    """The commands of an app whose data source has a list of three pages."""

    def page(handler):
        start = int(handler.query.get("offset", 0))
        handler.reply(ROWS[start : start + 2])

    server.routes["rows"] = page
    template = {"url": "/rows", "paginate": {"type": "offset", "limit": 2}}
    operation = {"template": template, "functions": {"rows": []}}
    app = make_app(DATA_SOURCES={"geo": {**geo, "operations": [*geo["operations"], operation]}})
    return app.test_cli_runner()


def test_call_says_when_the_first_page_is_not_everything(rows, server):
    result = rows.invoke(args=["datasources", "call", "geo", "rows"])
    whole = rows.invoke(args=["datasources", "call", "geo", "geocode", "street=x"])

    assert json.loads(result.stdout) == ROWS[:2]
    assert result.stderr == "This is the first page; there may be more: --all prints them.\n"
    assert server.hits["/rows"] == 1
    assert (json.loads(whole.stdout), whole.stderr) == (LOCATION, "")


def test_call_prints_the_items_of_all_pages(rows):
    result = rows.invoke(args=["datasources", "call", "geo", "rows", "--all"])
    one = rows.invoke(args=["datasources", "call", "geo", "geocode", "street=x", "--all"])

    assert result.exit_code == 0
    assert json.loads(result.stdout) == ROWS
    assert result.stderr.splitlines() == [
        "Page 1: 2 items so far.",
        "Page 2: 4 items so far.",
        "Page 3: 5 items so far.",
    ]
    assert json.loads(one.stdout) == [LOCATION]


def test_call_of_all_pages_prints_an_empty_list(rows, server):
    server.routes["rows"] = lambda handler: handler.reply([])

    result = rows.invoke(args=["datasources", "call", "geo", "rows", "--all"])

    assert json.loads(result.stdout) == []


def test_an_error_on_a_later_page_ends_the_command(rows, server):
    server.routes["rows"] = lambda h: h.reply([1, 2], 500 if "offset=2" in h.path else 200)

    result = rows.invoke(args=["datasources", "call", "geo", "rows", "--all"])

    assert result.exit_code == 1
    assert "Error: rows: GET" in result.stderr


def test_call_prints_the_result(runner):
    code, output = run(runner, "call", "geo", "geocode", "street=107 S B St", "floor=2")

    assert code == 0
    assert json.loads(output) == LOCATION


def test_a_dry_run_prints_the_curl_line_and_sends_no_request(runner, server):
    code, output = run(runner, "call", "geo", "geocode", "street=x y", "--dry-run")

    assert code == 0
    assert output.startswith("curl -X GET ")
    assert "address=x%20y%2C" in output
    assert "a planted secret" not in output
    assert server.seen == []


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["call", "nope", "geocode"], "There is no data source nope; there are geo."),
        (["show", "nope"], "There is no data source nope; there are geo."),
        (["call", "geo", "nope"], "geo has no function nope"),
        (["call", "geo", "geocode"], "Required variable street has no value"),
        (["call", "geo", "geocode", "nope=1"], "nope"),
        (["call", "geo", "geocode", "street"], "street must be KEY=VALUE."),
        (["call", "geo", "status", "code=404"], "404"),
    ],
)
def test_errors_are_one_sentence(runner, words, said):
    code, output = run(runner, *words)

    assert code == 1
    assert said in output
    assert output.count("\n") == 1


@pytest.mark.live
def test_data_sources_come_from_the_instance_folder(tmp_path, server, geo):
    installation = Installation(tmp_path)
    (tmp_path / "instance" / "datasources.json").write_text(json.dumps({"geo": {**geo, "x": 1}}))

    checked = installation.run("-m", "flask", "datasources", "check")

    assert checked.stdout.startswith("Checked 1 data sources with 5 functions: usable")
    assert checked.stderr.count("unknown key 'x' is ignored") == 1
