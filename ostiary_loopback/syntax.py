"""JavaScript files, parsed by tree-sitter and never executed."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import tree_sitter_javascript
from tree_sitter import Language, Node, Parser

LANGUAGE = Language(tree_sitter_javascript.language())
#: Maximum bytes of a script of a LoopBack 3 application; larger ones are mostly generated
MAX_SCRIPT_BYTES = 1024 * 1024
# Maximum bytes of an expression that may be a name.
MAX_NAME_BYTES = 200
# Maximum number of syntax errors that are reported for a file.
MAX_ERRORS = 5


@dataclass(frozen=True)
class Script:
    """A parsed file of JavaScript."""

    path: Path
    root: Node

    @cached_property
    def errors(self) -> list[int]:
        """The lines of the first syntax errors."""
        if not self.root.has_error:
            return []
        lines = dict.fromkeys(
            line_of(node) for node in walk(self.root) if node.is_error or node.is_missing
        )
        return list(lines)[:MAX_ERRORS]


def parse(path: Path) -> Script:
    """Parse a file; raise OSError if it cannot be read or is larger than MAX_SCRIPT_BYTES."""
    if path.stat().st_size > MAX_SCRIPT_BYTES:
        raise OSError(f"is larger than {MAX_SCRIPT_BYTES} bytes")
    return Script(path, Parser(LANGUAGE).parse(path.read_bytes()).root_node)


def walk(node: Node) -> Iterator[Node]:
    """Yield a node and all nodes in it, in the order of the text."""
    waiting = [node]
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(reversed(node.children))


def first_child(node: Node) -> Node | None:
    """Return the first child that is not punctuation, or None."""
    return next(iter(node.named_children), None)


def text_of(node: Node, limit: int = MAX_SCRIPT_BYTES) -> str:
    """Return the source text of a node, or its beginning of at most this many bytes."""
    return (node.text or b"")[:limit].decode("utf-8", "replace")


def name_of(node: Node | None) -> str:
    """Return the text of a short expression, such as `app.models`; else an empty string."""
    if node is None or node.end_byte - node.start_byte > MAX_NAME_BYTES:
        return ""
    return text_of(node)


def line_of(node: Node) -> int:
    """Return the number of the line in which a node begins; the first is 1."""
    return node.start_point.row + 1
