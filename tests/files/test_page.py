"""The examples of docs/files-of-rows.md work as printed."""

import os
import shutil
import sys

import pytest

from tests.support.documents import blocks, run_shell
from tests.support.live import newcomer, serve

pytestmark = pytest.mark.live
PAGE = "docs/files-of-rows.md"


@pytest.fixture
def project(sqlite_template, tmp_path):
    """The project of the page, whose database has the table of the photos."""
    shutil.copy(sqlite_template, tmp_path / "ostiary.sqlite")
    environment = {
        "PATH": f"{sys.prefix}/bin:{os.environ['PATH']}",
        "DATABASE_URL": f"sqlite:///{tmp_path}/ostiary.sqlite",
    }
    for code in blocks(PAGE, "sh", "A property with a file"):
        run_shell(code, tmp_path, **environment)
    return tmp_path


def test_the_calls_of_the_page_have_its_statuses(project, tmp_path):
    [code] = blocks(PAGE, "sh", "Calls")
    settings = {"INSTANCE_PATH": str(project)}
    with serve(project, f"sqlite:///{project}/ostiary.sqlite", **settings) as server:
        token = newcomer(server.url)["Authorization"]
        variables = {"API": f"{server.url}/api", "JSON": "Content-Type: application/json"}
        expected, printed, _ = run_shell(code, tmp_path, TOKEN=token, **variables)

    assert printed == expected
    assert (tmp_path / "copy.png").read_bytes() == (tmp_path / "cat.png").read_bytes()
