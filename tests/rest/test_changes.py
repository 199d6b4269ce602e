"""Changes of single rows, whose statements are prepared, and changes of others."""

from datetime import UTC, datetime
from itertools import combinations

import pytest
from sqlalchemy import Computed, String, func
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from app.access.rules import AUTHENTICATED, allow
from app.database.columns import UtcDateTime
from app.database.ids import RowId
from app.database.session import db
from app.fields.base import Id, Schema, Text, Timestamp
from app.rest.collection import served_collections
from app.rest.resource import Resource
from app.rest.rows import built
from app.rest.views.registration import register_resource
from tests.conftest import Api

LONG_AGO = datetime(2001, 2, 3, tzinfo=UTC)


class Base(DeclarativeBase):
    """These tables are in no other app."""


def shout(context):
    """Return the new text in capitals: SQLAlchemy passes its context."""
    return context.get_current_parameters()["text"].upper()


class Sign(Base):
    """A text with columns that SQLAlchemy and the database set at each change."""

    __tablename__ = "signs"

    id: Mapped[int] = mapped_column(RowId, primary_key=True)
    text: Mapped[str] = mapped_column(String(50))
    changed: Mapped[datetime | None] = mapped_column(UtcDateTime, onupdate=lambda: LONG_AGO)
    changes: Mapped[str | None] = mapped_column(String(50), onupdate="by a constant")
    folded: Mapped[str | None] = mapped_column(String(50), onupdate=func.lower("In SQL"))
    small: Mapped[str] = mapped_column(Computed("lower(text)", persisted=True))


class Shout(Base):
    __tablename__ = "shouts"

    id: Mapped[int] = mapped_column(RowId, primary_key=True)
    text: Mapped[str] = mapped_column(String(50))
    loud: Mapped[str | None] = mapped_column(String(50), onupdate=shout)


class ShoutSchema(Schema):
    id = Id(dump_only=True)
    text = Text(50, required=True)
    loud = Text(50, dump_only=True)


class SignSchema(Schema):
    id = Id(dump_only=True)
    text = Text(50, required=True)
    changed = Timestamp(dump_only=True)
    changes = Text(50, dump_only=True)
    folded = Text(50, dump_only=True)
    small = Text(50, dump_only=True)


WIDE = [f"n{number}" for number in range(9)]
Wide = type(
    "Wide",
    (Base,),
    {
        "__tablename__": "wide",
        "__annotations__": dict.fromkeys(WIDE, Mapped[int | None]),
        "id": mapped_column(RowId, primary_key=True),
    },
)
WideSchema = Schema.from_dict({"id": Id(dump_only=True)}, name="WideSchema")
MODELS = {"signs": (Sign, SignSchema), "shouts": (Shout, ShoutSchema), "wide": (Wide, WideSchema)}


def rules(settings):
    return [allow(AUTHENTICATED)]


@pytest.fixture
def signs(make_app, secrets):
    """Call an app with signs, shouts and wide rows as a user."""
    app = make_app()
    for name, (model, schema) in MODELS.items():
        register_resource(app, Resource(name, name, model, schema, rules))
    with app.app_context():
        Base.metadata.create_all(db.engine)
    api = Api(app.test_client(), secrets)
    token = api.logged_in()

    def call(verb, path, body=None):
        return api(verb, path, body, token=token).json

    call.app = app
    yield call
    with app.app_context():
        db.session.remove()
        Base.metadata.drop_all(db.engine)


@pytest.mark.both_databases
@pytest.mark.parametrize("verb", ["PATCH", "PUT"])
def test_a_change_sets_what_the_columns_declare(signs, verb):
    created = signs("POST", "/signs", {"text": "A"})
    unset = dict.fromkeys(["changed", "changes", "folded"])
    assert created == {"id": 1, "text": "A", **unset, "small": "a"}

    for text in ("Bc", "d", "EFG"):
        assert signs(verb, "/signs/1", {"text": text}) == {
            "id": 1,
            "text": text,
            "changed": "2001-02-03T00:00:00.000Z",
            "changes": "by a constant",
            "folded": "in sql",
            "small": text.lower(),
        }


@pytest.mark.both_databases
def test_a_function_of_a_column_gets_the_context_of_the_change(signs):
    signs("POST", "/shouts", {"text": "a"})

    for text in ("b", "c"):
        assert signs("PATCH", "/shouts/1", {"text": text})["loud"] == text.upper()


@pytest.mark.both_databases
def test_code_changes_rows_by_any_condition_and_to_sql(signs):
    for text in "ABC":
        signs("POST", "/signs", {"text": text})

    with signs.app.test_request_context():
        signs.app.preprocess_request()
        resource = served_collections.current["signs"].resource
        for _ in range(2):
            [row] = resource.update([Sign.id == 1], {"text": func.lower(Sign.text)})
            assert row.text == "a"
            assert resource.update([Sign.id == 1, Sign.text == "B"], {"text": "x"}) == []
            [row] = resource.update([Sign.id == 1, Sign.text == "a"], {"text": "A"})
            assert (row.id, row.text) == (1, "A")
        assert len(resource.update([Sign.id > 1], {"text": "y"})) == 2
        assert resource.update([Sign.id == 2, Sign.text == Sign.changes], {"text": "z"}) == []
        assert resource.delete([Sign.text == "y"]) == 2
        assert resource.delete([Sign.id == 1, Sign.changed.is_(None)]) == 0
        assert resource.delete(condition for condition in [Sign.id == 1]) == 1


def test_callers_share_statements_of_which_few_are_kept(signs):
    built.prepare_built.cache_clear()
    for number in (1, 2, 3):
        signs("POST", "/signs", {"text": "a"})
        signs("PATCH", f"/signs/{number}", {"text": "b"})
    for number in (1, 2, 3):
        signs("DELETE", f"/signs/{number}")
    assert built.prepare_built.cache_info().currsize == 3

    with signs.app.test_request_context():
        signs.app.preprocess_request()
        resource = served_collections.current["wide"].resource
        [row] = resource.insert([{}])
        for names in (some for size in range(1, 10) for some in combinations(WIDE, size)):
            assert len(resource.update([Wide.id == row.id], dict.fromkeys(names, 1))) == 1
    assert built.prepare_built.cache_info().currsize == built.MAX_STATEMENTS < 2**9 - 1
