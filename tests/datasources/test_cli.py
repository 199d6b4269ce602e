"""The commands `flask datasources`."""

import json

import pytest

from tests.datasources.conftest import LOCATION
from tests.installation import Installation


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


def test_check_prints_warnings_and_is_strict_on_request(make_app, geo):
    geo["operations"][3] = {
        "template": {"url": "http://{!host}.example/slow"},
        "functions": {"slow": ["host"]},
    }
    runner = make_app(DATA_SOURCES={"geo": geo}).test_cli_runner()

    code, output = run(runner, "check")

    warning, total = output.splitlines()
    assert warning.startswith("Warning: geo: operations[3].template.url: a variable in the host")
    assert '"*.example" of `allowedHosts`' in warning
    assert (code, total) == (0, "Checked 1 data sources with 5 functions: usable, with warnings.")
    assert run(runner, "check", "--strict") == (1, output)


def test_show_prints_the_arguments_of_each_function(runner):
    code, output = run(runner, "show", "geo")

    assert code == 0
    assert "geocode(street, city=None, floor=None, tenant=None)\tGET " in output
    assert "  street\tstring\trequired\n" in output
    assert "a planted secret" not in output


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


def test_data_sources_come_from_the_instance_folder(tmp_path, server, geo):
    installation = Installation(tmp_path)
    (tmp_path / "instance" / "datasources.json").write_text(json.dumps({"geo": geo}))

    listed = installation.run("-m", "flask", "datasources", "list")
    (tmp_path / "instance" / "datasources.json").write_text('{"geo": ')
    broken = installation.run("-m", "flask", "datasources", "check")
    (tmp_path / "instance" / "datasources.json").write_text('{"geo": {"connector": "res"}}')
    wrong = installation.run("-m", "flask", "datasources", "check")

    assert listed.stdout.splitlines()[1].startswith("geo   yes ")
    for result in (broken, wrong):
        assert result.returncode == 1
        assert "Traceback" not in result.stderr
        assert result.stderr.startswith("ostiary: ")
