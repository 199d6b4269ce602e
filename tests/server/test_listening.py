"""The address and the numbers of processes and threads: HOST, PORT, WEB_CONCURRENCY, THREADS."""

import runpy
import shutil
import subprocess
import sys

import pytest
import requests

from tests.support.installation import Installation
from tests.support.live import ROOT, Server
from tests.support.ports import free_port

NAMES = ("HOST", "PORT", "WEB_CONCURRENCY", "THREADS")


@pytest.fixture
def read(monkeypatch):
    """Read gunicorn's settings with these variables in the environment, and no other ones."""

    def read(**variables):
        for name in NAMES:
            monkeypatch.delenv(name, raising=False)
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        return runpy.run_path(str(ROOT / "app" / "commandline" / "gunicorn_settings.py"))

    return read


@pytest.mark.parametrize(
    ("variables", "bind"),
    [
        ({}, "127.0.0.1:3000"),
        # As a file of variables has it that leaves the value out: not every address of the host.
        ({"HOST": "", "PORT": ""}, "127.0.0.1:3000"),
        ({"HOST": "0.0.0.0", "PORT": "0"}, "0.0.0.0:0"),
        ({"HOST": "localhost", "PORT": "65535"}, "localhost:65535"),
        ({"HOST": "::1"}, "[::1]:3000"),
        ({"HOST": "[::1]", "PORT": "80"}, "[::1]:80"),
        ({"HOST": "::"}, "[::]:3000"),
    ],
    ids=str,
)
def test_it_listens_where_the_environment_says(read, variables, bind):
    assert read(**variables)["bind"] == bind


def test_the_numbers_of_processes_and_threads_are_those_of_the_environment(read):
    settings = read(WEB_CONCURRENCY="3", THREADS="7")
    most = read(WEB_CONCURRENCY="256", THREADS="100")
    defaults = read(WEB_CONCURRENCY="", THREADS="")

    assert (settings["workers"], settings["threads"]) == (3, 7)
    assert (most["workers"], most["threads"]) == (256, 100)
    assert (defaults["workers"], defaults["threads"]) == (2, 4)


