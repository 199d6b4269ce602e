"""The examples in the docstrings of the public modules."""

import ast
import re
from textwrap import dedent

from tools.reference import public_modules

# The examples of tests are those of docs/testing.md.
MODULES = {name: module for name, module in public_modules().items() if name != "testing"}

# What follows `::`, up to the next line that is not indented.
BLOCK = re.compile(r"::\n\n((?:(?: {4}.*)?\n)+)")


def examples(name: str) -> list[str]:
    """Return the examples of a module, in order."""
    return [dedent(code) for code in BLOCK.findall(f"{MODULES[name].__doc__}\n")]


def code(name: str) -> str:
    """Return the examples of a module together."""
    return "\n\n".join(examples(name))


def identifiers(name: str) -> set[str]:
    """Return the names and attributes that the examples of a module use."""
    nodes = list(ast.walk(ast.parse(code(name))))
    used = {node.id for node in nodes if isinstance(node, ast.Name)}
    return used | {node.attr for node in nodes if isinstance(node, ast.Attribute)}
