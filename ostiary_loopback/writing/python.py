"""Python of the files that are written: literals, names and comments."""

import json
import re
from collections.abc import Iterable, Mapping
from keyword import iskeyword

# Characters of a line.
WIDTH = 100


def literal(value: object) -> str:
    """Return a value of JSON as Python writes it, with quotation marks as ruff has them."""
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
    """Return a name in snake_case for a function, which is none of those that are taken."""
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", text)
    name = re.sub(r"[^A-Za-z0-9]+", "_", words).strip("_").lower() or "method"
    name = f"_{name}" if name[0].isdigit() or iskeyword(name) else name
    taken, wanted, number = set(taken), name, 2
    while name in taken:
        name, number = f"{wanted}_{number}", number + 1
    return name


def comment(text: str, indent: str = "    ") -> str:
    """Return text as a comment; each line of it is one."""
    # `splitlines` knows all line breaks, also those that Python does not end a comment at.
    lines = (line.rstrip() for line in text.expandtabs(2).splitlines())
    printable = ("".join(char if char.isprintable() else " " for char in line) for line in lines)
    return "".join(f"{indent}# {line}".rstrip() + "\n" for line in printable)
