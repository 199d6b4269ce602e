"""Limits of models in JSON: how many rows may belong to one row of another model."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from app.problems import Problems, suggest
from app.properties.declaration import Declaration
from app.properties.properties import Property
from app.rest.rows.limits import LIMIT_REACHED, NO_MAXIMUM, Limit, is_maximum

PER, AT_MOST, WHERE, CODE = "per", "atMost", "where", "code"
KEYS = (PER, AT_MOST, WHERE, CODE)
ERROR_CODE = re.compile(r"[A-Z][A-Z0-9_]*", re.ASCII)


def read_limits(declared: Declaration) -> list[Limit]:
    """Read `limits`, such as `[{"per": "shift", "atMost": "capacity", "code": "SHIFT_IS_FULL"}]`.

    What they name is checked once all models are served.
    """
    if not isinstance(declared.value, list | None):
        declared.add('must be a list, as in [{"per": "shift", "atMost": 7}]')
    return [limit for limit in map(_read, declared.items()) if limit]


def _read(declared: Declaration) -> Limit | None:
    if not isinstance(declared.value, Mapping):
        declared.add("must be an object")
        return None
    given: Mapping[str, Any] = declared.mapping
    problems = dict(_problems(given))
    for key, problem in problems.items():
        declared[key].add(problem)
    if problems:
        return None
    return Limit(
        per=given[PER],
        at_most=given[AT_MOST],
        where=given.get(WHERE, {}),
        code=given.get(CODE, LIMIT_REACHED),
        place=declared.path,
    )


def _problems(given: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the invalid keys of a limit, each with its problem."""
    for key in sorted(given.keys() - set(KEYS)):
        yield key, f"there is no such key{suggest(key, KEYS)}"
    if not isinstance(given.get(PER), str):
        yield PER, "must be the name of a belongsTo relation"
    if not is_maximum(given.get(AT_MOST)):
        yield AT_MOST, NO_MAXIMUM
    if not isinstance(given.get(WHERE, {}), Mapping):
        yield WHERE, "must be an object"
    code = given.get(CODE, LIMIT_REACHED)
    if not isinstance(code, str) or not ERROR_CODE.fullmatch(code):
        yield CODE, "must be a code such as SHIFT_IS_FULL"


def warn_of_null(
    limits: Iterable[Limit], properties: Mapping[str, Property], problems: Problems
) -> None:
    """Warn of limits that do not count rows in which clients set a property to null."""
    for limit in limits:
        for name, value in _equalities(limit.where):
            property_ = properties.get(name)
            if property_ is None or property_.required or property_.read_only:
                continue
            advice = f'"required": true for {name}'
            if isinstance(value, bool):
                condition = json.dumps({name: {"neq": not value}})
                advice = f"{condition}, which counts these rows too, or {advice}"
            problems.warn(
                f"{limit.place}.{WHERE}",
                f"rows in which {name} is null do not count, and clients may set it to null; "
                f"write {advice}",
            )


def _equalities(where: object) -> Iterator[tuple[str, object]]:
    """Yield the properties that conditions compare by equality, each with the value."""
    for name, condition in where.items() if isinstance(where, Mapping) else ():
        if name in ("and", "or"):
            for part in condition if isinstance(condition, list) else ():
                yield from _equalities(part)
            continue
        value = condition.get("eq") if isinstance(condition, Mapping) else condition
        if value is not None:
            yield name, value