@pytest.mark.parametrize(
    ("variables", "problem"),
    [
        ({"WEB_CONCURRENCY": "0"}, "must be a whole number from 1 to 256, and is '0'"),
        ({"WEB_CONCURRENCY": "257"}, "must be a whole number from 1 to 256, and is '257'"),
        ({"WEB_CONCURRENCY": "100000"}, "must be a whole number from 1 to 256"),
        ({"WEB_CONCURRENCY": "-1"}, "must be a whole number from 1 to 256, and is '-1'"),
        ({"WEB_CONCURRENCY": "two"}, "must be a whole number from 1 to 256, and is 'two'"),
        ({"WEB_CONCURRENCY": "\u0662"}, "must be a whole number from 1 to 256"),
        ({"WEB_CONCURRENCY": "9" * 5000}, "must be a whole number from 1 to 256"),
        ({"THREADS": "0"}, "must be a whole number from 1 to 100, and is '0'"),
        ({"THREADS": "101"}, "must be a whole number from 1 to 100, and is '101'"),
        ({"THREADS": "1.5"}, "must be a whole number from 1 to 100, and is '1.5'"),
        ({"PORT": "65536"}, "must be a whole number from 0 to 65535, and is '65536'"),
        ({"PORT": "http"}, "must be a whole number from 0 to 65535, and is 'http'"),
        ({"HOST": "127.0.0.1:80"}, "must be a name or an address without a port"),
        ({"HOST": "unix:/run/ostiary"}, "must be a name or an address without a port"),
        ({"HOST": "::1:3000x"}, "must be a name or an address without a port"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_what_cannot_be_used_ends_the_start_with_one_sentence(read, variables, problem):
    [name] = variables

    with pytest.raises(SystemExit) as ended:
        read(**variables)

    assert str(ended.value).startswith(f"ostiary: {name} {problem}")
    assert len(str(ended.value)) < 200


@pytest.mark.live
def test_gunicorn_says_the_sentence_and_ends(tmp_path):
    result = Installation(tmp_path).run("-m", "gunicorn", "wsgi:app", WEB_CONCURRENCY="0", PORT="0")

    assert result.returncode == 1
    assert result.stderr == (
        "ostiary: WEB_CONCURRENCY must be a whole number from 1 to 256, and is '0'\n"
    )


def ostiary(folder, *arguments, **variables):
    """Call the command `ostiary` in a new project, with these variables."""
    (folder / "project").mkdir()
    (folder / "project" / "config.py").write_text("SAMPLE_TODOS = False\n")
    return subprocess.run(
        [sys.executable, "-m", "ostiary", *arguments],
        cwd=folder / "project",
        env=Installation(folder).environment(**variables),
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )


@pytest.mark.live
@pytest.mark.parametrize("arguments", [["run"], ["run", "--no-migrate"], ["dev"]], ids=" ".join)
@pytest.mark.parametrize(
    ("variables", "sentence"),
    [
        *[
            (
                {"WEB_CONCURRENCY": value},
                f"WEB_CONCURRENCY must be a whole number from 1 to 256, and is {value!r}",
            )
            for value in ("two", "-1", " ", "1.0", "100000")
        ],
        ({"THREADS": "two"}, "THREADS must be a whole number from 1 to 100, and is 'two'"),
        ({"PORT": "http"}, "PORT must be a whole number from 0 to 65535, and is 'http'"),
    ],
    ids=str,
)
def test_the_commands_say_the_sentence_before_gunicorn_reads_the_environment(
    tmp_path, arguments, variables, sentence
):
    result = ostiary(tmp_path, *arguments, **variables)

    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr == f"ostiary: {sentence}\n"


@pytest.mark.live
@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ('--keep-alive "5', "No closing quotation"),
        ("--keep-alive=five", "argument --keep-alive: invalid int value: 'five'"),
        ("--keep-alive=-1", "Value must be positive: -1"),
        ("--nothing=1", "unrecognized arguments: --nothing=1"),
    ],
)
def test_wrong_options_of_gunicorn_are_a_sentence_with_the_name_of_their_variable(
    tmp_path, value, reason
):
    result = ostiary(tmp_path, "run", "--no-migrate", GUNICORN_CMD_ARGS=value)

    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr == f"ostiary: GUNICORN_CMD_ARGS cannot be used: {reason}\n"


@pytest.mark.live
@pytest.mark.parametrize(
    ("option", "sentence"),
    [
        ("--workers=100000", "gunicorn's workers must be at most 256, not 100000"),
        ("--threads=101", "gunicorn's threads must be at most 100, not 101"),
    ],
)
@pytest.mark.parametrize("program", ["ostiary", "gunicorn"])
def test_options_of_gunicorn_have_the_same_bounds(tmp_path, program, option, sentence):
    if program == "ostiary":
        result = ostiary(tmp_path, "run", GUNICORN_CMD_ARGS=option, PORT="0")
    else:
        result = Installation(tmp_path).run("-m", "gunicorn", "wsgi:app", option, PORT="0")

    assert result.returncode == 1
    assert result.stderr.endswith(f"ostiary: {sentence}\n")
    assert "Booting worker" not in result.stderr


@pytest.mark.live
@pytest.mark.parametrize(
    "variables", [{"WEB_CONCURRENCY": "", "PORT": ""}, {"FORWARDED_ALLOW_IPS": "my-proxy"}], ids=str
)
def test_an_empty_variable_and_one_without_a_meaning_do_not_stop_the_start(tmp_path, variables):
    result = ostiary(
        tmp_path, "run", "--no-migrate", GUNICORN_CMD_ARGS="--check-config", **variables
    )

    assert (result.returncode, result.stderr) == (0, "")


@pytest.mark.live
def test_the_help_is_shown_whatever_the_environment_says(tmp_path):
    result = ostiary(tmp_path, "--help", WEB_CONCURRENCY="two")

    assert result.returncode == 0
    assert "  run " in result.stdout


@pytest.mark.live
def test_the_service_answers_at_an_ipv6_address(tmp_path, sqlite_template):
    shutil.copy(sqlite_template, tmp_path / "own.sqlite")
    port = free_port()
    environment = {
        **Installation(tmp_path).environment(HOST="::1", PORT=str(port), WEB_CONCURRENCY="1"),
        "DATABASE_URL": f"sqlite:///{tmp_path}/own.sqlite",
        "APP_MAIL_FOLDER": str(tmp_path / "mail"),
        "APP_PASSWORD_HASH": '{"time_cost": 1, "memory_cost": 8}',
        "PYTHONPATH": str(ROOT),
    }
    server = Server(f"http://[::1]:{port}", tmp_path / "gunicorn.log", ROOT, environment)
    try:
        server.start()
        credentials = {"email": "ada@example.com", "password": "a quiet harbour"}
        requests.post(f"{server.url}/api/users", json=credentials, timeout=60)
        login = requests.post(f"{server.url}/api/users/login", json=credentials, timeout=60).json()
        headers = {"Authorization": login["id"]}
        path = f"{server.url}/api/users/1/accessTokens"
        [session] = requests.get(path, headers=headers, timeout=60).json()
    finally:
        server.stop()

    assert session["address"] == "::1"
