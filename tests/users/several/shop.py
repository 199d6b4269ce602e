"""A shop with two models of users: customers, who are the first, and staff."""

from tests.conftest import PASSWORD
from tests.definitions.library import rule

CUSTOMER = {
    "name": "Customer",
    "base": "User",
    "properties": {"phone": {"type": "string", "length": 20}, "level": "integer"},
    "relations": {
        "orders": {"type": "hasMany", "model": "Order", "foreignKey": "customerId"},
        "tickets": {"type": "hasMany", "model": "Ticket", "foreignKey": "customerId"},
    },
    "acls": [rule("$owner", property=["__get__orders", "__create__orders"])],
}
STAFF = {
    "name": "Staff",
    "base": "User",
    "plural": "staff",
    "ttl": 3600,
    "properties": {
        # Of another type than the customers' property of this name.
        "level": {"type": "string", "length": 10},
        "badge": {"type": "string", "length": 10, "unique": True},
    },
    "relations": {
        "shop": {"type": "belongsTo", "model": "Shop", "foreignKey": "shopId"},
        "tickets": {"type": "hasMany", "model": "Ticket", "foreignKey": "staffId"},
        "notes": {"type": "hasMany", "model": "Note", "foreignKey": "authorId"},
    },
    "acls": [
        rule("$owner", property=["__get__notes", "__create__notes", "__count__notes"]),
        rule("$owner", property=["__get__tickets", "__get__shop"]),
        rule("chief", property=["find", "findById", "count"]),
    ],
}
SHOP = {"name": "Shop", "properties": {"city": "string"}, "acls": [rule("$authenticated")]}
ORDER = {
    "name": "Order",
    "properties": {"total": "number"},
    "relations": {
        "customer": {"type": "belongsTo", "model": "Customer", "foreignKey": "customerId"}
    },
    "acls": [
        rule("$everyone", "DENY"),
        rule("$authenticated", property="create"),
        rule("$owner"),
    ],
}
NOTE = {
    "name": "Note",
    "properties": {"text": "string"},
    "relations": {"author": {"type": "belongsTo", "model": "Staff", "foreignKey": "authorId"}},
    "acls": [
        rule("$everyone", "DENY"),
        rule("$authenticated", property="create"),
        rule("$owner"),
    ],
}
TICKET = {
    "name": "Ticket",
    "properties": {"text": "string"},
    "owner": "customer",
    "relations": {
        "customer": {"type": "belongsTo", "model": "Customer", "foreignKey": "customerId"},
        "staff": {"type": "belongsTo", "model": "Staff", "foreignKey": "staffId"},
    },
    "acls": [rule("$authenticated")],
}
MODELS = {
    "customer": CUSTOMER,
    "staff": STAFF,
    "shop": SHOP,
    "order": ORDER,
    "note": NOTE,
    "ticket": TICKET,
}
CONFIG = {name: {"dataSource": "db"} for name in ("Customer", "Staff", "Shop", "Order", "Note")}
CONFIG |= {
    "Ticket": {"dataSource": "db"},
    "AccessToken": {
        "dataSource": "db",
        "public": False,
        "relations": {"user": {"type": "belongsTo", "model": "Customer"}},
    },
}
# The paths of the models of users.
CUSTOMERS, STAFF_PATH = "/Customers", "/staff"


class Person:
    """A user of one of the models, logged in."""

    def __init__(self, api, path, email):
        self.path, self.email = path, email
        created = api("POST", path, {"email": email, "password": PASSWORD})
        assert created.status_code == 200, created.json
        self.id = created.json["id"]
        answer = api("POST", f"{path}/login", {"email": email, "password": PASSWORD})
        assert answer.status_code == 200, answer.json
        api.secrets.append(answer.json["id"])
        self.login, self.token = answer.json, answer.json["id"]
