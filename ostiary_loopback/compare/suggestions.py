"""Reading calls that the OpenAPI document of the new service suggests, with values of its rows."""

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from itertools import islice
from typing import Any

from .answers import Answer
from .calls import Call, encoded, filtered
from .operations import Document, Operation, Schema
from .values import listed_rows

# The number of rows of a list, and of those that are also read by id and with their relations.
LIMIT = 100
SINGLE_ROWS = 2
# The number of different values of a property in filters, and the maximum length of one.
VALUES = 2
MAX_VALUE_LENGTH = 100
# Operators that LoopBack 3 has for all databases: with comparable values, and with lists.
_ORDERED = ("gt", "gte", "lt", "lte", "between")
_LISTS = ("inq", "nin")
_EMAIL = "email"
_PATTERNS = ("like", "nlike", "regexp")
LISTING = filtered("", filter={"limit": LIMIT}).query
_TIME = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+Z")
_WORD = re.compile(r"[A-Za-z0-9]{2,12}")
# Ids that no row has, by the form of the ids of rows.
_MISSING_IDS = {
    re.compile(r"\d+"): "2147483647",
    re.compile(r"[0-9a-f]{24}"): "f" * 24,
    re.compile(r"[0-9a-fA-F-]{36}"): "ffffffff-ffff-4fff-bfff-ffffffffffff",
}
# The number of rounds of calls: the second one uses ids from answers to the first, such as those
# of rows that the caller cannot list.
ROUNDS = 2
Row = Mapping[str, Any]


@dataclass
class Seen:
    """Ids and values of rows in the answers so far, which further calls use."""

    # Ids by the path of a list, and values by the path and the property.
    ids: dict[str, list[Any]] = field(default_factory=lambda: defaultdict(list))
    values: dict[tuple[str, str], list[Any]] = field(default_factory=lambda: defaultdict(list))
    # The paths of lists with fewer rows than LIMIT, which are also read without a limit.
    short: set[str] = field(default_factory=set)

    def add_ids(self, path: str, rows: Sequence[Row], id_name: str) -> None:
        """Record the ids of rows below the path of a list."""
        for row in rows:
            if isinstance(row.get(id_name), str | int):
                _note(self.ids[path], row[id_name], SINGLE_ROWS)

    def add_values(self, path: str, rows: Sequence[Row]) -> None:
        """Record the values of rows of the list of a model."""
        for name, value in (entry for row in rows for entry in row.items()):
            if isinstance(value, str | int | float) and len(str(value)) <= MAX_VALUE_LENGTH:
                _note(self.values[path, name], value, VALUES)


def suggested_calls(document: Document, seen: Seen) -> Iterator[Call]:
    """Yield the calls; later ones use the ids and values that `note_rows` adds to `seen`."""
    made: set[tuple[str, str]] = set()
    for _ in range(ROUNDS):
        for call in _round(document, seen):
            key = call.verb, call.target
            if key not in made:
                made.add(key)
                yield call


def _round(document: Document, seen: Seen) -> Iterator[Call]:
    for name, make_calls in _CALLS.items():
        for entry in document.operations:
            if entry.name == name:
                yield from make_calls(entry, seen)


def note_rows(document: Document, call: Call, answer: Answer, seen: Seen) -> None:
    """Add the ids and values of the rows of a list, or of a relation, to `seen`."""
    entry = document.operation(call.path)
    if entry is None or entry.name not in ("find", "__get__") or call.query != LISTING:
        return
    rows = rows_in(answer)
    seen.add_ids(call.path, rows, entry.id_name)
    if entry.name == "find":
        seen.add_values(entry.path, rows)
        if answer.status != HTTPStatus.OK or len(rows) < LIMIT:
            seen.short.add(entry.path)
    elif entry.schema in document.lists:
        seen.add_ids(document.lists[entry.schema], rows, entry.id_name)


def rows_in(answer: Answer) -> list[Row]:
    """Return the rows of a list, or the row of a relation to one."""
    return listed_rows(answer.json.value) if answer.status == HTTPStatus.OK and answer.json else []


def _note(values: list[Any], value: object, most: int) -> None:
    if len(values) < most and value not in values:
        values.append(value)


def _lists(entry: Operation, seen: Seen) -> Iterator[Call]:
    # The values of other calls are from its answer.
    yield Call("GET", entry.path, LISTING)
    if entry.path in seen.short:
        yield Call("GET", entry.path)
        yield Call("HEAD", entry.path)
    for chosen in (*_pages(entry, seen), *_fields(entry), *_includes(entry)):
        yield filtered(entry.path, filter=chosen)
    for condition in _conditions(entry, seen):
        yield filtered(entry.path, filter={"where": condition, "limit": LIMIT})


def _pages(entry: Operation, seen: Seen) -> Iterator[dict[str, Any]]:
    yield {"limit": 1}
    yield {"limit": 3, "skip": 1}
    yield {"limit": 3, "offset": 1, "order": f"{entry.id_name} DESC"}
    for name, schema in entry.properties.items():
        # A property without a value in the answers may not exist at the old service.
        if "gt" in _operators(schema) and seen.values.get((entry.path, name)):
            yield {"order": f"{name} ASC", "limit": LIMIT}
            yield {"order": [f"{name} DESC", f"{entry.id_name} ASC"], "limit": LIMIT}


