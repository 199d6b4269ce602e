"""The parser of filters: LoopBack 3's form in JSON becomes a tree, which is checked."""

import re
from collections.abc import Callable, Iterator, Mapping
from math import pi
from typing import Any

from app.errors import InvalidFilter, quote
from app.rest.fields.json import parse_position

from .bounds import check_cost, check_size
from .kinds import BOOLEAN, NUMBER, TEXT, Kind, Shape
from .patterns import LikePattern
from .regexps import parse_regexp
from .tree import (
    MAX_LIMIT,
    OTHERS,
    Comparison,
    Condition,
    Filter,
    Group,
    Near,
    Order,
    Pattern,
    Place,
    Where,
)

#: Properties that a filter orders by.
MAX_ORDER = 20
#: Rows that a filter skips: the maximum of a 32-bit SQL INTEGER.
MAX_SKIP = 2**31 - 1
#: Names after the first one in a path such as `address.city`.
MAX_STEPS = 5
STEP = re.compile(r"[A-Za-z_$][\w$-]{0,63}", re.ASCII)
DIGITS = re.compile(r"[0-9]{1,10}", re.ASCII)
KEYS = {"where", "fields", "include", "order", "limit", "skip", "offset"}
NEAR_KEYS = {"near", "maxDistance", "minDistance", "unit"}
# The mean radius of the earth (IUGG 1980), in each unit; LoopBack 3's default is miles.
RADIUS = {
    "miles": 3958.7613,
    "kilometers": 6371.0088,
    "meters": 6371008.8,
    "feet": 20902260.0,
    "radians": 1.0,
    "degrees": 180 / pi,
}
# The operators that `options: "i"` may stand beside, and what they then are.
IGNORING_CASE = {
    "like": "ilike",
    "nlike": "nilike",
    "ilike": "ilike",
    "nilike": "nilike",
    "regexp": "iregexp",
}

# The kinds of the properties that a filter may name.
Properties = Mapping[str, Kind]


def parse_filter(raw: Mapping[str, object] | None, properties: Properties) -> Filter:
    """Parse a filter for a model with these properties; raise InvalidFilter.

    >>> parse_filter({"where": {"title": "Buy milk"}, "limit": 10}, {"title": TEXT}).limit
    10
    """
    raw = raw or {}
    check_size(raw)
    if unknown := raw.keys() - KEYS:
        raise InvalidFilter(
            f"A filter has no '{quote(min(unknown))}'; it has {', '.join(sorted(KEYS))}."
        )
    where = parse_where(raw["where"], properties) if raw.get("where") else ()
    nearest = tuple(
        Order(condition.place, near=condition.operand)
        for condition in where
        if isinstance(condition, Comparison) and isinstance(condition.operand, Near)
    )
    filter_ = Filter(
        where=where,
        order=_order(raw.get("order"), properties) or nearest,
        limit=_integer("limit", raw.get("limit")) or MAX_LIMIT,
        skip=_integer("skip", raw.get("skip", raw.get("offset"))),
        fields=_fields(raw.get("fields"), properties),
        include=dict(_included(raw.get("include") or [])),
        raw=raw,
    )
    check_cost([filter_])
    return filter_


def parse_where(where: object, properties: Properties) -> Where:
    """Parse a `where`; raise InvalidFilter, which names the invalid part."""
    if not isinstance(where, dict):
        raise InvalidFilter("where must be an object.")
    return tuple(
        condition
        for name, value in where.items()
        for condition in _conditions(name, value, properties)
    )


def operators_of(kind: Kind) -> "Mapping[str, ReadOperand]":
    """Return the operators for values of a kind, with what reads the operand of each."""
    return OPERATORS[kind.shape]


def _conditions(name: str, value: object, properties: Properties) -> list[Condition]:
    if name in ("and", "or"):
        return [Group(name, tuple(parse_where(item, properties) for item in _list(value, name)))]
    operands = value if isinstance(value, dict) else {"eq": value}
    if "near" in operands:
        others = {word: item for word, item in operands.items() if word not in NEAR_KEYS}
        near = _near(name, operands, properties)
        return [near, *_comparisons(name, others, properties)]
    return [*_comparisons(name, operands, properties)]


def _comparisons(
    name: str, operands: Mapping[str, object], properties: Properties
) -> Iterator[Comparison]:
    read_as: Mapping[str, str] = {}
    if "options" in operands:
        operands, read_as = _without_options(name, operands), IGNORING_CASE
    for word, operand in operands.items():
        yield _comparison(name, word, read_as.get(word, word), operand, properties)


def _without_options(name: str, operands: Mapping[str, object]) -> dict[str, object]:
    """Return the operators that ignore the case because of `options: "i"`."""
    words = {word: operand for word, operand in operands.items() if word != "options"}
    if operands["options"] != "i" or not words.keys() <= IGNORING_CASE.keys():
        raise InvalidFilter(
            f'{name}.options must be "i", beside {", ".join(IGNORING_CASE)} and nothing else.'
        )
    return words


