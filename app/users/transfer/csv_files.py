"""CSV files (RFC 4180, UTF-8), and the values of USER_PROPERTIES as text in them and in commands.

Cells are protected from being read as formulas.
"""

import csv
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, TextIO

from app.errors import TooDeep
from app.rest.requests.bodies import parse_json

if TYPE_CHECKING:
    from app.properties.properties import Property

#: Maximum characters of a line of a CSV file; a cell may have twice as many, on several lines.
MAX_LINE = 65_536
# A spreadsheet takes a cell that starts with one of these for a formula (OWASP, "CSV Injection");
# the last four are full-width. Such a cell is written with an apostrophe in front, which is removed
# when it is read.
FORMULA = re.compile("'*[=+\\-@\t\r\uff0b\uff0d\uff1d\uff20]")
# Types whose values are text in JSON, too.
TEXTS = ("string", "date", "dateonly", "decimal", "uuid", "objectid")


class InvalidFileError(Exception):
    """A file cannot be read as CSV; the message says where and why in one sentence."""


def read_rows(file: TextIO) -> Iterator[tuple[int, list[str]]]:
    """Yield each row with the number of its first line; empty lines are left out.

    The file is open with `newline=""`. Raises InvalidFileError.
    """
    reader = csv.reader(_lines(file), strict=True)
    last = 0
    try:
        for cells in reader:
            first, last = last + 1, reader.line_num
            if cells:
                yield first, [_unprotect(cell) for cell in cells]
    except csv.Error as error:
        raise InvalidFileError(f"line {last + 1}: {error}") from None
    except UnicodeDecodeError:
        raise InvalidFileError(f"line {last + 1} or one of the next is not UTF-8") from None


def write_rows(file: TextIO, rows: Iterable[Sequence[str]]) -> None:
    """Write rows."""
    csv.writer(file, lineterminator="\n").writerows(map(_protect, row) for row in rows)


def _lines(file: TextIO) -> Iterator[str]:
    while line := file.readline(MAX_LINE):
        if len(line) == MAX_LINE:
            raise csv.Error(f"has {MAX_LINE} characters or more")
        yield line


def _protect(cell: str) -> str:
    return f"'{cell}" if FORMULA.match(cell) else cell


def _unprotect(cell: str) -> str:
    return cell[1:] if cell.startswith("'") and FORMULA.match(cell) else cell


def from_text(declared: "Property", text: str) -> object:
    """Return the JSON value of a text; the text itself if it is not JSON."""
    if declared.type.name in TEXTS:
        return text
    try:
        return parse_json(text)
    except (ValueError, TooDeep):
        return text


def to_text(declared: "Property", row: object) -> str:
    """Return a user's value as text; null is empty."""
    value = declared.field().serialize(declared.column_name, row)
    if value is None or isinstance(value, str):
        return value or ""
    return json.dumps(value, ensure_ascii=False)
