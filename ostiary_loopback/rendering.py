"""A report as text, Markdown or JSON."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from textwrap import fill

from .printing import printable
from .report import Report, Table

WIDTH = 100


def _text(report: Report) -> Iterator[str]:
    yield printable(report.title)
    yield "=" * len(report.title)
    for sentence in report.first:
        yield f"\n{_filled(printable(sentence))}"
    for table in report.tables:
        yield f"\n{table.title}\n{'-' * len(table.title)}"
        if table.sentence:
            yield f"{_filled(table.sentence)}\n"
        yield from _aligned(table)


def _filled(text: str) -> str:
    return fill(text, WIDTH, break_long_words=False, break_on_hyphens=False)


def _aligned(table: Table) -> Iterator[str]:
    lines = _cells(table)
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        yield "  ".join(map(str.ljust, line, widths)).rstrip()


def _cells(table: Table) -> list[list[str]]:
    rows: Sequence[Sequence[str | int]] = [table.columns, *table.rows]
    return [[printable(str(cell)) for cell in row] for row in rows]


def _markdown(report: Report) -> Iterator[str]:
    yield f"# {_escape(report.title)}\n"
    for sentence in report.first:
        yield f"{_escape(sentence)}\n"
    for table in report.tables:
        yield f"## {table.title}\n"
        if table.sentence:
            yield f"{table.sentence}\n"
        header, *rows = _cells(table)
        for line in (header, ["---"] * len(header), *rows):
            yield f"| {' | '.join(map(_escape, line))} |"
        yield ""


def _escape(text: str) -> str:
    text = printable(text)
    for character in ("\\", "|", "<", "*", "_"):
        text = text.replace(character, f"\\{character}")
    return text


def _json(report: Report) -> Iterator[str]:
    # ASCII, so that no value controls the terminal.
    yield json.dumps(report.data, indent=2)


FORMATS: Mapping[str, Callable[[Report], Iterator[str]]] = {
    "text": _text,
    "json": _json,
    "markdown": _markdown,
}
