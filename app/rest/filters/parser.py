"""The parser of filters: LoopBack 3's JSON becomes a checked tree, leniently with COMPATIBILITY."""

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from itertools import chain
from typing import Any

from app.errors import InvalidFilter, quote
from app.rest.requests.compatibility import to_boolean, to_number, to_text, to_time

from .bounds import check_cost, check_size
from .kinds import ARRAYS, BOOLEAN, Kind, Shape
from .operators import IGNORING_CASE, NEAR_KEYS, as_list, kind_at_path, read_flag, read_operand
from .related import FilteredModel, Properties, read_related
from .tree import (
    MAX_LIMIT,
    OTHERS,
    Comparison,
    Filter,
    Group,
    Near,
    Order,
    Place,
    Where,
    WhereNode,
    relation_paths,
)

#: Maximum properties that a filter orders by.
MAX_ORDER = 20
#: Maximum rows that a filter skips: that of a 32-bit SQL INTEGER.
MAX_SKIP = 2**31 - 1
#: Maximum characters of a cursor, by which the next page of a list begins after a row.
MAX_CURSOR = 4000
#: Maximum names after the first one in a path such as `address.city`.
MAX_STEPS = 5
STEP = re.compile(r"[A-Za-z_$][\w$-]{0,63}", re.ASCII)
DIGITS = re.compile(r"[0-9]{1,20}", re.ASCII)
CURSOR = re.compile(rf"[A-Za-z0-9_-]{{1,{MAX_CURSOR}}}", re.ASCII)
NUMBERS = ("limit", "skip", "offset")
KEYS = {"where", "fields", "include", "order", "after", *NUMBERS}
NO_CURSOR = "after must be a cursor, as the Link header of a list has it."
# Converters to these kinds, from texts too.
CONVERTED: Mapping[Kind, Callable[[object], object]] = {
    BOOLEAN: to_boolean,
    ARRAYS[str]: to_text,
    ARRAYS[bool]: to_boolean,
    ARRAYS[datetime]: to_time,
}
# Returns True for a property that is ignored in `fields` and `order`.
Ignores = Callable[[str], bool]


def parse_filter(raw: Mapping[str, object] | None, properties: Properties) -> Filter:
    """Parse a filter for a model with these properties, and no relations; raise InvalidFilter.

    >>> parse_filter({"where": {"title": "Buy milk"}, "limit": 10}, {"title": TEXT}).limit
    10
    """
    return read_filter(raw, FilteredModel(properties))


def read_filter(
    raw: Mapping[str, object] | None,
    model: FilteredModel,
    ignores: Ignores = lambda name: False,
) -> Filter:
    """Parse a filter for a model; raise InvalidFilter."""
    raw = raw or {}
    check_size(raw)
    if unknown := raw.keys() - KEYS:
        raise InvalidFilter(
            f"A filter has no '{quote(min(unknown))}'; it has {', '.join(sorted(KEYS))}."
        )
    given = raw.get("where")
    where = () if given is None else read_where(given, model)
    order = _order(raw.get("order"), model, ignores) or _nearest_first(where)
    filter_ = Filter(
        where=where,
        order=order,
        limit=_integer("limit", raw.get("limit")) or MAX_LIMIT,
        skip=(skip := _integer("skip", raw.get("skip", raw.get("offset")))),
        after=_cursor(raw.get("after"), skip),
        fields=_fields(raw.get("fields"), model.properties, ignores),
        include=dict(_included(raw.get("include") or [])),
        raw=raw,
        relations=relation_paths(where, [term.place for term in order] if order else ()),
    )
    check_cost([filter_])
    return filter_


def parse_leniently(
    raw: Mapping[str, object] | None,
    model: FilteredModel,
    declared: Collection[str],
) -> Filter:
    """Parse a filter; ignore unknown keys and properties in some places, and empty numbers.

    `declared` are all properties: those that filters must not use are refused.
    """
    given = {
        name: to_number(value) if name in NUMBERS else value
        for name, value in (raw or {}).items()
        if name in KEYS and not (name in NUMBERS and value == "")
    }

    def is_unknown(name: str) -> bool:
        own, _, rest = name.partition(".")
        if OTHERS in model.properties or own in model.properties or own in declared:
            return False
        return not rest or model.find_related(own) is None

    return read_filter(given, model, is_unknown)


def lenient(kind: Kind) -> Kind:
    """Return a kind that also accepts equivalent values, such as a number for text."""
    convert = CONVERTED.get(kind, to_text if kind.is_text else None)
    if kind.read is None or convert is None:
        return kind
    read = kind.read
    return replace(kind, read=lambda value: read(convert(value)))


def parse_where(where: object, properties: Properties) -> Where:
    """Parse a `where` without relations; raise InvalidFilter, which names the invalid part."""
    return read_where(where, FilteredModel(properties))


