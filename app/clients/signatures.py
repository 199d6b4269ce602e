"""One call: its type in a collection, and its entry in the table that calls are made from."""

from typing import NamedTuple

from .document import FORM, JSON, Document, Operation, Part
from .layout import doc, line
from .names import Names, argument_name, comment, key
from .schemas import Types

# The properties by which an answer is known as one with an access token.
TOKEN = {"id", "ttl", "created", "userId"}
# The method after which there is no token; its body may be left out.
LOGOUT = "logout"
# Structured parameters, which are arguments of their own.
FILTERS = ("filter", "where")
# The last argument of every call.
OPTIONS = "options"


class Argument(NamedTuple):
    """An argument after those of the path, by the word that the table has for it."""

    word: str
    type: str
    is_required: bool


class Signatures:
    """The calls of operations."""

    def __init__(self, document: Document, types: Types) -> None:
        self._document = document
        self._types = types

    def call(self, operation: Operation, path: str) -> str:
        """Return a call as the table has it, for a collection at a path."""
        below = operation.path.removeprefix(path) or "/"
        words = [argument.word for argument in self._arguments(operation)]
        if reads := self._reads(operation):
            words.append(f">{reads}")
        return " ".join([operation.verb, below, *words])

    def member(self, name: str, operation: Operation, has_id: bool = False) -> list[str]:
        """Return a call as a collection's type has it, by default with the id in the path."""
        names = Names([OPTIONS, *(argument.word for argument in self._arguments(operation))])
        path = [
            f"{names.give(argument_name(part['name']), '_')}: {self._types.of(part['schema'])}"
            for part in operation.placed("path")[1 if has_id else 0 :]
        ]
        arguments = [*path, *self._typed(operation), f"{OPTIONS}?: CallOptions"]
        text = f"{key(name)}({', '.join(arguments)}): Promise<{self._answer(operation)}>;"
        return [*doc(comment(operation.summary)), *line(text)]

    def _reads(self, operation: Operation) -> str:
        """Return what is made of an answer, as the table has it; nothing for JSON as it is."""
        if operation.answer is None:
            return LOGOUT if operation.method == LOGOUT else ""
        kind, schema = operation.answer
        if kind != JSON:
            return "text" if kind.startswith("text/") else "blob"
        described = self._document.resolved(schema)
        is_login = operation.verb == "POST" and set(described.get("required", ())) >= TOKEN
        return "token" if is_login else ""

    def _answer(self, operation: Operation) -> str:
        if operation.answer is None:
            return "void"
        kind, schema = operation.answer
        if kind == JSON:
            return self._types.of(schema)
        return "string" if kind.startswith("text/") else "Blob"

    def _typed(self, operation: Operation) -> list[str]:
        """Return the arguments after those of the path; none before a required one is optional."""
        typed: list[str] = []
        is_followed = False
        for word, type_, is_required in reversed(self._arguments(operation)):
            if is_required:
                typed.insert(0, f"{word}: {type_}")
            else:
                typed.insert(
                    0, f"{word}: {type_} | undefined" if is_followed else f"{word}?: {type_}"
                )
            is_followed |= is_required
        return typed

    def _arguments(self, operation: Operation) -> list[Argument]:
        query = operation.placed("query")
        found = [
            Argument(
                part["name"],
                self._types.of(part["schema"]["contentSchema"]),
                part.get("required", False),
            )
            for part in query
            if is_filter(part)
        ]
        if operation.body:
            types = [self._body(kind, part) for kind, part in operation.body.items()]
            is_optional = operation.is_body_optional or operation.method == LOGOUT
            found.append(Argument("body", " | ".join(dict.fromkeys(types)), not is_optional))
        if more := [part for part in query if not is_filter(part)]:
            members = "; ".join(map(self._parameter, more))
            is_required = any(part.get("required") for part in more)
            found.append(Argument("query", f"{{ {members} }}", is_required))
        return found

    def _body(self, kind: str, schema: Part) -> str:
        if kind == JSON:
            return self._types.of(schema)
        if kind == FORM:
            return f"FormData | {self._types.of(schema)}"
        return self._types.of(schema, "Binary") if schema else "Binary"

    def _parameter(self, part: Part) -> str:
        name = key(part["name"]) if part.get("required") else f"{key(part['name'])}?"
        # Objects are described as JSON in a parameter.
        schema = part["schema"] if "schema" in part else part["content"][JSON]["schema"]
        return f"{name}: {self._types.of(schema)}"


def is_filter(parameter: Part) -> bool:
    """Return True if a parameter is a filter or `where`, in JSON."""
    return parameter["name"] in FILTERS and "contentSchema" in parameter.get("schema", {})
