"""Finding the variables in a text: `{name}`, `{!name}`, `{name=default:type}`."""

import re
from dataclasses import dataclass

from app.connector.values import known_type

_HEAD = re.compile(r"\{([!^]?)([A-Za-z_$][A-Za-z0-9_$]*)\s*")
_BRACE = re.compile("[{}]")
_TYPE = re.compile(r":([A-Za-z0-9_]+)\}")


@dataclass(frozen=True, slots=True)
class Token:
    """One occurrence of a variable in a text."""

    name: str
    type: str | None = None
    default: str | None = None
    required: bool = False


def scan(text: str) -> list[str | Token]:
    """Split a text into literal pieces and variables."""
    pieces: list[str | Token] = []
    closing = _closing_braces(text)
    start = 0
    brace = text.find("{")
    while brace >= 0:
        found = _token(text, brace, closing.get(brace))
        if found is None:
            brace = text.find("{", brace + 1)
            continue
        token, end = found
        if brace > start:
            pieces.append(text[start:brace])
        pieces.append(token)
        start = end
        brace = text.find("{", end)
    if start < len(text):
        pieces.append(text[start:])
    return pieces


def _token(text: str, brace: int, closing: int | None) -> tuple[Token, int] | None:
    head = _HEAD.match(text, brace)
    if head is None:
        return None
    required, name, at = bool(head[1]), head[2], head.end()
    if text.startswith("}", at):
        return Token(name, required=required), at + 1
    if text.startswith("=", at):
        if closing is None:
            return None
        return _token_with_default(text[at + 1 : closing], name, required), closing + 1
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
