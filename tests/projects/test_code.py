"""The code of a project: `project.py`, and the errors in it."""

import pytest

from app.config import ConfigurationError

pytestmark = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)

CODE = '''
from prices import TAX


def init_app(app):
    @app.get("/tax")
    def tax():
        return {"tax": TAX}

    @app.cli.command("tax")
    def print_tax():
        """Print the tax."""
        print(TAX)
'''


@pytest.fixture
def start(make_app, tmp_path):
    """Start an app with the Python files of a project, of which one is `project.py`."""

    def start(**files):
        folder = tmp_path / "project"
        folder.mkdir(exist_ok=True)
        for name, text in files.items():
            (folder / f"{name}.py").write_text(text)
        return make_app(PROJECT_FILE=str(folder / "project.py"))

    return start


def test_a_project_has_routes_and_commands_of_its_own(start):
    app = start(project=CODE, prices="TAX = 19")

    assert app.test_client().get("/tax").json == {"tax": 19}
    assert app.test_cli_runner().invoke(args=["tax"]).output == "19\n"
    assert "Print the tax." in app.test_cli_runner().invoke(args=["--help"]).output


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"project": "def init_app(app)"}, "project.py:1: SyntaxError: expected ':'"),
        ({"project": "\nimport missing_one"}, "project.py:2: ModuleNotFoundError: No module named"),
        ({"project": CODE, "prices": "TAX = 1 / 0"}, "prices.py:1: ZeroDivisionError: division"),
        ({"project": "def init_app(app):\n    app.nothing()"}, "project.py:2: AttributeError: "),
        ({"project": "x = 1"}, "project.py has no function init_app; write def init_app(app):"),
        ({}, "PROJECT_FILE cannot be used: there is no file "),
    ],
)
def test_an_error_in_the_code_is_one_sentence_with_its_place(start, files, said):
    with pytest.raises(ConfigurationError) as raised:
        start(**files)

    assert str(raised.value).startswith(said)
    assert "\n" not in str(raised.value)
