"""Clients compile under the strict options of TypeScript, and wrong uses of them do not."""

import subprocess

import pytest

from app.clients import runtime
from tests.support.programs import require
from tools import client_runtime

from .conftest import PACKAGES
from .mistakes import MISTAKES

pytestmark = pytest.mark.live

CLIENTS = ("shop", "library", "food_bank", "odd", "everything")
# Bytes of a client's code without types, comments and indentation, and without the table of calls.
MOST_CODE = 12_200


def test_clients_and_programs_compile(compiled):
    wrong = {file: errors for file, errors in compiled.errors.items() if "mistakes/" not in file}

    assert wrong == {}
    assert all((compiled.folder / "built" / "clients" / f"{name}.js").exists() for name in CLIENTS)


def test_a_client_compiles_without_strict_checks(compiled):
    options = "--noEmit --strict false --target es2022 --module nodenext --lib es2022,dom"
    compiler = PACKAGES / "node_modules" / ".bin" / "tsc"
    command = [compiler, *options.split(), "document.ts", "loose.ts"]
    done = subprocess.run(command, cwd=compiled.folder, capture_output=True, text=True, check=False)

    assert done.stdout == ""


def test_wrong_uses_fail_with_the_error_expected(compiled):
    found = {mistake.name: compiled.errors[f"mistakes/{mistake.name}"] for mistake in MISTAKES}
    unexpected = {
        mistake.name: found[mistake.name]
        for mistake in MISTAKES
        if [mistake.message in error for error in found[mistake.name]] != [True]
    }

    assert unexpected == {}


def test_the_code_for_javascript_is_that_for_typescript():
    require("node")
    for file, code in client_runtime.compiled().items():
        assert runtime.text(file) == code, "run `python -m tools.client_runtime`"


def test_the_code_is_small(compiled):
    code = (compiled.folder / "built" / "clients" / "library.js").read_text()
    same_for_all, _, _ = code.partition("const COLLECTIONS")

    assert len("\n".join(map(str.lstrip, same_for_all.splitlines()))) <= MOST_CODE
