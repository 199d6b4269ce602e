"""The layout of the written TypeScript."""

import re
from collections.abc import Iterable

WIDTH = 100
# Literals, which are not broken, and spaces at which a long line may be: in a union or
# intersection, and after a member or an argument.
BREAK = re.compile(r'"(?:[^"\\]|\\.)*"|( )(?=[|&] )|(?<=[;,])( )')


def doc(text: str, indent: str = "") -> list[str]:
    """Return the lines of a comment for an editor; none for an empty text."""
    if not text:
        return []
    if len(indent) + len(text) + 7 <= WIDTH:
        return [f"{indent}/** {text} */"]
    return [f"{indent}/**", *_fill(text.split(" "), f"{indent} *"), f"{indent} */"]


def line(text: str, indent: str = "") -> list[str]:
    """Return a declaration as one line, or as several where a type may be broken."""
    if len(indent) + len(text) <= WIDTH:
        return [indent + text]
    return _join(_split(text), indent)


def block(head: str, lines: Iterable[str], end: str = "}") -> list[str]:
    """Return lines within braces."""
    return [f"{head} {{", *(f"  {text}" for text in lines), end]


def _split(text: str) -> list[str]:
    parts, start = [], 0
    for found in BREAK.finditer(text):
        if not found[0].startswith('"'):
            parts.append(text[start : found.start()])
            start = found.end()
    return [*parts, text[start:]]


def _join(parts: list[str], indent: str) -> list[str]:
    """Return the parts in lines, all but the first of which are indented."""
    lines = [indent + parts[0]]
    for part in parts[1:]:
        if len(lines[-1]) + 1 + len(part) <= WIDTH:
            lines[-1] += f" {part}"
        else:
            lines.append(f"{indent}  {part}")
    return lines


def _fill(words: list[str], start: str) -> list[str]:
    lines = [start]
    for word in words:
        if len(lines[-1]) + 1 + len(word) > WIDTH:
            lines.append(start)
        lines[-1] += f" {word}"
    return lines
