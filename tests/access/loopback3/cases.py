"""Generated sets of access rules for the models of a world, and calls of them."""

from collections.abc import Iterator, Mapping, Sequence
from random import Random
from typing import Any, NamedTuple

from .worlds import IDS, Model, World

SEED = 20
CALLS = 48

Rules = list[dict[str, Any]]
METHODS = (
    *("create", "find", "findOne", "count", "findById", "exists", "patchAttributes"),
    *("replaceById", "deleteById", "patchOrCreate", "replaceOrCreate", "upsertWithWhere"),
    "updateAll",
)
USER_METHODS = (
    *("login", "logout", "verify", "confirm", "resetPassword", "changePassword", "setPassword"),
    "__get__accessTokens",
)
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


def recorded_sets(world: World) -> list[RuleSet]:
    """Return the sets of rules for which LoopBack's decisions are recorded."""
    given = []
    if world.rules is not None:
        calls = [call for call in all_calls(world) if call.caller in world.first_callers]
        given.append(RuleSet(world.rules, calls))
    return given + make_sets(world, SEED, world.sets)


def make_sets(world: World, seed: int, sets: int) -> list[RuleSet]:
    """Return sets of rules with calls, for a seed always the same."""
    # Python promises the same numbers from `random` alone, for all its versions.
    choose = Chooser(Random(seed).random)
    every_call = all_calls(world)
    return [
        RuleSet(
            {model: _settings(choose, world, model) for model in world.models},
            [choose.one(every_call) for _ in range(CALLS)],
        )
        for _ in range(sets)
    ]


def all_calls(world: World) -> list[Call]:
    """Return every call of the models by every caller."""
    return [
        Call(caller, model, *call)
        for model in world.models
        for call in _calls(world, model)
        for caller in world.callers
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


def _settings(choose: Chooser, world: World, model: str) -> Model:
    default = choose.weighted({"ALLOW": 5, "DENY": 3, None: 2})
    settings = {} if default is None else {"defaultPermission": default}
    acls: Rules = []
    if choose.weighted({True: 5, False: 5}):
        acls.append(_of("ROLE", "$everyone", "DENY"))
    acls += [_rule(choose, world, model) for _ in range(choose.one(range(6)))]
    return {**settings, "acls": acls}


def _of(kind: str, principal: str, permission: str | None) -> dict[str, Any]:
    rule = {"principalType": kind, "principalId": principal, "permission": permission}
    return {name: value for name, value in rule.items() if value is not None}


ROLES = {
    ("ROLE", "$everyone"): 6,
    ("ROLE", "$authenticated"): 6,
    ("ROLE", "$unauthenticated"): 3,
    ("ROLE", "$owner"): 12,
    ("ROLE", "clerk"): 5,
    ("ROLE", "admin"): 1,
    ("ROLE", "nobody"): 1,
    ("ROLE", "$related"): 1,
}
APPLICATIONS = {("APP", "1"): 1}
PERMISSIONS = {"ALLOW": 24, "DENY": 12, "AUDIT": 2, "ALARM": 2, None: 1}
ACCESS = {None: 8, "*": 2, "READ": 3, "WRITE": 3, "EXECUTE": 2}


def _rule(choose: Chooser, world: World, model: str) -> dict[str, Any]:
    principal = choose.weighted({**ROLES, **world.users, **APPLICATIONS})
    rule = _of(*principal, choose.weighted(PERMISSIONS))
    access = choose.weighted(ACCESS)
    property_ = _property(choose, world, model)
    return rule | ({"accessType": access} if access else {}) | property_


def _property(choose: Chooser, world: World, model: str) -> dict[str, Any]:
    names = [*METHODS, *_relation_methods(world, model)]
    if model in world.models_of_users:
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


def _relation_methods(world: World, model: str) -> list[str]:
    return [
        f"__{method}__{relation}"
        for relation, kinds in world.related[model].items()
        for method in kinds
    ]


def _calls(world: World, model: str) -> Iterator[tuple[Any, ...]]:
    """Yield the method, verb, path and body of each call of a model."""
    path, is_of_users = f"/{model}s", model in world.models_of_users
    bodies = (NEW, {"username": "new"}) if is_of_users else ({"name": "new"},) * 2
    yield from _of_the_collection(path, *bodies)
    for row_id in IDS:
        yield from _of_a_row(f"{path}/{row_id}", *bodies)
        for relation, methods in world.related[model].items():
            for method, call in _of_a_relation(f"{path}/{row_id}/{relation}", methods):
                yield f"__{method}__{relation}", *call
    if is_of_users:
        yield from _of_users(path)


NEW = {"email": "new@example.com", "password": "correct horse battery"}


def _of_the_collection(path: str, new: Model, change: Model) -> Iterator[tuple[Any, ...]]:
    """Yield the calls without the id of a row; `new` and `change` are bodies."""
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


def _of_a_row(path: str, new: Model, change: Model) -> Iterator[tuple[Any, ...]]:
    yield "findById", "GET", path
    yield "exists", "HEAD", path
    yield "exists", "GET", f"{path}/exists"
    yield "patchAttributes", "PATCH", path, change
    yield "replaceById", "PUT", path, new
    yield "replaceById", "POST", f"{path}/replace", new
    yield "deleteById", "DELETE", path


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