def read_where(where: object, model: FilteredModel) -> Where:
    """Parse a `where` for a model; raise InvalidFilter, which names the invalid part."""
    if not isinstance(where, dict):
        raise InvalidFilter("where must be an object.")
    parsed = (_conditions(name, value, model) for name, value in where.items())
    return tuple(chain.from_iterable(parsed))


def _conditions(name: str, value: object, model: FilteredModel) -> list[WhereNode]:
    if name in ("and", "or"):
        return [Group(name, tuple(read_where(item, model) for item in as_list(value, name)))]
    if name not in model.properties and (related := model.related(name)):
        return [*read_related(value, related, read_where)]
    properties = model.properties
    _check_no_relation(name, model)
    place = _place(name, properties)
    operands = _with_near(value) if isinstance(value, dict) else {"eq": value}
    read_as: Mapping[str, str] = {}
    if "options" in operands:
        operands, read_as = _without_options(name, operands), IGNORING_CASE
    if not operands:
        # An empty condition would match every row.
        raise InvalidFilter(f"{name} must be a value, or an object with an operator.")
    return [
        _comparison(name, place, word, read_as.get(word, word), operand, properties)
        for word, operand in operands.items()
    ]


def _with_near(operands: Mapping[str, object]) -> Mapping[str, object]:
    """Return the operands with `near` combined with its options, such as `maxDistance`."""
    if "near" not in operands:
        return operands
    near = {word: operand for word, operand in operands.items() if word in NEAR_KEYS}
    others = {word: operand for word, operand in operands.items() if word not in NEAR_KEYS}
    return {"near": near, **others}


def _without_options(name: str, operands: Mapping[str, object]) -> Mapping[str, object]:
    """Return the operands of operators that ignore the case because of `options: "i"`."""
    others = {word: operand for word, operand in operands.items() if word != "options"}
    if operands["options"] != "i" or not others.keys() <= IGNORING_CASE.keys():
        raise InvalidFilter(
            f'{name}.options must be "i", beside {", ".join(IGNORING_CASE)} and nothing else.'
        )
    return others


def _comparison(
    name: str, place: Place, word: str, read_as: str, value: object, properties: Properties
) -> Comparison:
    kind = kind_at_path(value) if place.steps else properties[place.property]
    return Comparison(place, kind, word, read_operand(name, read_as, kind, value))


def read_place(name: str, model: FilteredModel) -> tuple[Place, Kind]:
    """Return the place of a name such as `site.name`, and the kind of its property.

    Raises InvalidFilter.
    """
    related = None
    if name not in model.properties:
        first, _, rest = name.partition(".")
        related = model.related(first) if rest else None
    if related is None:
        place = _place(name, model.properties)
        return place, model.properties[place.property]
    if related.is_many:
        raise InvalidFilter(
            f"'{quote(name)}': {first} leads to many rows, which have no single value."
        )
    inner, kind = read_place(rest, related)
    check_related(name, kind)
    return replace(inner, relations=(first, *inner.relations)), kind


def check_related(name: str, kind: Kind) -> None:
    """Raise InvalidFilter for a computed property of a related row as an order or a group.

    It would be computed for each row that leads to the related one, and not once for this one.
    """
    if kind.is_computed:
        raise InvalidFilter(
            f"'{quote(name)}' is computed: it orders and groups the rows that have it, and not"
            " those that lead to them."
        )


def _check_no_relation(name: str, model: FilteredModel) -> None:
    """Raise InvalidFilter for a path that begins with a relation: its conditions are inside it."""
    first, _, rest = name.partition(".")
    if rest and OTHERS not in model.properties and model.related(first):
        raise InvalidFilter(
            f"{quote(first)} is a relation: write its conditions as an object, as in"
            f' {{"{quote(first)}": {{"{quote(rest)}": …}}}}.'
        )


def _place(name: str, properties: Properties) -> Place:
    """Return the property or path for a name such as `address.city`; raise InvalidFilter."""
    place = _named(name, properties)
    visibility = properties[place.property].visibility
    if visibility and place.steps and visibility.hides(place.steps):
        raise _unknown(name, properties)
    return place


def _named(name: str, properties: Properties) -> Place:
    if name in properties and name != OTHERS:
        return Place(name)
    property_ = name.partition(".")[0]
    if OTHERS in properties and (property_ == OTHERS or property_ not in properties):
        return Place(OTHERS, _steps(f"{OTHERS}.{name}"))
    _check_property(property_, properties)
    if properties[property_].shape is not Shape.OBJECT:
        raise InvalidFilter(f"'{quote(name)}' is no path: the property holds no object.")
    return Place(property_, _steps(name))


def _check_property(name: str, properties: Properties) -> None:
    if name == OTHERS or name not in properties:
        raise _unknown(name, properties)


def _unknown(name: str, properties: Properties) -> InvalidFilter:
    known = ", ".join(known for known in properties if known != OTHERS)
    return InvalidFilter(f"There is no property '{quote(name)}'; there are {known}.")


