"""Generated sets of access rules for three models, and calls of them."""

from collections.abc import Iterator, Mapping, Sequence
from random import Random
from typing import Any, NamedTuple

SEED = 20
SETS = 200
CALLS = 48

# The callers, of whom two have a role. None: anonymous.
ADA, BOB, CLERK, ADMIN = 1, 2, 3, 4
CALLERS = (None, ADA, BOB, CLERK, ADMIN)
ROLES = {"clerk": CLERK, "admin": ADMIN}
# Rows of Ada and of Bob, one of nobody, and none. Users have the ids of the callers.
IDS = (1, 2, 3, 9)

Rules = list[dict[str, Any]]
Model = dict[str, Any]

# The models without rules, and the rows of each, whose links are those of Order.tags.
MODELS: dict[str, Model] = {
    "Customer": {
        "base": "User",
        "relations": {
            "orders": {"type": "hasMany", "model": "Order", "foreignKey": "customerId"},
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
            "customer": {"type": "belongsTo", "model": "Customer", "foreignKey": "customerId"},
            "tag": {"type": "belongsTo", "model": "Tag", "foreignKey": "tagId"},
            "tags": {"type": "hasAndBelongsToMany", "model": "Tag"},
        },
    },
    "Tag": {
        "base": "PersistedModel",
        "properties": {"name": "string"},
        "relations": {
            "customer": {"type": "belongsTo", "model": "Customer", "foreignKey": "customerId"},
            "orders": {"type": "hasAndBelongsToMany", "model": "Order"},
        },
    },
}
ROWS: dict[str, list[Model]] = {
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
}

METHODS = (
    *("create", "find", "findOne", "count", "findById", "exists", "patchAttributes"),
    *("replaceById", "deleteById", "patchOrCreate", "replaceOrCreate", "upsertWithWhere"),
    "updateAll",
)
USER_METHODS = (
    *("login", "logout", "verify", "confirm", "resetPassword", "changePassword", "setPassword"),
    "__get__accessTokens",
)
OF_ONE = ("get", "create", "update", "destroy")
OF_MANY = ("get", "create", "delete", "count", "findById", "updateById", "destroyById")
OF_LINKS = (*OF_MANY, "link", "unlink", "exists")
RELATED = {
    "Customer": {"orders": OF_MANY, "badge": OF_ONE, "labels": OF_LINKS},
    "Order": {"customer": ("get",), "tag": ("get",), "tags": OF_LINKS},
    "Tag": {"customer": ("get",), "orders": OF_LINKS},
}
# Names that LoopBack 3 has for methods, or might seem to have, which rules cannot use.
OTHER_NAMES = (
    *("upsert", "updateOrCreate", "updateAttributes", "destroyById", "removeById", "update"),
    *("patchOrCreateWithWhere", "prototype.patchAttributes", "prototype.updateAttributes"),
    *("prototype.__get__orders", "prototype.__create__orders", "prototype.*", "FindById"),
)


class Call(NamedTuple):
    """A call of one of the models: who calls, and what; `method` is what LoopBack 3 calls it."""

    caller: int | None
    model: str
    method: str
    verb: str
    path: str
    body: Any = None


class RuleSet(NamedTuple):
    """What each model has beside its relations: rules, and what holds without one."""

    models: dict[str, Model]
    calls: list[Call]


def make_sets(seed: int = SEED, sets: int = SETS, calls: int = CALLS) -> list[RuleSet]:
    """Return sets of rules with calls, for a seed always the same."""
    # Python promises the same numbers from `random` alone, for all its versions.
    choose = Chooser(Random(seed).random)
    every_call = [
        Call(caller, model, *call)
        for model in MODELS
        for call in _calls(model)
        for caller in CALLERS
    ]
    return [
        RuleSet(
            {model: _settings(choose, model) for model in MODELS},
            [choose.one(every_call) for _ in range(calls)],
        )
        for _ in range(sets)
    ]


class Chooser:
    """Chooses by random numbers."""

    def __init__(self, random: Any) -> None:
        self._random = random

    def one(self, items: Sequence[Any]) -> Any:
        """Return one of the items."""
        return items[int(self._random() * len(items))]

    def some(self, items: Sequence[Any], most: int) -> list[Any]:
        """Return up to so many of the items."""
        return [self.one(items) for _ in range(1 + int(self._random() * most))]

    def weighted(self, weights: Mapping[Any, int]) -> Any:
        """Return one of the keys, as often as their weights say."""
        return self.one([key for key, weight in weights.items() for _ in range(weight)])


def _settings(choose: Chooser, model: str) -> Model:
    default = choose.weighted({"ALLOW": 5, "DENY": 3, None: 2})
    settings = {} if default is None else {"defaultPermission": default}
    acls: Rules = []
    if choose.weighted({True: 5, False: 5}):
        acls.append(_of("ROLE", "$everyone", "DENY"))
    acls += [_rule(choose, model) for _ in range(choose.one(range(6)))]
    return {**settings, "acls": acls}


def _of(kind: str, principal: str, permission: str | None) -> dict[str, Any]:
    rule = {"principalType": kind, "principalId": principal, "permission": permission}
    return {name: value for name, value in rule.items() if value is not None}


PRINCIPALS = {
    ("ROLE", "$everyone"): 6,
    ("ROLE", "$authenticated"): 6,
    ("ROLE", "$unauthenticated"): 3,
    ("ROLE", "$owner"): 12,
    ("ROLE", "clerk"): 5,
    ("ROLE", "admin"): 1,
    ("ROLE", "nobody"): 1,
    ("ROLE", "$related"): 1,
    ("USER", "1"): 2,
    ("USER", "2"): 2,
    ("APP", "1"): 1,
}
PERMISSIONS = {"ALLOW": 24, "DENY": 12, "AUDIT": 2, "ALARM": 2, None: 1}
ACCESS = {None: 8, "*": 2, "READ": 3, "WRITE": 3, "EXECUTE": 2}


