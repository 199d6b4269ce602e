"""The limits that are constants in the code, as listed in `docs/`.

A limit is a constant of a module below a comment that begins with `#:`, which states its unit and
meaning; reasons that are not part of the table are in a plain comment.
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
    """Yield the limits of a package in the order of their files."""
    for path in sorted(ROOT.glob(f"{package}/**/*.py")):
        file = path.relative_to(ROOT).as_posix()
        for comment, name in LIMIT.findall(path.read_text(encoding="utf-8")):
            module = import_module(file.removesuffix(".py").replace("/", "."))
            meaning = " ".join(line.removeprefix("#: ") for line in comment.splitlines())
            yield Limit(meaning.removesuffix("."), getattr(module, name), file, name)