def _comparison(
    name: str, word: str, read_as: str, value: object, properties: Properties
) -> Comparison:
    place = _place(name, properties)
    kind = _kind_of(value) if place.steps else properties[place.property]
    operators = operators_of(kind)
    if read_as not in operators:
        known = ", ".join(operators)
        raise InvalidFilter(f"{name} has no operator '{quote(read_as)}'; there are {known}.")
    return Comparison(place, kind, word, operators[read_as](f"{name}.{read_as}", kind, value))


def _place(name: str, properties: Properties) -> Place:
    """Return what a name such as `address.city` stands for."""
    if name not in properties and OTHERS in properties:
        return Place(OTHERS, _steps(f"{OTHERS}.{name}"))
    if name in properties or "." not in name:
        _check_property(name, properties)
        return Place(name)
    property_ = name.partition(".")[0]
    _check_property(property_, properties)
    if properties[property_].shape is not Shape.OBJECT:
        raise InvalidFilter(f"'{quote(name)}' is no path: the property holds no object.")
    return Place(property_, _steps(name))


def _check_property(name: str, properties: Properties) -> None:
    if name not in properties:
        raise InvalidFilter(
            f"There is no property '{quote(name)}'; there are {', '.join(properties)}."
        )


def _steps(path: str) -> tuple[str, ...]:
    steps = path.split(".", MAX_STEPS + 1)[1:]
    if not all(map(STEP.fullmatch, steps)) or len(steps) > MAX_STEPS:
        raise InvalidFilter(
            f"'{quote(path)}' is no path: after the property it has at most {MAX_STEPS} names"
            " of letters, digits, _, $ and -."
        )
    return tuple(steps)


def _kind_of(value: object) -> Kind:
    """Return the kind of what is at a path: that of the first operand."""
    operands = value if isinstance(value, list) else [value]
    first = next((operand for operand in operands if operand is not None), "")
    if isinstance(first, bool):
        return BOOLEAN
    return NUMBER if isinstance(first, int | float) else TEXT


def _near(name: str, given: Mapping[str, object], properties: Properties) -> Comparison:
    """Read `{"near": ..., "maxDistance": ..., "unit": ...}`."""
    _check_property(name, properties)
    if properties[name].shape is not Shape.POSITION:
        raise InvalidFilter(f"{name}.near is for positions.")
    try:
        position = parse_position(given["near"])
    except ValueError:
        example = '{"lat": 52.5, "lng": 13.4}'
        raise InvalidFilter(f"{name}.near must be a position like {example}.") from None
    unit = given.get("unit", "miles")
    if not isinstance(unit, str) or unit not in RADIUS:
        raise InvalidFilter(f"{name}.unit must be one of {', '.join(RADIUS)}.")
    limits = {
        key: NUMBER.coerce(f"{name}.{key}", given[key]) / RADIUS[unit]
        for key in ("minDistance", "maxDistance")
        if key in given
    }
    words = {word: value for word, value in given.items() if word in NEAR_KEYS}
    near = Near(position, limits.get("minDistance"), limits.get("maxDistance"), words)
    return Comparison(Place(name), properties[name], "near", near)


def _operand(path: str, kind: Kind, value: object) -> Any:
    return None if value is None else kind.coerce(path, value)


def _operands(path: str, kind: Kind, value: object) -> tuple[Any, ...]:
    return tuple(_operand(path, kind, item) for item in _list(value, path))


def _present(path: str, kind: Kind, value: object) -> Any:
    if value is None:
        raise InvalidFilter(f"{path} must not be null.")
    return kind.coerce(path, value)


def _ends(path: str, kind: Kind, value: object) -> tuple[Any, ...]:
    ends = _list(value, path)
    if len(ends) != 2:
        raise InvalidFilter(f"{path} must be a list of two.")
    return tuple(_present(path, kind, end) for end in ends)


def _flag(path: str, kind: Kind, value: object) -> bool:
    if value not in (True, False, "true", "false"):
        raise InvalidFilter(f"{path} must be true or false.")
    return value in (True, "true")


def _null(path: str, kind: Kind, value: object) -> None:
    if value is not None:
        raise InvalidFilter(
            f"{path} must be null; compare a property inside it, such as address.city."
        )


def _pattern(path: str, kind: Kind, value: object) -> Pattern:
    text, ignores_case = _text_of(path, kind, value), path.endswith("ilike")
    return Pattern(text, (LikePattern.parse(text, ignores_case),), ignores_case)


def _regexp(path: str, kind: Kind, value: object) -> Pattern:
    text = _text_of(path, kind, value)
    return Pattern(text, *parse_regexp(path, text, path.endswith("iregexp")))


