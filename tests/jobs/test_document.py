"""docs/jobs.md: its project runs, its command prints what is printed, and its test passes."""

import pytest

from tests.definitions.conftest import running_a_command
from tests.support.documents import blocks
from tests.testing.runs import run_pytest

DOCUMENT = "docs/jobs.md"
# What the text below the test says.
RUN = """

def test_a_job_runs_as_in_the_service(app):
    result = app.test_cli_runner().invoke(args=["jobs", "run", "send_reminders"])

    assert result.output == "Ran send_reminders.\\n"
"""


def test_the_documented_jobs_are_declared_and_the_command_prints_their_times(make_app, tmp_path):
    file = tmp_path / "project.py"
    file.write_text(blocks(DOCUMENT, "python", "Declare a job")[0])
    with running_a_command():
        app = make_app(PROJECT_FILE=str(file))
    [session] = blocks(DOCUMENT, "console")
    command, printed = session.removeprefix("$ ostiary ").split("\n", 1)

    assert app.test_cli_runner().invoke(args=command.split()).output == printed


@pytest.mark.live
def test_the_documented_test_passes(installed, tmp_path):
    (tmp_path / "config.py").write_text("")
    (tmp_path / "pyproject.toml").write_text('[tool.pytest.ini_options]\npythonpath = ["."]\n')
    (tmp_path / "project.py").write_text(blocks(DOCUMENT, "python", "Declare a job")[0])
    (tmp_path / "test_jobs.py").write_text(blocks(DOCUMENT, "python", "In tests")[0] + RUN)

    done = run_pytest(installed, tmp_path)

    assert "2 passed" in done.stdout, done.stdout
