"""The calls of a service: the types of each collection's, and the table that they are made from."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from . import runtime
from .document import JSON, Document, Operation, ref_name, ref_names
from .layout import WIDTH, block, line
from .models import Model, Models
from .names import AWAITED, Names, key, member_name, method_name, quoted, type_name, union
from .signatures import Signatures, is_filter

# The methods of calls below a row that have no model, by those of rules.
BELOW = {
    "delete": "deleteAll",
    "updateById": "update",
    "destroyById": "delete",
    "destroy": "delete",
}
CREATE_MANY = "createMany"
# The method of a stream of changes, which is an iterator of the client.
CHANGE_STREAM = "createChangeStream"
CHANGES = "changes"
# The schemas of the answers of calls that answer no row.
ANSWERS = {
    "count": "Count",
    "exists": "Exists",
    "aggregate": "Aggregated",
    "updateAll": "Count",
    "delete": "Count",
}
# The calls of relations that link rows, which others do not have.
LINKS = ("link", "unlink")


@dataclass
class Collection:
    """The calls of one collection, as its type and its entry in the table have them."""

    name: str
    path: str
    tag: str
    # The type of the calls that all collections of rows have, if it is one.
    rows: str = ""
    # The entries of the table, and the members of the type.
    relations: dict[str, str] = field(default_factory=dict)
    own: dict[str, str] = field(default_factory=dict)
    below: dict[str, dict[str, str]] = field(default_factory=dict)
    members: list[str] = field(default_factory=list)


class Endpoints:
    """The calls of all collections."""

    def __init__(
        self, document: Document, operations: Sequence[Operation], models: Models, names: Names
    ) -> None:
        self._document = document
        self._models = models
        self._signatures = Signatures(document, models.types)
        self._types = models.types
        self._names = names
        members = Names(["batch", "loginUrl", "getToken", "setToken", AWAITED])
        by_tag: dict[str, list[Operation]] = {}
        for operation in operations:
            by_tag.setdefault(operation.tag, []).append(operation)
        found = [self._collection(tag, by_tag[tag], members) for tag in sorted(by_tag)]
        self.collections = [each for each in found if each.rows or each.members]

    @property
    def has_changes(self) -> bool:
        """Whether there is a collection whose changes can be followed."""
        return any(f">{CHANGES}" in text for each in self.collections for text in each.own.values())

    def written(self) -> Iterator[list[str]]:
        """Yield the declarations of the collections, and of all together."""
        lines = []
        for each in self.collections:
            type_ = each.rows
            if each.members:
                type_ = self._names.give(f"{type_name(each.name)}Calls")
                extended = f" extends {each.rows}" if each.rows else ""
                yield block(f"export interface {type_}{extended}", each.members)
            lines += line(f"{key(each.name)}: {type_};")
        yield [
            "/** The calls of the service, by collection. */",
            *block("export interface Calls", lines),
        ]

    def table(self) -> list[str]:
        """Return the table from which the calls are made, without its first line."""
        lines = [text for each in self.collections for text in _entry(each)]
        return [*(f"  {text}" for text in lines), "};"]

    def _collection(self, tag: str, operations: list[Operation], members: Names) -> Collection:
        path = self._document.paths.get(tag) or _common_path(operations)
        made = Collection(members.give(member_name(tag), "_"), path, tag)
        model = self._models.by_name.get(self._document.models.get(tag, ""))
        taken = Names([AWAITED])
        done = self._add_rows(made, operations, model, taken) if model else set()
        done |= self._add_relations(made, operations, model, taken)
        done |= self._add_changes(made, operations, model, taken)
        rest = [each for each in operations if each.method not in done and not each.is_alias]
        self._add_own(made, rest, taken)
        return made

    def _add_rows(
        self, made: Collection, operations: list[Operation], model: Model, taken: Names
    ) -> set[str]:
        """Add the calls that all collections of rows have; return the methods that they are."""
        found = _found("ROWS", made.path, operations)
        found = {name: each for name, each in found.items() if self._is_usual(name, each, model)}
        for name in found:
            taken.give(name)
        if not found:
            return set()
        made.rows = _picked(f"Collection<{model.type}Model>", runtime.calls("ROWS"), found)
        return {each.method for each in found.values()}

    def _is_usual(self, name: str, operation: Operation, model: Model) -> bool:
        """Return True if an operation is the one of all models, and not one in its place."""
        if operation.method.startswith("__"):
            return False
        answer = ref_name(operation.answer[1]) if operation.answer else ""
        return self._models.model_of(answer) == ANSWERS.get(name, model.name)

    def _add_relations(
        self, made: Collection, operations: list[Operation], model: Model | None, taken: Names
    ) -> set[str]:
        """Add the relations to rows of models; return the methods that they are."""
        done = set()
        names = dict.fromkeys(_relation_name(each) for each in operations)
        for name in filter(None, names):
            found = self._related(made, operations, name)
            if found is None or model is None:
                continue
            member = taken.give(method_name(name), "_")
            kind, calls, type_ = found
            made.relations[member] = f"{kind} {name}"
            made.members += line(f"{key(member)}(id: {model.id}): {type_};")
            done |= {each.method for each in calls.values()}
        return done

    def _related(
        self, made: Collection, operations: list[Operation], name: str
    ) -> tuple[str, dict[str, Operation], str] | None:
        """Return the kind of a relation, its calls and their type; None if its rows have no model.

        The rows are those of the answer to `GET`.
        """
        path = f"{made.path}/{{id}}/{name}"
        read = next((each for each in operations if (each.verb, each.path) == ("GET", path)), None)
        answer = read.answer[1] if read and read.answer else {}
        named = [self._models.model_of(each) for each in ref_names(answer)]
        targets = [self._models.by_name[each] for each in named if each in self._models.by_name]
        if read is None or not targets or not _has_filter(read):
            return None
        is_many = "items" in answer
        found = _found("RELATED" if is_many else "RELATED_ROW", path, operations)
        created = found.get("create")
        keys = union(created.set_by_path) if created and created.set_by_path else ""
        models = " | ".join(f"{target.type}Model" for target in targets)
        arguments = f"{models}, {keys}" if keys else models
        return "many" if is_many else "one", found, self._related_type(is_many, found, arguments)

    def _related_type(self, is_many: bool, found: dict[str, Operation], arguments: str) -> str:
        if not is_many:
            if set(found) == {"get"}:
                return f"ParentRow<{arguments}>"
            return _picked(f"RelatedRow<{arguments}>", runtime.calls("RELATED_ROW"), found)
        calls = runtime.calls("RELATED")
        if "link" in found:
            body = found["link"].body.get(JSON, {})
            link = f", {self._types.of(body)}" if body.get("properties") else ""
            return _picked(f"LinkedRows<{arguments}{link}>", calls, found)
        others = [name for name in calls if name not in LINKS]
        return _picked(f"RelatedRows<{arguments}>", others, found)

    def _add_changes(
        self, made: Collection, operations: list[Operation], model: Model | None, taken: Names
    ) -> set[str]:
        """Add the iterator of changes, if the document has a stream of them; return its method."""
        streams = {each.verb: each for each in operations if each.method == CHANGE_STREAM}
        if "GET" not in streams or model is None:
            return set()
        member, below = taken.give(CHANGES, "_"), streams["GET"].path.removeprefix(made.path)
        made.own[member] = f"GET {below} options >{CHANGES}"
        made.members += line(f"{key(member)}: Changes<{model.type}Model>;")
        return {CHANGE_STREAM}

    def _add_own(self, made: Collection, operations: list[Operation], taken: Names) -> None:
        """Add the calls that only this collection has; those about one row by groups."""
        groups: dict[str, list[Operation]] = {}
        for operation in operations:
            name, path = _relation_name(operation), f"{made.path}/{{id}}/"
            if name and operation.path.startswith(path):
                groups.setdefault(name, []).append(operation)
                continue
            member = taken.give(method_name(operation.method), "_")
            made.own[member] = self._signatures.call(operation, made.path)
            made.members += self._signatures.member(member, operation)
        for name, found in groups.items():
            group, given = taken.give(method_name(name), "_"), Names([AWAITED])
            members: list[str] = []
            made.below[group] = {}
            for operation in found:
                member = given.give(_below(operation), "_")
                made.below[group][member] = self._signatures.call(operation, made.path)
                members += self._signatures.member(member, operation, has_id=True)
            made.members += block(f"{key(group)}(id: {self._id_type(made)}):", members, "};")

    def _id_type(self, made: Collection) -> str:
        model = self._models.by_name.get(self._document.models.get(made.tag, ""))
        return model.id if model else "string | number"


def _found(table: str, path: str, operations: list[Operation]) -> dict[str, Operation]:
    """Return the calls of a table of the client that the document has below a path."""
    by_route = {(each.verb, each.path): each for each in reversed(operations)}
    found = {
        name: by_route[verb, path + below]
        for name, (verb, below) in runtime.calls(table).items()
        if (verb, path + below) in by_route
    }
    if CREATE_MANY in found:
        # An array may be sent to the same path, which may be described by a route of its own.
        routes = (each for each in operations if _creates_many(each, path))
        own = next(routes, None)
        if own:
            found[CREATE_MANY] = own
        elif not _takes_array(found[CREATE_MANY]):
            del found[CREATE_MANY]
    return found


def _creates_many(operation: Operation, path: str) -> bool:
    method = operation.method.removeprefix("__")
    return method.startswith(CREATE_MANY) and operation.path.rpartition("/")[0] == path


def _picked(type_: str, calls: Iterable[str], found: dict[str, Operation]) -> str:
    """Return a type with those of its calls that there are."""
    kept: list[str] = []
    missing: list[str] = []
    for name in calls:
        (kept if name in found else missing).append(name)
    if not missing:
        return type_
    if len(missing) < len(kept):
        return f"Omit<{type_}, {' | '.join(map(quoted, missing))}>"
    return f"Pick<{type_}, {' | '.join(map(quoted, kept))}>"


def _relation_name(operation: Operation) -> str:
    """Return the relation that a method such as `__get__books` is of, or an empty text."""
    return operation.method.split("__", 2)[2] if operation.method.startswith("__") else ""


def _below(operation: Operation) -> str:
    """Return the name of such a method among those of the relation, `find` of `__get__books`."""
    word = operation.method.split("__", 2)[1]
    if word == "get" and operation.answer and "items" in operation.answer[1]:
        return "find"
    return BELOW.get(word, method_name(word))


def _common_path(operations: list[Operation]) -> str:
    """Return the segment that all paths of calls without rows begin with, if there is one."""
    segments = {operation.path.split("/")[1] for operation in operations}
    return f"/{segments.pop()}" if len(segments) == 1 else ""


def _takes_array(operation: Operation) -> bool:
    forms = operation.body.get(JSON, {})
    return any(form.get("type") == "array" for form in [forms, *forms.get("anyOf", [])])


def _has_filter(operation: Operation) -> bool:
    return any(is_filter(parameter) for parameter in operation.placed("query"))


def _entry(each: Collection) -> list[str]:
    """Return the entry of a collection in the table."""
    lines = [f"path: {quoted(each.path)},", *(["rows: true,"] if each.rows else [])]
    if each.relations:
        lines += line(f"relations: {_table(each.relations)},")
    if not (each.own or each.below):
        short = f"{key(each.name)}: {{ {' '.join(lines)} }},".replace(", }", " }")
        return [short] if len(short) < WIDTH else block(f"{key(each.name)}:", lines, "},")
    own = [f"{key(member)}: {quoted(text)}," for member, text in each.own.items()]
    below = [
        row
        for group, calls in each.below.items()
        for row in line(f"{key(group)}: {_table(calls)},")
    ]
    for name, entries in (("own", own), ("below", below)):
        lines += block(f"{name}:", entries, "},") if entries else []
    return block(f"{key(each.name)}:", lines, "},")


def _table(texts: Mapping[str, str]) -> str:
    return f"{{ {', '.join(f'{key(name)}: {quoted(text)}' for name, text in texts.items())} }}"
