"""The part of a client that is the same for all services, which is written by hand."""

import re
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).with_name("typescript")
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
TYPE = re.compile(r"\b[A-Z]\w*", re.ASCII)
TABLE = r"^const {}: Record<string, string> = \{{$(.*?)^\}};$"
ENTRY = re.compile(r'^  (\w+): "(\w+) ([^\s"]+)|^  \.\.\.(\w+),$', re.MULTILINE)


@cache
def text(file: str) -> str:
    """Return one of its files."""
    return (FOLDER / file).read_text(encoding="utf-8")


@cache
def taken_names() -> frozenset[str]:
    """Return the names of types that it declares or uses, those of browsers included."""
    code = text("runtime.ts") + text("changes.ts") + text("filters.ts")
    return frozenset(TYPE.findall(COMMENT.sub("", code)))


@cache
def calls(table: str) -> dict[str, tuple[str, str]]:
    """Return the verb and path of each call in one of its tables, such as `ROWS`."""
    found = re.search(TABLE.format(table), text("runtime.ts"), re.DOTALL | re.MULTILINE)
    if found is None:
        raise ValueError(f"the client has no table {table}")
    made: dict[str, tuple[str, str]] = {}
    for name, verb, path, other in ENTRY.findall(found[1]):
        made |= calls(other) if other else {name: (verb, path.rstrip("/"))}
    return made
