"""Models with rows and callers, for which rules are made: with one model of users, or two."""

from typing import Any, NamedTuple

Model = dict[str, Any]

# Rows of two users, one of nobody, and none. Users have the ids of the callers.
IDS = (1, 2, 3, 9)

OF_ONE = ("get", "create", "update", "destroy")
OF_MANY = ("get", "create", "delete", "count", "findById", "updateById", "destroyById")
OF_LINKS = (*OF_MANY, "link", "unlink", "exists")


class World(NamedTuple):
    """Models without rules, what is stored of them, and who calls them."""

    # The file with LoopBack's decisions.
    recorded: str
    # How many generated sets of rules are recorded.
    sets: int
    # Rules for which all calls by the first user of each model and by nobody are recorded, too.
    rules: dict[str, Model] | None
    models: dict[str, Model]
    # The rows of each; those of users are the callers.
    rows: dict[str, list[Model]]
    # The methods of the relations of each.
    related: dict[str, dict[str, tuple[str, ...]]]
    # The users who have a role, by its name.
    roles: dict[str, int]
    # Principals of rules for single users, with weights.
    users: dict[tuple[str, str], int]

    @property
    def models_of_users(self) -> list[str]:
        """The models that extend User, the first one first."""
        return [name for name, model in self.models.items() if model["base"] == "User"]

    @property
    def callers(self) -> tuple[int | None, ...]:
        """The ids of the callers. None: anonymous."""
        return None, *(row["id"] for name in self.models_of_users for row in self.rows[name])

    @property
    def first_callers(self) -> set[int | None]:
        """The id of the first user of each model, and None."""
        return {None, *(self.rows[name][0]["id"] for name in self.models_of_users)}

    def owner_key(self, model: str) -> str:
        """Return the property of a row that says whose it is."""
        if model in self.models_of_users:
            return "id"
        relations = self.models[model]["relations"].values()
        keys = (each["foreignKey"] for each in relations if each["type"] == "belongsTo")
        return next(keys)


ADA, BOB, CLERK, ADMIN = 1, 2, 3, 4


def _belongs_to(model: str, key: str) -> Model:
    return {"type": "belongsTo", "model": model, "foreignKey": key}


def _has_many(model: str, key: str) -> Model:
    return {"type": "hasMany", "model": model, "foreignKey": key}


def _allow(role: str, *methods: str) -> Model:
    named = {"property": [*methods]} if methods else {}
    return {"principalType": "ROLE", "principalId": role, "permission": "ALLOW", **named}


DENIED = {"principalType": "ROLE", "principalId": "$everyone", "permission": "DENY"}


# The links are those of Order.tags.
ONE = World(
    recorded="recorded.json",
    sets=200,
    rules=None,
    models={
        "Customer": {
            "base": "User",
            "relations": {
                "orders": _has_many("Order", "customerId"),
                "badge": {"type": "hasOne", "model": "Tag", "foreignKey": "customerId"},
                "labels": {
                    "type": "hasMany",
                    "model": "Tag",
                    "through": "Order",
                    "foreignKey": "customerId",
                    "keyThrough": "tagId",
                },
            },
        },
        "Order": {
            "base": "PersistedModel",
            "properties": {"name": "string"},
            "relations": {
                "customer": _belongs_to("Customer", "customerId"),
                "tag": _belongs_to("Tag", "tagId"),
                "tags": {"type": "hasAndBelongsToMany", "model": "Tag"},
            },
        },
        "Tag": {
            "base": "PersistedModel",
            "properties": {"name": "string"},
            "relations": {
                "customer": _belongs_to("Customer", "customerId"),
                "orders": {"type": "hasAndBelongsToMany", "model": "Order"},
            },
        },
    },
    rows={
        "Customer": [
            {"id": ADA, "email": "ada@example.com"},
            {"id": BOB, "email": "bob@example.com"},
            {"id": CLERK, "email": "clerk@example.com"},
            {"id": ADMIN, "email": "admin@example.com"},
        ],
        "Tag": [
            {"id": 1, "name": "hers", "customerId": ADA},
            {"id": 2, "name": "his", "customerId": BOB},
            {"id": 3, "name": "nobody's"},
        ],
        "Order": [
            {"id": 1, "name": "hers", "customerId": ADA, "tagId": 1},
            {"id": 2, "name": "his", "customerId": BOB, "tagId": 2},
            {"id": 3, "name": "nobody's", "tagId": 3},
        ],
        "OrderTag": [
            {"orderId": 1, "tagId": 1},
            {"orderId": 1, "tagId": 2},
            {"orderId": 2, "tagId": 2},
            {"orderId": 3, "tagId": 3},
        ],
    },
    related={
        "Customer": {"orders": OF_MANY, "badge": OF_ONE, "labels": OF_LINKS},
        "Order": {"customer": ("get",), "tag": ("get",), "tags": OF_LINKS},
        "Tag": {"customer": ("get",), "orders": OF_LINKS},
    },
    roles={"clerk": CLERK, "admin": ADMIN},
    users={("USER", "1"): 2, ("USER", "2"): 2},
)