def _text_of(path: str, kind: Kind, value: object) -> str:
    if not kind.is_text or not isinstance(value, str):
        raise InvalidFilter(f"{path} must compare text with a text.")
    return value


# Returns an operand, given the path for errors, the kind of the property and the client's value.
ReadOperand = Callable[[str, Kind, object], Any]
NULL_OPERATORS: dict[str, ReadOperand] = {"eq": _null, "neq": _null, "exists": _flag}
OPERATORS: dict[Shape, dict[str, ReadOperand]] = {
    Shape.SCALAR: {
        **dict.fromkeys(("eq", "neq"), _operand),
        **dict.fromkeys(("gt", "gte", "lt", "lte"), _present),
        "between": _ends,
        **dict.fromkeys(("inq", "nin"), _operands),
        **dict.fromkeys(("like", "nlike", "ilike", "nilike"), _pattern),
        **dict.fromkeys(("regexp", "iregexp"), _regexp),
        "exists": _flag,
    },
    Shape.ARRAY: {
        **dict.fromkeys(("eq", "neq"), _operand),
        **dict.fromkeys(("inq", "nin"), _operands),
        "exists": _flag,
    },
    Shape.OBJECT: NULL_OPERATORS,
    Shape.POSITION: NULL_OPERATORS,
}


def _order(given: object, properties: Properties) -> tuple[Order, ...]:
    if not given:
        return ()
    terms = [given] if isinstance(given, str) else _list(given, "order")
    if len(terms) > MAX_ORDER:
        raise InvalidFilter(f"order must not have more than {MAX_ORDER} properties.")
    # If a property is named twice, the first one counts.
    ordered: dict[Place, Order] = {}
    for term in terms:
        parsed = _order_term(term, properties)
        ordered.setdefault(parsed.place, parsed)
    return tuple(ordered.values())


def _order_term(term: object, properties: Properties) -> Order:
    words = term.split(maxsplit=2) if isinstance(term, str) else []
    if len(words) not in (1, 2):
        raise InvalidFilter(
            f"The order '{quote(term)}' must be a property, with ASC or DESC after it."
        )
    place = _place(words[0], properties)
    if not place.steps and properties[place.property].shape is not Shape.SCALAR:
        name = quote(words[0])
        raise InvalidFilter(f"order: {name} has no order; name a path in it, or use near.")
    direction = words[1].upper() if len(words) == 2 else "ASC"
    if direction not in ("ASC", "DESC"):
        raise InvalidFilter(f'The order "{quote(term)}" has invalid direction')
    return Order(place, direction == "DESC")


def _integer(name: str, given: object) -> int:
    """Return a limit or skip, 0 if it is absent; a limit above MAX_LIMIT is reduced to it."""
    if given is None:
        return 0
    number = int(given) if isinstance(given, str) and DIGITS.fullmatch(given) else given
    if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number <= MAX_SKIP:
        raise InvalidFilter(f'The {name} parameter "{quote(given)}" is not valid')
    return min(number, MAX_LIMIT) if name == "limit" else number


def _fields(given: Any, properties: Properties) -> frozenset[str] | None:
    """Return the properties that a list names, or that an object maps to true or not to false."""
    if not given:
        return None
    if isinstance(given, str):
        given = [given]
    if not isinstance(given, dict) or "0" in given:
        given = {_text("fields", name): True for name in _list(given, "fields")}
    flags = {}
    for name, keep in given.items():
        _check_property(name, properties)
        flags[name] = _flag(f"fields.{quote(name)}", BOOLEAN, keep)
    kept = {name for name, keep in flags.items() if keep}
    return frozenset(kept or properties.keys() - flags.keys())


def _included(given: Any) -> Iterator[tuple[str, Mapping[str, object]]]:
    """Yield the relations, each with its filter.

    `"todos"`, `{"relation": "todos", "scope": {...}}`, `{"todos": "owner"}` or a list of these.
    """
    match given:
        case str():
            yield given, {}
        case {"relation": name}:
            scope = given.get("scope") or {}
            if not isinstance(scope, dict):
                raise InvalidFilter("include.scope must be an object.")
            yield _text("include", name), scope
        case dict() if "0" not in given:
            for name, nested in given.items():
                yield name, {"include": nested}
        case _:
            for item in _list(given, "include"):
                is_relation = isinstance(item, dict)
                yield from _included(item if is_relation else _text("include", item))


def _text(path: str, value: object) -> str:
    if not isinstance(value, str):
        raise InvalidFilter(f"{path} must name things by text.")
    return value


def _list(value: object, path: str) -> list[Any]:
    """Return a list, also if the bracket form made it `{"0": ..., "1": ...}`."""
    if value and isinstance(value, dict) and list(value) == [*map(str, range(len(value)))]:
        value = list(value.values())
    if not isinstance(value, list):
        raise InvalidFilter(f"{path} must be a list.")
    return value
