"""The JavaScript of an application as text for comments, without its secrets."""

from tree_sitter import Node

from app.loopback.javascript.scope import MAX_SOURCE
from app.loopback.syntax import text_of, walk

from .secrets import SECRET

# Nodes that give a value to a name, with the fields that have both.
VALUES = {
    "pair": ("key", "value"),
    "variable_declarator": ("name", "value"),
    "assignment_expression": ("left", "right"),
}
STRINGS = ("string", "template_string")
MASK = b"'...'"


def masked_source(node: Node) -> str:
    """Return the source of a node with `'...'` in place of texts whose names are of secrets."""
    source, start = node.text or b"", node.start_byte
    for secret in sorted(_secrets(node), key=lambda found: -found.start_byte):
        begin, end = secret.start_byte - start, secret.end_byte - start
        source = source[:begin] + MASK + source[end:]
    return source.decode("utf-8", "replace")[:MAX_SOURCE]


def _secrets(node: Node) -> list[Node]:
    found = []
    for inner in walk(node):
        key, value = VALUES.get(inner.type, ("", ""))
        name, text = inner.child_by_field_name(key), inner.child_by_field_name(value)
        if name and text and text.type in STRINGS and SECRET.search(_last_word(name)):
            found.append(text)
    return found


def _last_word(name: Node) -> str:
    return text_of(name).strip("'\"").rpartition(".")[2]
