"""The examples of docs/files-of-rows.md work as printed."""

import os
import shutil
import sys

import pytest
import requests

from tests.support.documents import blocks, run_shell
from tests.support.live import newcomer, serve

pytestmark = pytest.mark.live
PAGE = "docs/files-of-rows.md"
# More than the service receives in memory.
LARGE = b"\x89PNG\r\n\x1a\n" + bytes(1_500_000)


def send_large_bodies(api, token):
    """Send bodies that are received in files, or refused before; return their statuses."""
    user = {"Authorization": token}
    image = {"image": ("cat.png", LARGE, "image/png")}
    png = {**user, "Content-Type": "image/png"}

    def status(method, path, **sent):
        return requests.request(method, f"{api}{path}", timeout=60, **sent).status_code

    form = requests.post(
        f"{api}/photos", data={"title": "A cat"}, files=image, headers=user, timeout=60
    )
    path = f"/photos/{form.json()['id']}/image"
    statuses = {
        "form": form.status_code,
        "bytes": status("PUT", path, data=LARGE, headers=png),
        "anonymous": status("POST", "/photos", data={"title": "A cat"}, files=image),
        "JSON": status("POST", "/photos", json={"title": "x" * 1_500_000}, headers=user),
        "too large": status("PUT", path, data=LARGE * 2, headers=png),
    }
    return statuses, requests.get(f"{api}{path}", headers=user, timeout=60).content


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

        statuses, kept = send_large_bodies(f"{server.url}/api", token)

    assert printed == expected
    assert statuses == {"form": 200, "bytes": 200, "anonymous": 401, "JSON": 413, "too large": 413}
    assert kept == LARGE
    assert (tmp_path / "copy.png").read_bytes() == (tmp_path / "cat.png").read_bytes()
