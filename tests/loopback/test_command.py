"""The group `ostiary loopback`, which an entry point adds to `ostiary`, and projects it is for."""

import sys

import pytest
from click.testing import CliRunner

from app.projects.new import new
from ostiary.__main__ import main
from ostiary_loopback.data.moving import FOLDER
from tests.support.packages import install_package

CODE = "import click\n\n@click.command()\ndef loopback():\n    click.echo('called')\n"


@pytest.fixture
def ostiary(tmp_path, monkeypatch):
    """The command, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("INSTANCE_PATH", "")
    return lambda *arguments: CliRunner().invoke(main, arguments)


def test_the_commands_are_there_without_a_project(ostiary):
    assert "  loopback  Move a LoopBack 3 application over.\n" in ostiary("--help").output

    result = ostiary("loopback", "--help")

    listed = [line.split()[0] for line in result.output.partition("Commands:\n")[2].splitlines()]
    assert (result.exit_code, listed) == (0, ["inspect", "import", "todo", "compare"])


def test_another_package_does_not_replace_the_group(ostiary, tmp_path, monkeypatch):
    # Before the packages of the environment.
    monkeypatch.syspath_prepend(tmp_path)
    module = install_package(tmp_path, "greedy-tools", CODE, {"loopback": "greedy_tools:loopback"})

    help_, called = ostiary("--help"), ostiary("loopback", "--help")

    assert help_.stderr == (
        "Warning: the command `loopback` of the package greedy-tools is not added: Ostiary has one"
        " of this name\n"
    )
    assert "Move a LoopBack 3 application over." in called.output
    assert module not in sys.modules


def test_the_folder_of_the_import_is_neither_committed_nor_in_the_image(ostiary, tmp_path):
    assert CliRunner().invoke(new, ["my-library"]).exit_code == 0

    for ignored in (".gitignore", ".dockerignore"):
        lines = (tmp_path / "my-library" / ignored).read_text().splitlines()
        assert FOLDER in {line.strip("/") for line in lines}, ignored
