"""The limits that are constants in the code, as `docs/` lists them.

A limit is a constant of a module below a comment that begins with `#:`, which says its unit and
meaning; a reason that is no part of the table is a plain comment.
"""

import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
LIMIT = re.compile(r"((?:^#: .*\n)+)(?:^# .*\n)*^(\w+)\b.* = ", re.MULTILINE)


class Limit(NamedTuple):
    """A limit: what it means, its value, its file and its name."""

    meaning: str
    value: float
    file: str
    name: str


def limits(package: str) -> Iterator[Limit]:
    """Yield the limits of a package, by their files."""
    for path in sorted(ROOT.glob(f"{package}/**/*.py")):
        file = path.relative_to(ROOT).as_posix()
        for comment, name in LIMIT.findall(path.read_text(encoding="utf-8")):
            module = import_module(file.removesuffix(".py").replace("/", "."))
            meaning = " ".join(line.removeprefix("#: ") for line in comment.splitlines())
            yield Limit(meaning.removesuffix("."), getattr(module, name), file, name)