def _fields(entry: Operation) -> Iterator[dict[str, Any]]:
    names = [name for name in entry.properties if name not in ("and", "or", entry.id_name)]
    if names:
        yield {"fields": [entry.id_name, *names[:2]], "limit": LIMIT}
        yield {"fields": {entry.id_name: True, names[0]: True}, "limit": LIMIT}
        yield {"fields": {names[0]: False}, "limit": LIMIT}


def _includes(entry: Operation) -> Iterator[dict[str, Any]]:
    for name in entry.relations:
        yield {"include": name, "limit": LIMIT}
        yield {"include": [{"relation": name, "scope": {"limit": 1}}], "limit": LIMIT}
    if len(entry.relations) > 1:
        yield {"include": list(entry.relations), "limit": LIMIT}


def _conditions(entry: Operation, seen: Seen) -> Iterator[dict[str, Any]]:
    """Yield conditions on each property: each of its operators with values seen in rows."""
    simple = []
    for name, schema in entry.properties.items():
        values = seen.values.get((entry.path, name))
        if values:
            simple.append({name: values[0]})
            yield simple[-1]
            operators = _operators(schema)
            if name == _EMAIL:
                # The new service stores emails in lower case, so that their order is another one.
                operators = {word: operators[word] for word in operators if word not in _ORDERED}
            yield from ({name: operands} for operands in _operands(operators, values))
    if len(simple) > 1:
        yield {"and": simple[:2]}
        yield {"or": simple[:2]}


def _operators(schema: Schema) -> Schema:
    operators: Schema = schema.get("anyOf", [{}])[-1].get("properties", {})
    return operators


def _operands(operators: Schema, values: Sequence[Any]) -> Iterator[dict[str, Any]]:
    yield {"neq": values[0]}
    if isinstance(values[0], bool):
        return
    if all(isinstance(value, type(values[0])) for value in values):
        for word in filter(operators.__contains__, _ORDERED):
            yield {word: sorted(values) * (3 - len(values)) if word == "between" else values[0]}
    # LoopBack 3's memory connector finds no time in a list.
    if not _TIME.fullmatch(str(values[0])):
        for word in filter(operators.__contains__, _LISTS):
            yield {word: list(values)}
    found = _WORD.search(values[0]) if isinstance(values[0], str) else None
    for word in filter(operators.__contains__, _PATTERNS if found else ()):
        yield {word: found[0] if word == "regexp" else f"%{found[0]}%"}  # type: ignore[index]


def _counts(entry: Operation, seen: Seen) -> Iterator[Call]:
    yield Call("GET", entry.path)
    listed = entry.path.removesuffix("/count")
    for name in entry.properties:
        for value in seen.values.get((listed, name), ())[:1]:
            yield filtered(entry.path, where={name: value})


def _first_rows(entry: Operation, seen: Seen) -> Iterator[Call]:
    yield Call("GET", entry.path)
    yield filtered(entry.path, filter={"order": f"{entry.id_name} DESC"})
    for row_id in _ids(seen, entry.path.removesuffix("/findOne")):
        yield filtered(entry.path, filter={"where": {entry.id_name: row_id}})


def _rows(entry: Operation, seen: Seen) -> Iterator[Call]:
    for row_id in _ids(seen, entry.path.removesuffix("/{id}")):
        path = entry.path.replace("{id}", encoded(row_id))
        yield Call("GET", path)
        yield Call("HEAD", path)
        for name in entry.relations:
            yield filtered(path, filter={"include": name})


def _ids(seen: Seen, path: str) -> list[Any]:
    """Return ids of rows of a list, and one of the same form that no row has."""
    ids = list(seen.ids.get(path, ()))
    for form, missing in _MISSING_IDS.items():
        if ids and form.fullmatch(str(ids[0])):
            return [*ids, missing]
    return ids


def _related(entry: Operation, seen: Seen) -> Iterator[Call]:
    model = entry.path.partition("/{id}")[0]
    for row_id in _ids(seen, model):
        path = entry.path.replace("{id}", encoded(row_id))
        yield Call("GET", path, LISTING)
        for name in entry.relations:
            yield filtered(path, filter={"include": name, "limit": LIMIT})


def _of_each_row(entry: Operation, seen: Seen) -> Iterator[Call]:
    for row_id in _ids(seen, entry.path.partition("/{id}")[0]):
        yield Call("GET", entry.path.replace("{id}", encoded(row_id)))


def _related_rows(entry: Operation, seen: Seen) -> Iterator[Call]:
    for row_id in _ids(seen, entry.path.partition("/{id}")[0]):
        path = entry.path.replace("{id}", encoded(row_id))
        listed = path.removesuffix("/{fk}").removesuffix("/rel")
        for related_id in islice(_ids(seen, listed), SINGLE_ROWS):
            yield Call("GET", path.replace("{fk}", encoded(related_id)))


_CALLS: Mapping[str, Callable[[Operation, Seen], Iterator[Call]]] = {
    "find": _lists,
    "count": _counts,
    "findOne": _first_rows,
    # Calls of relations, whose answers contain ids of rows that the caller cannot list.
    "__get__": _related,
    "findById": _rows,
    "exists": _of_each_row,
    "__count__": _of_each_row,
    "__findById__": _related_rows,
}
