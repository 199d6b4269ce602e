"""The examples in the docstrings of the public modules."""

import ast
import importlib
import pkgutil
import re
from textwrap import dedent
from types import ModuleType

import ostiary

# What follows `::`, up to the next line that is not indented.
BLOCK = re.compile(r"::\n\n((?:(?: {4}.*)?\n)+)")
# Those that are no subject, but a way to run or test a project.
PROGRAMS = {"__main__", "wsgi", "testing"}


def public_modules() -> dict[str, ModuleType]:
    """Return the modules by subject, by name."""
    names = [module.name for module in pkgutil.iter_modules(ostiary.__path__)]
    return {
        name: importlib.import_module(f"ostiary.{name}") for name in sorted({*names} - PROGRAMS)
    }


def examples(name: str) -> list[str]:
    """Return the examples of a module, in order."""
    return [dedent(code) for code in BLOCK.findall(f"{public_modules()[name].__doc__}\n")]


def code(name: str) -> str:
    """Return the examples of a module together."""
    return "\n\n".join(examples(name))


def identifiers(name: str) -> set[str]:
    """Return the names and attributes that the examples of a module use."""
    nodes = list(ast.walk(ast.parse(code(name))))
    used = {node.id for node in nodes if isinstance(node, ast.Name)}
    return used | {node.attr for node in nodes if isinstance(node, ast.Attribute)}
