"""The code of a project: `project.py`, and the errors in it."""

import shutil

import pytest

from app.problems import ConfigurationError
from tests.conftest import PASSWORD
from tests.definitions.conftest import running_a_command
from tests.support.documents import blocks

CODE = '''
from flask import Blueprint, abort

from ostiary.database import Model
from ostiary.resources import register_resource
from ostiary.signals import reset_password_request
from prices import TAX, prices

bp = Blueprint("shop", __name__, url_prefix="/shop")
seen = []


@bp.get("/closed")
def closed():
    abort(410, "The shop is closed.")


def note(sender, info):
    seen.append(info["email"])


def init_app(app):
    register_resource(app, prices)
    app.register_blueprint(bp)
    reset_password_request.connect(note, app)

    @app.get("/tax")
    def tax():
        return {"tax": TAX}

    @app.cli.command("tax")
    def print_tax():
        """Print the tax."""
        print(TAX)
'''

PRICES = """
from sqlalchemy.orm import Mapped, mapped_column

from ostiary import fields
from ostiary.columns import Id, RowId
from ostiary.database import Model
from ostiary.resources import Resource
from ostiary.rules import EVERYONE, READ, allow

TAX = 19


class Price(Model):
    id: Mapped[Id] = mapped_column(RowId, primary_key=True)


class PriceSchema(fields.Schema):
    id = fields.Id(dump_only=True)


prices = Resource(
    name="prices",
    singular="price",
    model=Price,
    schema=PriceSchema,
    rules=lambda settings: [allow(EVERYONE, access=READ)],
)
"""


@pytest.fixture
def start(make_app, tmp_path):
    """Start an app with the Python files of a project, of which one is `project.py`."""

    def start(**files):
        folder = tmp_path / "project"
        folder.mkdir(exist_ok=True)
        for name, text in files.items():
            (folder / f"{name}.py").write_text(text)
        with running_a_command():
            return make_app(PROJECT_FILE=str(folder / "project.py"))

    return start


def test_a_project_has_what_flask_offers_and_resources_of_its_own(start):
    app = start(project=CODE, prices=PRICES)
    api = app.test_client()
    api.post("/api/users", json={"email": "ada@example.com", "password": PASSWORD})
    api.post("/api/users/reset", json={"email": "ada@example.com"})
    commands = app.test_cli_runner()

    assert api.get("/tax").json == {"tax": 19}
    assert api.get("/shop/closed").json["message"] == "The shop is closed."
    assert "/prices/{id}" in api.get("/api/openapi.json").json["paths"]
    assert api.post("/api/prices", json={}).status_code == 401
    assert __import__("project").seen == ["ada@example.com"]
    assert commands.invoke(args=["tax"]).output == "19\n"
    assert "Print the tax." in commands.invoke(args=["--help"]).output
    assert "price        -     /prices  price" in commands.invoke(args=["models", "list"]).output


def test_the_start_stops_without_the_tables_of_a_project(start, make_app):
    file = start(project=CODE, prices=PRICES).config["PROJECT_FILE"]

    with pytest.raises(
        ConfigurationError, match=r"^the database has no price: run `ostiary db mig"
    ):
        make_app(PROJECT_FILE=file)


def test_the_documented_project_has_a_route_and_a_command(start):
    app = start(project=blocks("docs/project.md", "python", "Code of a project")[0])

    assert app.test_client().get("/hello").text == "Hello!"
    assert app.test_cli_runner().invoke(args=["greet"]).output == "Hello!\n"


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"project": "def init_app(app)"}, "project.py:1: SyntaxError: expected ':'"),
        ({"project": "\nimport missing_one"}, "project.py:2: ModuleNotFoundError: No module named"),
        ({"project": CODE, "prices": "TAX = 1 / 0"}, "prices.py:1: ZeroDivisionError: division"),
        ({"project": "def init_app(app):\n    app.nothing()"}, "project.py:2: AttributeError: "),
        ({"project": "x = 1"}, "project.py has no function init_app; write def init_app(app):"),
        (
            {"project": CODE, "prices": PRICES.replace('"prices"', '"users"')},
            "project.py:23: users is served already; set another name",
        ),
        ({}, "PROJECT_FILE cannot be used: there is no file "),
    ],
)
def test_an_error_in_the_code_is_one_sentence_with_its_place(start, files, said):
    with pytest.raises(ConfigurationError) as raised:
        start(**files)

    assert str(raised.value).startswith(said)
    assert "\n" not in str(raised.value)


def test_a_start_after_a_mistake_was_mended_is_like_the_first(start):
    broken = PRICES.replace('"prices"', "name")
    for _ in range(2):
        with pytest.raises(ConfigurationError, match=r"^prices.py:22: NameError: name 'name' is"):
            start(project=CODE, prices=broken)
    start(project=CODE, prices=PRICES + "# Mended.")


def test_files_may_be_symbolic_links(start, tmp_path):
    mounted = tmp_path / "project" / "..2026"
    mounted.mkdir(parents=True)
    (mounted / "project.py").write_text("def init_app(app):\n    app.nothing()")
    (tmp_path / "project" / "project.py").symlink_to("..2026/project.py")

    with pytest.raises(ConfigurationError, match=r"^project.py:2: AttributeError"):
        start()


def test_modules_of_a_project_that_is_gone_do_not_take_the_place_of_others(
    make_app, tmp_path, monkeypatch
):
    """Also if another folder with the name of their package is on the module search path."""

    def start(name, text):
        folder = tmp_path / name / "models"
        folder.mkdir(parents=True)
        (folder / "note.py").write_text(f"NAME = {text!r}\n")
        (tmp_path / name / "project.py").write_text(
            "from models.note import NAME\n\n\ndef init_app(app):\n    app.extensions['n'] = NAME\n"
        )
        with running_a_command():
            return make_app(
                PROJECT_FILE=str(tmp_path / name / "project.py"), MODELS_FOLDER=str(folder)
            )

    start("gone", "gone")
    shutil.rmtree(tmp_path / "gone")
    (tmp_path / "elsewhere" / "models").mkdir(parents=True)
    monkeypatch.syspath_prepend(tmp_path / "elsewhere")

    assert start("next", "next").extensions["n"] == "next"
