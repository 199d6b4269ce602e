"""Drills: the service under load while something breaks, and what must hold all the same.

A drill is a module of this folder with a function `run(seconds)`, which keeps up the load for
about so long and returns a Report.
"""

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

from .report import Report

Drill = Callable[[float], Report]


def find_drills() -> dict[str, Drill]:
    """Return the drills by the names of their modules."""
    found = [
        module.name
        for module in iter_modules([str(Path(__file__).parent)])
        if not module.name.startswith(("_", "test_"))
    ]
    modules = {name: import_module(f"{__name__}.{name}") for name in sorted(found)}
    return {name: module.run for name, module in modules.items() if hasattr(module, "run")}
