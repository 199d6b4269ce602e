"""CSV files of users (RFC 4180, UTF-8): their rows, and the values in these.

Cells are protected from being read as formulas. Commands write values of USER_PROPERTIES as text in
the same way.
"""

import csv
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, TextIO

from marshmallow import ValidationError, fields, validates, validates_schema

from app.access.roles import ROLE_SEPARATOR, check_role
from app.database.ids import app_id_form
from app.errors import TooDeep
from app.errors import ValidationError as InvalidRole
from app.ids import Id
from app.rest.requests.bodies import parse_json
from app.rest.rows.values import Values
from app.times import now
from app.users.passwords.hashing import hash_problem
from app.users.schemas import RegistrationSchema
from app.users.user_models import properties_of

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
HASH_COLUMN = "passwordHash"
TIME_ERRORS: Values = {
    "invalid": "must be a time, such as 2026-01-02T03:04:05Z",
    "invalid_awareness": "must have a time zone",
}


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
    csv.writer(file, lineterminator="\n").writerows(map(protect, row) for row in rows)


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


class Roles(fields.Field[list[str]]):
    """The names of roles, separated by semicolons."""

    def _deserialize(self, value: str, *args: object, **kwargs: object) -> list[str]:
        names = [name.strip() for name in value.split(ROLE_SEPARATOR)]
        try:
            for name in names:
                check_role(name)
        except InvalidRole as error:
            raise ValidationError(error.details["messages"]["role"]) from None
        return list(dict.fromkeys(names))


class UserId(fields.Field[Id]):
    """The id of a user, in the form of ID_TYPE."""

    def _deserialize(self, value: str, *args: object, **kwargs: object) -> Id:
        form = app_id_form()
        if (user_id := form.parse(value)) is None:
            raise ValidationError(f"must be {form.description}")
        return user_id


class RowSchema(RegistrationSchema):
    """A user to import, with a plain text password or its hash."""

    # Without one the user gets a new id.
    id = UserId()  # type: ignore[assignment]
    password = fields.String()  # type: ignore[assignment]
    password_hash = fields.String(data_key=HASH_COLUMN)
    emailVerified = fields.Boolean(  # noqa: N815
        attribute="email_verified",
        load_default=False,
        truthy={"true", "True", "TRUE"},
        falsy={"false", "False", "FALSE"},
        error_messages={"invalid": "must be true or false"},
    )
    created = fields.AwareDateTime(  # type: ignore[assignment]
        load_default=now, error_messages=TIME_ERRORS
    )
    disabledAt = fields.AwareDateTime(  # noqa: N815
        attribute="disabled_at", load_default=None, error_messages=TIME_ERRORS
    )
    roles = Roles(load_default=list)

    @validates("created", "disabledAt")
    def _check_time(self, value: datetime | None, **_options: object) -> None:
        if value is not None and (value.year < 1970 or value > now()):
            raise ValidationError("must be between 1970 and now")

    @validates("password_hash")
    def _check_hash(self, value: str, **_options: object) -> None:
        if problem := hash_problem(value):
            raise ValidationError(problem)

    @validates_schema
    def _check_secrets(self, row: Values, **_options: object) -> None:
        if "password" in row and "password_hash" in row:
            raise ValidationError("is given twice, in clear and as a hash", "password")
        if "password" not in row and "password_hash" not in row:
            raise ValidationError(f"or `{HASH_COLUMN}` is missing", "password")

    def load_cells(
        self, header: Sequence[str], cells: Sequence[str], principal_type: str
    ) -> Values:
        """Load a row of a model, whose empty cells count as absent; raise ValidationError."""
        if len(cells) != len(header):
            problem = f"has {len(cells)} cells for {len(header)} columns"
            raise ValidationError({"row": [problem]})
        given: Values = {name: cell for name, cell in zip(header, cells, strict=True) if cell}
        for declared in properties_of(principal_type):
            if declared.name in given:
                given[declared.name] = from_text(declared, given[declared.name])
        row: Values = self.load(given)
        return row


def row_schema(principal_type: str) -> RowSchema:
    """Return the schema of a row with a user of a model, with its read-only properties, too."""
    properties = properties_of(principal_type)
    own = {declared.name: declared.field(dump_only=False) for declared in properties}
    return RowSchema.from_dict(own)() if own else RowSchema()  # type: ignore[return-value]


def _lines(file: TextIO) -> Iterator[str]:
    while line := file.readline(MAX_LINE):
        if len(line) == MAX_LINE:
            raise csv.Error(f"has {MAX_LINE} characters or more")
        yield line


def protect(cell: str) -> str:
    """Return the text of a cell, with an apostrophe in front if spreadsheets would calculate it."""
    return f"'{cell}" if FORMULA.match(cell) else cell


def _unprotect(cell: str) -> str:
    return cell[1:] if cell.startswith("'") and FORMULA.match(cell) else cell
