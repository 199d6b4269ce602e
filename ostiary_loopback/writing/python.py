"""Literals, names and comments in Python."""

import json
import re
from collections.abc import Iterable, Mapping
from keyword import iskeyword

# Maximum characters of a line.
WIDTH = 100


def literal(value: object) -> str:
    """Return a JSON value as a Python literal, with ruff's quotation marks."""
    if isinstance(value, str):
        # ASCII, so that no character of another program's text changes how a line reads.
        return json.dumps(value)
    if isinstance(value, Mapping):
        return (
            f"{{{', '.join(f'{literal(key)}: {literal(inner)}' for key, inner in value.items())}}}"
        )
    if isinstance(value, list | tuple):
        inner = ", ".join(map(literal, value))
        return f"[{inner}]" if isinstance(value, list) else f"({inner},)"
    return repr(value)


def function_name(text: str, taken: Iterable[str] = ()) -> str:
    """Return a name in snake_case for a function, which is not one of the taken names."""
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", text)
    name = re.sub(r"[^A-Za-z0-9]+", "_", words).strip("_").lower() or "method"
    name = f"_{name}" if name[0].isdigit() or iskeyword(name) else name
    taken, wanted, number = set(taken), name, 2
    while name in taken:
        name, number = f"{wanted}_{number}", number + 1
    return name


def comment(text: str, indent: str = "    ") -> str:
    """Return each line of a text as a comment."""
    # `splitlines` knows all line breaks, also those that do not end a comment in Python.
    lines = (line.rstrip() for line in text.expandtabs(2).splitlines())
    printable = ("".join(char if char.isprintable() else " " for char in line) for line in lines)
    return "".join(f"{indent}# {line}".rstrip() + "\n" for line in printable)
