"""Jobs of a service that is killed, or stopped, while one runs."""

import pytest
from sqlalchemy import create_engine, text

from tests.support.live import serve
from tests.support.waiting import eventually

pytestmark = pytest.mark.live

# Its first run takes until the process ends.
CODE = """
from pathlib import Path
from time import sleep

LOG = Path(__file__).with_name("log")


@every(seconds=1, lease={lease})
def remind():
    with LOG.open("a") as log:
        log.write("begun\\\\n")
    if LOG.read_text().count("begun") == 1:
        sleep(600)
"""


@pytest.fixture
def rows(database_url):
    engine = create_engine(database_url)

    def rows():
        with engine.connect() as connection:
            found = connection.execute(text("SELECT * FROM scheduled_jobs WHERE name = 'remind'"))
            return found.mappings().all()

    yield rows
    engine.dispose()


@pytest.mark.both_databases
def test_another_instance_makes_a_run_again_that_was_killed_after_its_lease(
    database_url, write_project, rows, tmp_path
):
    file = write_project(CODE.format(lease=10))
    log, other = tmp_path / "project" / "log", tmp_path / "other"
    other.mkdir()
    with serve(tmp_path, database_url, APP_PROJECT_FILE=file, WEB_CONCURRENCY="1") as server:
        eventually(log.exists)
        server.kill()
        [killed] = rows()
        with serve(other, database_url, APP_PROJECT_FILE=file, WEB_CONCURRENCY="1"):
            eventually(lambda: rows()[0]["succeeded"])

    assert (killed["runs"], killed["ended"]) == (1, None)
    assert killed["claimed_until"] is not None
    assert rows()[0]["runs"] >= 2


def test_a_stopped_service_leaves_a_long_run_to_another_process(
    database_url, write_project, rows, tmp_path
):
    file = write_project(CODE.format(lease=3600))
    log = tmp_path / "project" / "log"
    with serve(tmp_path, database_url, APP_PROJECT_FILE=file, WEB_CONCURRENCY="1") as server:
        eventually(log.exists)
        status = server.stop()
        server.start()
        eventually(lambda: rows()[0]["succeeded"])

    assert status == 0
    assert "Traceback" not in server.log.read_text()
