"""Types of TypeScript for JSON schemas."""

import json
from collections.abc import Iterable, Mapping

from .document import Document, Part
from .layout import block, doc, line
from .names import Names, comment, key, quoted, type_name

SIMPLE = {
    "string": "string",
    "integer": "number",
    "number": "number",
    "boolean": "boolean",
    "null": "null",
}


class Types:
    """The types of schemas; named schemas are written once, when they are used."""

    def __init__(self, document: Document, given: Mapping[str, str], names: Names) -> None:
        """Use the types in `given` for schemas of these names."""
        self._document = document
        self._given = dict(given)
        self._names = names
        # The names of the schemas to write.
        self._used: list[str] = []

    def of(self, schema: Part, binary: str = "Blob") -> str:
        """Return the type of a schema; `binary` is that of text in a binary format."""
        if "$ref" in schema:
            return self.named(schema["$ref"].rpartition("/")[2])
        if "const" in schema or "enum" in schema:
            values = schema["enum"] if "enum" in schema else [schema["const"]]
            return _any(map(_literal, values))
        for word, joined in (("anyOf", _any), ("oneOf", _any), ("allOf", _all)):
            if word in schema:
                return joined(self.of(part, binary) for part in schema[word])
        kinds = schema.get("type", ())
        kinds = [kinds] if isinstance(kinds, str) else kinds
        return _any(self._of_kind(kind, schema, binary) for kind in kinds) if kinds else "unknown"

    def named(self, name: str) -> str:
        """Return the type of a named schema, which is written if no model has it."""
        if name not in self._given:
            self._given[name] = self._names.give(type_name(name), "Body")
            self._used.append(name)
        return self._given[name]

    def members(self, schema: Part, binary: str = "Blob") -> dict[str, str]:
        """Return the properties of an object with their types."""
        return {name: self.of(part, binary) for name, part in schema.get("properties", {}).items()}

    def written(self) -> Iterable[list[str]]:
        """Yield the declaration of each named schema that is used, also by others, by name."""
        done: dict[str, list[str]] = {}
        while len(done) < len(self._used):
            for name in self._used[len(done) :]:
                done[name] = self._declare(name)
        for name in sorted(done):
            yield done[name]

    def interface(self, name: str, schema: Part, text: str) -> list[str]:
        """Return the declaration of an object as an interface."""
        lines = [
            row
            for member, part in schema.get("properties", {}).items()
            for row in [
                *doc(comment(part.get("description", "")), "  "),
                *line(f"{_member(member, schema)}: {self.of(part)};", "  "),
            ]
        ]
        if schema.get("additionalProperties", False) is True:
            lines.append("  [property: string]: unknown;")
        head = [*doc(comment(text))]
        return [*head, *block(f"export interface {name}", (row[2:] for row in lines))]

    def _declare(self, name: str) -> list[str]:
        schema, given = self._document.schemas[name], self._given[name]
        if schema.get("properties"):
            return self.interface(given, schema, schema.get("description", ""))
        return line(f"export type {given} = {self.of(schema)};")

    def _of_kind(self, kind: str, schema: Part, binary: str) -> str:
        if kind == "string" and schema.get("format") == "binary":
            return binary
        if kind == "array":
            item = self.of(schema["items"], binary) if "items" in schema else "unknown"
            return f"({item})[]" if " | " in item or " & " in item else f"{item}[]"
        if kind == "object":
            return self._object(schema, binary)
        return SIMPLE[kind]

    def _object(self, schema: Part, binary: str) -> str:
        more = schema.get("additionalProperties", True)
        if schema.get("properties"):
            members = self.members(schema, binary).items()
            parts = [f"{_member(name, schema)}: {kind};" for name, kind in members]
            return f"{{ {' '.join(parts).removesuffix(';')} }}"
        if more is False:
            return "Record<string, never>"
        return f"Record<string, {'unknown' if more is True else self.of(more, binary)}>"


def _member(name: str, schema: Part) -> str:
    return key(name) if name in schema.get("required", ()) else f"{key(name)}?"


def _literal(value: object) -> str:
    if isinstance(value, str):
        return quoted(value)
    is_literal = value is None or isinstance(value, int | float)
    # Lists and objects have no literal types.
    return json.dumps(value, allow_nan=False) if is_literal else "unknown"


def _any(types: Iterable[str]) -> str:
    return " | ".join(dict.fromkeys(types)) or "never"


def _all(types: Iterable[str]) -> str:
    return " & ".join(f"({kind})" if " | " in kind else kind for kind in dict.fromkeys(types))