def _steps(path: str) -> tuple[str, ...]:
    steps = path.split(".", MAX_STEPS + 1)[1:]
    if not all(map(STEP.fullmatch, steps)) or len(steps) > MAX_STEPS:
        raise InvalidFilter(
            f"'{quote(path)}' is no path: after the property it has at most {MAX_STEPS} names"
            " of letters, digits, _, $ and -."
        )
    return tuple(steps)


def _order(given: object, model: FilteredModel, ignores: Ignores) -> tuple[Order, ...]:
    terms = order_terms(given)
    if len(terms) > MAX_ORDER:
        raise InvalidFilter(f"order must not have more than {MAX_ORDER} properties.")
    # If a property is named twice, the first one counts.
    ordered: dict[Place, Order] = {}
    for term in terms:
        if parsed := _order_term(term, model, ignores):
            ordered.setdefault(parsed.place, parsed)
    return tuple(ordered.values())


def order_terms(given: object) -> list[object]:
    """Return the terms of an order; a text may have several, separated by commas."""
    terms: list[object] = []
    for item in [given] if isinstance(given, str) else as_list(given or [], "order"):
        split = map(str.strip, item.split(",")) if isinstance(item, str) else [item]
        terms += [term for term in split if term != ""]
    return terms


def _nearest_first(where: Where) -> tuple[Order, ...]:
    """Return LoopBack 3's order of rows near a position."""
    return tuple(
        Order(condition.place, near=condition.operand)
        for condition in where
        if isinstance(condition, Comparison) and isinstance(condition.operand, Near)
    )


def _order_term(term: object, model: FilteredModel, ignores: Ignores) -> Order | None:
    words = term.split(maxsplit=2) if isinstance(term, str) else []
    if len(words) not in (1, 2):
        raise InvalidFilter(
            f"The order '{quote(term)}' must be a property, with ASC or DESC after it."
        )
    direction = words[1].upper() if len(words) == 2 else "ASC"
    if direction not in ("ASC", "DESC"):
        raise InvalidFilter(f'The order "{quote(term)}" has invalid direction')
    if ignores(words[0]):
        return None
    place, kind = read_place(words[0], model)
    if not place.steps and kind.shape is not Shape.SCALAR:
        inside = "" if kind.shape is Shape.FILE else "; name a path in it, or use near"
        raise InvalidFilter(f"order: {quote(words[0])} has no order{inside}.")
    return Order(place, direction == "DESC", is_computed=kind.is_computed)


def _integer(name: str, given: object) -> int:
    """Return a limit or skip, 0 if it is absent; a limit above MAX_LIMIT is reduced to it."""
    if given is None:
        return 0
    number, is_limit = _whole_number(given), name == "limit"
    if number is None or number < 0 or (number > MAX_SKIP and not is_limit):
        raise InvalidFilter(f'The {name} parameter "{quote(given)}" is not valid')
    return min(number, MAX_LIMIT) if is_limit else number


def _cursor(given: object, skip: int) -> str:
    if given is None:
        return ""
    if not isinstance(given, str) or not CURSOR.fullmatch(given):
        raise InvalidFilter(NO_CURSOR)
    if skip:
        raise InvalidFilter("after and skip both say where a page begins; send one of them.")
    return given


def refuse_cursor(filter_: Filter) -> None:
    """Raise InvalidFilter for a filter with a cursor that is not that of a request for a list."""
    if filter_.after:
        raise InvalidFilter("after: only the filter of a list has it, and no scope.")


def _whole_number(given: object) -> int | None:
    """Return a whole number from JSON, where it may be 2.0, or from the query string."""
    if isinstance(given, str):
        return int(given) if DIGITS.fullmatch(given) else None
    if isinstance(given, float):
        return int(given) if given.is_integer() else None
    return given if isinstance(given, int) and not isinstance(given, bool) else None


def _fields(given: object, properties: Properties, ignores: Ignores) -> frozenset[str] | None:
    """Return the properties in a list, or those that an object includes or does not exclude."""
    if not given:
        return None
    if not isinstance(given, dict):
        names = [given] if isinstance(given, str) else as_list(given, "fields")
        given = {_text("fields", name): True for name in names}
    flags = {}
    for name, keep in given.items():
        if not ignores(name):
            _check_property(name, properties)
        flags[name] = read_flag(f"fields.{quote(name)}", BOOLEAN, keep)
    kept = {name for name, keep in flags.items() if keep}
    return frozenset(properties.keys() & kept if kept else properties.keys() - flags.keys())


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
        case dict():
            for name, nested in given.items():
                yield name, {"include": nested}
        case _:
            for item in as_list(given, "include"):
                is_relation = isinstance(item, dict)
                yield from _included(item if is_relation else _text("include", item))


def _text(path: str, value: object) -> str:
    if not isinstance(value, str):
        raise InvalidFilter(f"{path} must name things by text.")
    return value
