"""The JavaScript of an application as text for comments, without its secrets."""

from collections.abc import Collection, Iterator

from tree_sitter import Node

from ostiary_loopback.javascript.scope import MAX_SOURCE
from ostiary_loopback.syntax import text_of, walk

from .secrets import has_secret, names_secret

# Nodes whose strings are not parts of a value.
FUNCTIONS = ("function_expression", "arrow_function", "class")
# Nodes that assign a value to a name, with the fields of both.
VALUES = {
    "pair": ("key", "value"),
    "variable_declarator": ("name", "value"),
    "assignment_expression": ("left", "right"),
}
STRINGS = ("string", "template_string")
MASK = b"'...'"


def masked_source(node: Node) -> str:
    """Return the source of a node with `'...'` in place of secrets.

    Secrets are strings with the name of a secret, and addresses with a password.
    """
    source, start = node.text or b"", node.start_byte
    for secret in sorted(_secrets(node), key=lambda found: -found.start_byte):
        begin, end = secret.start_byte - start, secret.end_byte - start
        source = source[:begin] + MASK + source[end:]
    return source.decode("utf-8", "replace")[:MAX_SOURCE]


def _secrets(node: Node) -> set[Node]:
    found = set[Node]()
    for inner in walk(node):
        key, value = VALUES.get(inner.type, ("", ""))
        name, given = inner.child_by_field_name(key), inner.child_by_field_name(value)
        if name and given and names_secret(_last_word(name)):
            found.update(_strings(given))
        elif inner.type in STRINGS and has_secret(text_of(inner)[1:-1]):
            found.add(inner)
    return _outermost(found)


def _strings(value: Node) -> Iterator[Node]:
    """Yield the strings that are parts or alternatives of a value."""
    waiting = [value]
    while waiting:
        node = waiting.pop()
        if node.type in STRINGS:
            yield node
        elif node.type not in FUNCTIONS:
            waiting.extend(node.children)


def _outermost(nodes: Collection[Node]) -> set[Node]:
    """Return the nodes that are not inside others, as strings in a template are."""
    found, end = set[Node](), -1
    for node in sorted(nodes, key=lambda each: (each.start_byte, -each.end_byte)):
        if node.start_byte >= end:
            found.add(node)
            end = node.end_byte
    return found


def _last_word(name: Node) -> str:
    return text_of(name).strip("'\"").rpartition(".")[2]
