"""A shop whose orders and lines are watched, with callers, and what its log has."""

import pytest
from sqlalchemy import select

from app.changes.models import Change
from app.database.session import db
from tests.batch.conftest import Caller
from tests.definitions.conftest import make_models, write_models  # noqa: F401 fixtures

OWNERS = [
    {"principalType": "ROLE", "principalId": "$authenticated", "permission": "ALLOW"}
    | {"property": "create"},
    {"principalType": "ROLE", "principalId": "$owner", "permission": "ALLOW"},
]
ALL = [{"principalType": "ROLE", "principalId": "$everyone", "permission": "ALLOW"}]
ORDER = {
    "name": "Order",
    "changes": {"keep": ["status"]},
    "properties": {
        "title": {"type": "string", "length": 30},
        "status": {"type": "string", "length": 30},
        "secret": {"type": "string"},
        "extra": {"type": "object"},
    },
    "hidden": ["secret"],
    "relations": {
        "owner": {"type": "belongsTo", "model": "user", "foreignKey": "ownerId"},
        "lines": {"type": "hasMany", "model": "Line", "foreignKey": "orderId"},
    },
    "acls": ALL,
}
LINE = {
    "name": "Line",
    "changes": True,
    "properties": {"sku": {"type": "string"}},
    "relations": {
        "order": {"type": "belongsTo", "model": "Order", "foreignKey": "orderId"},
    },
    "acls": ALL,
}
NOTE = {"name": "Note", "properties": {"text": {"type": "string"}}, "acls": ALL}
SHOP = {"order": ORDER, "line": LINE, "note": NOTE}


@pytest.fixture
def make_shop(make_models, token):  # noqa: F811
    """Serve models, by default the shop; return a caller, who is the user with id 1."""

    def make(models=SHOP, code=None, **settings):
        return Caller(make_models(models, code=code, **settings), token)

    return make


@pytest.fixture
def shop(make_shop):
    return make_shop()


@pytest.fixture
def log():
    """Return what the log of an app has."""

    def log(caller):
        with caller.app.app_context():
            rows = db.session.execute(select(Change.__table__).order_by("seq"))
            return [row._asdict() for row in rows]

    return log