# Customers, and the staff, of whom two have a role.
SEVERAL = World(
    recorded="recorded-several.json",
    sets=10,
    rules={
        "Customer": {"acls": [_allow("$owner", "__get__orders", "__create__orders")]},
        "Worker": {"acls": [_allow("clerk", "find", "findById"), _allow("$owner", "__get__notes")]},
        "Order": {"acls": [DENIED, _allow("$authenticated", "create"), _allow("$owner")]},
        "Note": {"acls": [DENIED, _allow("clerk", "find"), _allow("$owner")]},
        "Ticket": {"acls": [DENIED, _allow("$owner"), _allow("$authenticated", "findById")]},
    },
    models={
        "Customer": {
            "base": "User",
            "relations": {
                "orders": _has_many("Order", "customerId"),
                "tickets": _has_many("Ticket", "customerId"),
            },
        },
        "Worker": {
            "base": "User",
            "relations": {
                "notes": _has_many("Note", "workerId"),
                "tickets": _has_many("Ticket", "workerId"),
            },
        },
        "Order": {
            "base": "PersistedModel",
            "properties": {"name": "string"},
            "relations": {"customer": _belongs_to("Customer", "customerId")},
        },
        "Note": {
            "base": "PersistedModel",
            "properties": {"name": "string"},
            "relations": {"worker": _belongs_to("Worker", "workerId")},
        },
        "Ticket": {
            "base": "PersistedModel",
            "properties": {"name": "string"},
            "ownerRelations": ["worker"],
            "relations": {
                "worker": _belongs_to("Worker", "workerId"),
                "customer": _belongs_to("Customer", "customerId"),
            },
        },
    },
    rows={
        "Customer": [
            {"id": ADA, "email": "ada@example.com"},
            {"id": BOB, "email": "bob@example.com"},
        ],
        # With the address of a customer.
        "Worker": [
            {"id": CLERK, "email": "ada@example.com"},
            {"id": ADMIN, "email": "admin@example.com"},
        ],
        "Order": [
            {"id": 1, "name": "hers", "customerId": ADA},
            {"id": 2, "name": "his", "customerId": BOB},
            {"id": 3, "name": "nobody's"},
        ],
        "Note": [
            {"id": 1, "name": "the clerk's", "workerId": CLERK},
            {"id": 2, "name": "the admin's", "workerId": ADMIN},
            {"id": 3, "name": "nobody's"},
        ],
        "Ticket": [
            {"id": 1, "name": "of both", "workerId": CLERK, "customerId": ADA},
            {"id": 2, "name": "of a customer", "customerId": ADA},
            {"id": 3, "name": "of the admin", "workerId": ADMIN},
        ],
    },
    related={
        "Customer": {"orders": OF_MANY, "tickets": OF_MANY},
        "Worker": {"notes": OF_MANY, "tickets": OF_MANY},
        "Order": {"customer": ("get",)},
        "Note": {"worker": ("get",)},
        "Ticket": {"worker": ("get",), "customer": ("get",)},
    },
    roles={"clerk": CLERK, "admin": ADMIN},
    users={("USER", "1"): 2, ("USER", "3"): 2},
)
