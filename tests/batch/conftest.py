"""Fixtures: a function that sends a batch, and a shop with orders, their lines, and stock."""

import pytest

from tests.definitions.conftest import make_models, write_models  # noqa: F401 fixtures

FOR_USERS = [
    {"principalType": "ROLE", "principalId": "$authenticated", "permission": "ALLOW"},
    {
        "principalType": "ROLE",
        "principalId": "$everyone",
        "permission": "ALLOW",
        "accessType": "READ",
    },
]
ORDER = {
    "name": "Order",
    "properties": {
        "title": {"type": "string", "required": True, "length": 30},
        "margin": {"type": "number"},
        "address": {"type": "object"},
        "count": {"type": "number"},
        "secret": {"type": "string", "default": "kept"},
    },
    "hidden": ["secret"],
    "relations": {"lines": {"type": "hasMany", "model": "Line", "foreignKey": "orderId"}},
    "acls": FOR_USERS,
}
LINE = {
    "name": "Line",
    "properties": {
        "sku": {"type": "string", "required": True, "length": 30},
        "note": {"type": "string"},
        "extra": {"type": "object"},
    },
    "relations": {"order": {"type": "belongsTo", "model": "Order", "foreignKey": "orderId"}},
    "acls": FOR_USERS,
}
STOCK = {
    "name": "Stock",
    "plural": "stock",
    "idInjection": False,
    "properties": {
        "id": {"type": "number", "id": True, "generated": True},
        "sku": {"type": "string", "required": True, "length": 30, "index": {"unique": True}},
        "left": {"type": "number"},
    },
    "acls": FOR_USERS,
}
SHOP = {"order": ORDER, "line": LINE, "stock": STOCK}


def call(method, path, body=None, **more):
    """Return a call of a batch."""
    return {"method": method, "path": path, **({} if body is None else {"body": body}), **more}


class Caller:
    """Sends calls and batches to an app, by default as the user with id 1."""

    def __init__(self, app, token):
        self.app, self.token = app, token
        self._client = app.test_client()

    def __call__(self, method, path, body=None, token="own", **options):
        token = self.token if token == "own" else token
        headers = {**({"Authorization": token} if token else {}), **options.pop("headers", {})}
        return self._client.open(
            f"/api{path}", method=method, json=body, headers=headers, **options
        )

    def batch(self, *calls, **options):
        return self("POST", "/batch", {"requests": list(calls)}, **options)

    def count(self, model):
        return self("GET", f"/{model}/count").json["count"]


@pytest.fixture
def todos(app, token):
    """Call an app with to-dos."""
    return Caller(app, token)


@pytest.fixture
def make_shop(make_models, token):  # noqa: F811
    """Serve the shop, with code beside its models and settings; return its caller."""

    def make(code=None, models=SHOP, **settings):
        return Caller(make_models(models, code=code, **settings), token)

    return make


@pytest.fixture
def shop(make_shop):
    """The shop with the default settings."""
    return make_shop()
