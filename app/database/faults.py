"""Classification of database errors by code: PostgreSQL's SQLSTATEs, SQLite's error names.

The functions take an error of SQLAlchemy, or of the driver.
"""

import re
from typing import NamedTuple

from sqlalchemy.exc import TimeoutError

# PostgreSQL's query_canceled and lock_not_available, and SQLite's equivalents.
TIMEOUTS = {"57014", "55P03", "SQLITE_INTERRUPT", "SQLITE_BUSY"}
# PostgreSQL's serialization_failure and deadlock_detected.
CONFLICTS = {"40001", "40P01"}
# PostgreSQL's undefined_table and undefined_column, and SQLite's messages, as it has no codes for
# them.
MISSING = {"42P01", "42703"}
MISSING_IN_SQLITE = ("no such table", "no such column", "has no column named")
# PostgreSQL's read_only_sql_transaction: the server has become a standby, or is about to.
READ_ONLY = "25006"
READ_ONLY_IN_SQLITE = "SQLITE_READONLY"
UNIQUE = {"23505", "SQLITE_CONSTRAINT_UNIQUE", "SQLITE_CONSTRAINT_PRIMARYKEY"}
FOREIGN_KEY = {"23503", "SQLITE_CONSTRAINT_FOREIGNKEY"}
# PostgreSQL's numeric_value_out_of_range.
OUT_OF_RANGE = "22003"
# The columns in PostgreSQL's `Key (sku)=(LAMP-1) already exists.`, in any language.
POSTGRES_COLUMNS = re.compile(r"\((.*?)\)=\(")
# The table and columns in SQLite's `UNIQUE constraint failed: products.sku, products.name`.
SQLITE_COLUMNS = re.compile(r"(\w+)\.(\w+)(?:, |$)")
# PostgreSQL's not_null_violation, SQLite's, and SQLite's message about an added column.
MISSING_VALUE = {"23502", "SQLITE_CONSTRAINT_NOTNULL"}
MISSING_VALUE_IN_SQLITE = "Cannot add a NOT NULL column"
# SQLite's message about a file in a folder that is missing or not writable, without its name.
UNOPENED_FILE = "unable to open database file"
# PgBouncer's message about the `options` of a connection.
REFUSED_OPTIONS = "unsupported startup parameter"


class Violated(NamedTuple):
    """The columns of a unique constraint."""

    table: str
    columns: set[str]


def error_code(error: BaseException | None) -> str | None:
    """Return PostgreSQL's SQLSTATE or the name of SQLite's error; None without either."""
    cause = _cause(error)
    code: str | None = getattr(cause, "sqlstate", None) or getattr(cause, "sqlite_errorname", None)
    return code


def error_reason(error: BaseException) -> str:
    """Return the first line of the driver's message, which may quote values; empty without one."""
    return str(_cause(error)).strip().partition("\n")[0]


def is_timeout(error: BaseException) -> bool:
    """Return True if a statement, or waiting for a lock or a connection, timed out."""
    return isinstance(error, TimeoutError) or error_code(error) in TIMEOUTS


def is_conflict(error: BaseException) -> bool:
    """Return True if a concurrent transaction ended this one, which may succeed if repeated."""
    return error_code(error) in CONFLICTS


def is_missing_table(error: BaseException) -> bool:
    """Return True if a table or column does not exist."""
    reason = error_reason(error)
    return error_code(error) in MISSING or any(words in reason for words in MISSING_IN_SQLITE)


def is_missing_value(error: BaseException) -> bool:
    """Return True if a NOT NULL constraint was violated."""
    return error_code(error) in MISSING_VALUE or MISSING_VALUE_IN_SQLITE in error_reason(error)


def is_read_only(error: BaseException | None) -> bool:
    """Return True if a statement was refused because the connection is read-only."""
    code = error_code(error) or ""
    return code == READ_ONLY or code.startswith(READ_ONLY_IN_SQLITE)


def is_refused_options(error: BaseException) -> bool:
    """Return True if PgBouncer refused a connection because of its `options`."""
    return REFUSED_OPTIONS in error_reason(error)


def is_out_of_range(error: BaseException) -> bool:
    """Return True if the result of a calculation is larger than its type allows."""
    return error_code(error) == OUT_OF_RANGE


def is_foreign_key_violation(error: BaseException) -> bool:
    """Return True if a foreign key was violated: rows refer to the row, or it to a missing one."""
    return error_code(error) in FOREIGN_KEY


def violated_columns(error: BaseException) -> Violated | None:
    """Return the unique constraint that was violated; None for any other error."""
    if error_code(error) not in UNIQUE:
        return None
    cause = _cause(error)
    if hasattr(cause, "diag"):
        found = POSTGRES_COLUMNS.search(cause.diag.message_detail or "")
        columns = found[1].split(", ") if found else []
        return Violated(cause.diag.table_name or "", {name.strip('"') for name in columns})
    places = SQLITE_COLUMNS.findall(str(cause))
    return Violated(places[0][0] if places else "", {column for _, column in places})


def _cause(error: BaseException | None) -> object:
    """Return the driver's error."""
    return getattr(error, "orig", None) or error
