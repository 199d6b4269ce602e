"""Commands that installed packages add to `ostiary`."""

import json
import os
import re
import sys
import tomllib

import pytest
from click.testing import CliRunner

from ostiary.__main__ import main
from tests.support.documents import blocks
from tests.support.installation import Installation
from tests.support.packages import GROUP, install_package

[METADATA] = blocks("docs/project.md", "toml", "Commands of packages")
[MODULE] = blocks("docs/project.md", "python", "Commands of packages")
# What is read of entry points by a start and the commands of the service, and by the help.
READING = """
import json, sys
from click.testing import CliRunner
read = []
def hook(event, arguments):
    if event == "open" and str(arguments[0]).endswith("entry_points.txt"):
        read.append(str(arguments[0]))
sys.addaudithook(hook)
from ostiary.__main__ import main
def call(*arguments):
    assert CliRunner().invoke(main, arguments).exit_code == 0
call("run", "--help")
call("new", "--help")
import wsgi
service = [*read]
call("--help")
print(json.dumps([service, read]))
"""
ECHO = "import click\n\n@click.command()\ndef echo():\n    click.echo('called')\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The current folder, which is no project; modules and packages in `site` can be imported."""
    (tmp_path / "site").mkdir()
    monkeypatch.syspath_prepend(tmp_path / "site")
    folder = tmp_path / "folder"
    folder.mkdir()
    monkeypatch.chdir(folder)
    # Restored after the test: `ostiary` sets it.
    monkeypatch.setenv("INSTANCE_PATH", "")
    return folder


@pytest.fixture
def install(folder):
    """Install packages, which are forgotten after the test."""
    modules = []

    def install(package, code, commands):
        site = folder.parent / "site"
        modules.append(install_package(site, package, code, commands))

    yield install
    for module in modules:
        sys.modules.pop(module, None)


@pytest.fixture
def project(folder):
    """A project in the current folder, with a command of its own."""
    (folder / "config.py").write_text(
        "SERVICE_NAME = 'Library of tools'\nEXPLORER_ENABLED = ADMIN_ENABLED = False\n"
    )
    (folder / "project.py").write_text(
        "def init_app(app):\n    @app.cli.command()\n    def greet():\n        print('greeted')\n"
    )


@pytest.fixture
def ostiary():
    def ostiary(*arguments):
        return CliRunner().invoke(main, arguments)

    return ostiary


def listed(result):
    """Return the commands that the help lists, with what it says of each."""
    assert result.exit_code == 0, result.output
    # A line of a command is indented by two, those that go on by more.
    entries = re.split(r"\n  (?=\S)", result.stdout.partition("Commands:")[2])[1:]
    names = (" ".join(entry.split()).partition(" ") for entry in entries)
    return {name: text for name, _, text in names}


@pytest.fixture
def documented(install):
    """Install the package of the document."""
    stated = tomllib.loads(METADATA)["project"]
    install(stated["name"], MODULE, stated["entry-points"][GROUP])


@pytest.mark.usefixtures("documented")
def test_the_documented_package_adds_a_command_that_needs_no_project(ostiary):
    assert listed(ostiary("--help"))["library"] == "Commands for libraries."
    assert ostiary("library", "check", "9780441013593").output == "yes\n"

    refused = ostiary("library", "name")
    assert refused.exit_code == 1
    assert refused.output.startswith("Error: there is no project here")


@pytest.mark.usefixtures("documented", "project")
def test_the_documented_command_has_the_app_of_the_project(ostiary):
    commands = listed(ostiary("--help"))

    assert commands["library"] == "Commands for libraries."
    assert {"greet", "users", "run"} <= commands.keys()
    assert ostiary("library", "name").output == "Library of tools\n"
    assert ostiary("greet").output == "greeted\n"


@pytest.mark.usefixtures("documented", "folder")
def test_a_command_of_a_package_can_be_called_in_a_project_that_cannot_be_loaded(ostiary, folder):
    (folder / "config.py").write_text("TOKEN_TTL = 'soon'\n")

    help_ = ostiary("--help")

    assert {"library", "new", "dev", "run"} <= listed(help_).keys()
    assert "TOKEN_TTL" in help_.stderr
    assert ostiary("library", "check", "1").output == "no\n"


BROKEN = {
    "missing": ("import no_such_module", "ModuleNotFoundError: No module named 'no_such_module'"),
    "invalid": ("def (", "SyntaxError: invalid syntax"),
    "exiting": ("raise SystemExit(3)", "SystemExit: 3"),
    "other": ("", "AttributeError: module 'broken_tools' has no attribute 'command'"),
}


@pytest.mark.usefixtures("documented")
@pytest.mark.parametrize("name", BROKEN)
def test_a_package_that_cannot_be_imported_is_one_sentence(ostiary, install, name):
    code, reason = BROKEN[name]
    install("broken-tools", code, {"broken": "broken_tools:command"})

    commands = listed(ostiary("--help"))
    result = ostiary("broken", "--option", "argument")

    sentence = f"the command `broken` of the package broken-tools cannot be imported: {reason}"
    assert commands["broken"] == sentence
    assert commands["library"] == "Commands for libraries."
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr == f"Error: {sentence}\n"
    assert ostiary("library", "check", "1").output == "no\n"


def test_what_is_no_command_is_one_sentence(ostiary, install):
    install("plain-tools", "def plain(): ...\n", {"plain": "plain_tools:plain"})

    sentence = "the command `plain` of the package plain-tools is no command of click: "
    assert listed(ostiary("--help"))["plain"] == f"{sentence}plain_tools:plain"
    assert ostiary("plain", "--help").stderr == f"Error: {sentence}plain_tools:plain\n"


TAKEN = ["users", "run", "new", "shell"]


@pytest.mark.parametrize("in_project", [False, True])
def test_no_command_of_ostiary_is_replaced(ostiary, install, request, in_project):
    if in_project:
        request.getfixturevalue("project")
    install("greedy-tools", ECHO, dict.fromkeys(TAKEN, "greedy_tools:echo"))

    help_ = ostiary("--help")

    assert help_.stderr.splitlines() == [
        f"Warning: the command `{name}` of the package greedy-tools is not added: Ostiary has one"
        " of this name"
        for name in TAKEN
    ]
    for name in TAKEN:
        assert "called" not in ostiary(name, "--help").output


def test_a_command_of_two_packages_is_refused(ostiary, install):
    install("first-tools", ECHO, {"echo": "first_tools:echo"})
    install("second-tools", ECHO, {"echo": "second_tools:echo", "other": "second_tools:echo"})

    sentence = "several packages add the command `echo`: first-tools, second-tools"
    assert listed(ostiary("--help"))["echo"] == sentence
    assert ostiary("echo").stderr == f"Error: {sentence}\n"
    assert ostiary("other").output == "called\n"


@pytest.mark.usefixtures("project")
def test_a_command_of_a_package_comes_before_that_of_the_project(ostiary, install):
    install("first-tools", ECHO, {"greet": "first_tools:echo"})

    assert ostiary("greet").output == "called\n"


@pytest.mark.live
def test_a_start_reads_no_entry_points(tmp_path):
    result = Installation(tmp_path).run("-c", READING)

    assert result.returncode == 0, result.stderr
    service, help_ = json.loads(result.stdout)
    assert service == []
    assert any(f"{os.sep}ostiary-" in path for path in help_)