def _rule(choose: Chooser, model: str) -> dict[str, Any]:
    rule = _of(*choose.weighted(PRINCIPALS), choose.weighted(PERMISSIONS))
    access = choose.weighted(ACCESS)
    property_ = _property(choose, model)
    return rule | ({"accessType": access} if access else {}) | property_


def _property(choose: Chooser, model: str) -> dict[str, Any]:
    names = [*METHODS, *_relation_methods(model)]
    if model == "Customer":
        names += USER_METHODS
    kind = choose.weighted({"all": 6, "one": 6, "list": 6, "other": 2, "odd": 1})
    if kind == "all":
        return choose.one([{}, {}, {"property": "*"}])
    if kind == "one":
        return {"property": choose.one(names)}
    if kind == "list":
        return {"property": choose.some(names, 5)}
    if kind == "other":
        return {"property": choose.one([choose.one(OTHER_NAMES), [choose.one(OTHER_NAMES)]])}
    return {"property": choose.one([["*"], [], "", ["*", choose.one(names)], "nothing"])}


def _relation_methods(model: str) -> list[str]:
    return [
        f"__{method}__{relation}" for relation, kinds in RELATED[model].items() for method in kinds
    ]


def _calls(model: str) -> Iterator[tuple[Any, ...]]:
    """Yield the method, verb, path and body of each call of a model."""
    path = f"/{model}s"
    yield from _of_the_collection(model, path)
    for row_id in IDS:
        yield from _of_a_row(model, path, row_id)
        for relation, methods in RELATED[model].items():
            for method, call in _of_a_relation(f"{path}/{row_id}/{relation}", methods):
                yield f"__{method}__{relation}", *call
    if model == "Customer":
        yield from _of_users(path)


NEW = {"email": "new@example.com", "password": "correct horse battery"}


def _of_the_collection(model: str, path: str) -> Iterator[tuple[Any, ...]]:
    new, change = _bodies(model)
    yield "create", "POST", path, new
    yield "create", "POST", path, [new]
    yield "create", "POST", path, {**new, "id": 1}
    for verb in ("GET", "HEAD"):
        yield "find", verb, path
        yield "findOne", verb, f"{path}/findOne"
        yield "count", verb, f"{path}/count"
    for row_id in (None, *IDS):
        key = {} if row_id is None else {"id": row_id}
        yield "patchOrCreate", "PATCH", path, {**key, **(change if key else new)}
        yield "replaceOrCreate", "PUT", path, {**key, **new}
        yield "replaceOrCreate", "POST", f"{path}/replaceOrCreate", {**key, **new}
    for row_id in IDS:
        where = f'where={{"id":{row_id}}}'
        yield "upsertWithWhere", "POST", f"{path}/upsertWithWhere?{where}", new
        yield "updateAll", "POST", f"{path}/update?{where}", change


def _bodies(model: str) -> tuple[Model, Model]:
    """Return the body of a new row, and that of a change."""
    return (NEW, {"username": "new"}) if model == "Customer" else ({"name": "new"},) * 2


def _of_a_row(model: str, path: str, row_id: int) -> Iterator[tuple[Any, ...]]:
    new, change = _bodies(model)
    yield "findById", "GET", f"{path}/{row_id}"
    yield "exists", "HEAD", f"{path}/{row_id}"
    yield "exists", "GET", f"{path}/{row_id}/exists"
    yield "patchAttributes", "PATCH", f"{path}/{row_id}", change
    yield "replaceById", "PUT", f"{path}/{row_id}", new
    yield "replaceById", "POST", f"{path}/{row_id}/replace", new
    yield "deleteById", "DELETE", f"{path}/{row_id}"


def _of_a_relation(path: str, methods: Sequence[str]) -> Iterator[tuple[str, tuple[Any, ...]]]:
    new = {"name": "new"}
    yield "get", ("GET", path)
    yield "get", ("HEAD", path)
    if "create" in methods:
        yield "create", ("POST", path, new)
    if "update" in methods:
        yield "update", ("PUT", path, new)
        yield "destroy", ("DELETE", path)
    if "count" not in methods:
        return
    yield "count", ("GET", f"{path}/count")
    yield "delete", ("DELETE", path)
    for key in IDS:
        yield "findById", ("GET", f"{path}/{key}")
        yield "updateById", ("PUT", f"{path}/{key}", new)
        yield "destroyById", ("DELETE", f"{path}/{key}")
        if "link" in methods:
            yield "link", ("PUT", f"{path}/rel/{key}")
            yield "unlink", ("DELETE", f"{path}/rel/{key}")
            yield "exists", ("HEAD", f"{path}/rel/{key}")


def _of_users(path: str) -> Iterator[tuple[Any, ...]]:
    passwords = {"oldPassword": "wrong", "newPassword": "another quiet harbour"}
    yield "login", "POST", f"{path}/login", {"email": "ada@example.com", "password": "wrong"}
    yield "logout", "POST", f"{path}/logout"
    yield "resetPassword", "POST", f"{path}/reset", {"email": "ada@example.com"}
    yield "changePassword", "POST", f"{path}/change-password", passwords
    yield "setPassword", "POST", f"{path}/reset-password", passwords
    yield "confirm", "GET", f"{path}/confirm?uid=1&token=wrong"
    for row_id in IDS:
        yield "verify", "POST", f"{path}/{row_id}/verify"
        yield "__get__accessTokens", "GET", f"{path}/{row_id}/accessTokens"
