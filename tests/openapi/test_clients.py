"""Clients that are generated from the document compile, and work against the service."""

import compileall
import json
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.conftest import PASSWORD
from tests.support.live import serve_app
from tests.support.node_packages import install
from tests.support.programs import require

from .library import library

pytestmark = pytest.mark.live

FOLDER = Path(__file__).parent
NODE = FOLDER / "client_node"
# What both programs print: of two books the dear one, and the user's own to-do.
EXPECTED = {
    "prices": ["12.50"],
    "todos": [["Water the plants", True]],
    "error": "MODEL_NOT_FOUND",
}


@pytest.fixture
def url(tmp_path):
    """The address of a library, whose document is in this folder."""
    with library(tmp_path) as app, serve_app(app) as url:
        document = app.test_client().get("/api/openapi.json").text
        (tmp_path / "openapi.json").write_text(document)
        yield f"{url}/api"


def run(*command, cwd, **options):
    """Run a program that must succeed; return what it prints."""
    done = subprocess.run(
        command, cwd=cwd, capture_output=True, text=True, timeout=200, check=False, **options
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_types_of_openapi_typescript_compile_and_fit_the_service(url, tmp_path):
    require("node")
    install(NODE)
    (tmp_path / "node_modules").symlink_to(NODE / "node_modules")
    for name in ("package.json", "tsconfig.json", "client.ts"):
        shutil.copy(NODE / name, tmp_path)
    programs = tmp_path / "node_modules" / ".bin"

    generate = ("openapi.json", "--output", "schema.d.ts", "--default-non-nullable=false")
    run(programs / "openapi-typescript", *generate, cwd=tmp_path)
    run(programs / "tsc", cwd=tmp_path)
    printed = run("node", "built/client.js", url, PASSWORD, cwd=tmp_path)

    assert json.loads(printed) == EXPECTED


def test_a_client_of_openapi_python_client_compiles_and_fits_the_service(url, tmp_path):
    require("openapi-python-client", find_spec("openapi_python_client") is not None)
    # Without formatting what nobody reads.
    (tmp_path / "config.yml").write_text("post_hooks: []")
    made = ("--output-path", "library_client", "--meta", "none", "--config", "config.yml")

    generate = (sys.executable, "-m", "openapi_python_client", "generate")
    printed = run(*generate, "--path", "openapi.json", *made, cwd=tmp_path)
    assert "Warning" not in printed
    assert compileall.compile_dir(tmp_path / "library_client", quiet=1)
    program = FOLDER / "client_program.py"
    printed = run(
        *(sys.executable, program, url, PASSWORD), cwd=tmp_path, env={"PYTHONPATH": str(tmp_path)}
    )

    assert json.loads(printed) == EXPECTED
