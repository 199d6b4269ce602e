"""Finding the variables in a text: `{name}`, `{!name}`, `{name=default:type}`."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from app.connector.values import known_type

_HEAD = re.compile(r"\{([!^]?)([A-Za-z_$][A-Za-z0-9_$]*)\s*")
_BRACE = re.compile("[{}]")
_TYPE = re.compile(r":([A-Za-z0-9_]+)\}")


@dataclass(frozen=True, slots=True)
class Token:
    """One occurrence of a variable in a text.

    `path` is that of the text, and `root` the template's property (`url`, `query`, …) with the
    text; `scan` leaves both empty.
    """

    name: str
    type: str | None = None
    default: str | None = None
    required: bool = False
    root: str = ""
    path: str = ""


def scan(text: str) -> list[str | Token]:
    """Split a text into literal pieces and variables."""
    pieces: list[str | Token] = []
    closing = _closing_braces(text)
    start = 0
    for head in _HEAD.finditer(text):
        found = _token(text, head, closing) if head.start() >= start else None
        if found is None:
            continue
        if head.start() > start:
            pieces.append(text[start : head.start()])
        token, start = found
        pieces.append(token)
    if start < len(text):
        pieces.append(text[start:])
    return pieces


def _token(text: str, head: re.Match[str], closing: Mapping[int, int]) -> tuple[Token, int] | None:
    """Return the variable that starts with this head, and the position of its end."""
    required, name, at = bool(head[1]), head[2], head.end()
    if text.startswith("}", at):
        return Token(name, required=required), at + 1
    if text.startswith("=", at):
        end = closing.get(head.start())
        if end is None:
            return None
        return _token_with_default(text[at + 1 : end], name, required), end + 1
    word = _TYPE.match(text, at)
    return (Token(name, word[1], required=required), word.end()) if word else None


def _token_with_default(text: str, name: str, required: bool) -> Token:
    default, colon, word = text.rpartition(":")
    if not (colon and known_type(word)):
        default, word = text, ""
    return Token(name, word or None, default, required)


def _closing_braces(text: str) -> dict[int, int]:
    """Return the position of the closing brace for each opening one that has one."""
    closing: dict[int, int] = {}
    opened: list[int] = []
    for brace in _BRACE.finditer(text):
        if brace[0] == "{":
            opened.append(brace.start())
        elif opened:
            closing[opened.pop()] = brace.start()
    return closing
