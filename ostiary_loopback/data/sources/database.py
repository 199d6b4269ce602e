"""Databases of LoopBack's SQL connectors: PostgreSQL, MySQL or MariaDB, and SQLite."""

import hashlib
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any
from urllib.parse import quote

import sqlalchemy as sa
from sqlalchemy.engine import URL
from sqlalchemy.exc import ArgumentError, DBAPIError, SQLAlchemyError

from ostiary_loopback.data.source_models import SourceModel

from .base import Placed, Position, SourceError

# The driver of each database, and the keys by which definitions name its tables and columns.
DRIVERS = {
    "postgres": "postgresql+psycopg",
    "postgresql": "postgresql+psycopg",
    "mysql": "mysql+pymysql",
    "mariadb": "mysql+pymysql",
    "sqlite": "sqlite",
}
CONNECTORS = {"postgresql": "postgresql", "mysql": "mysql", "sqlite": "sqlite3"}
# The number of rows in a query.
PAGE = 1000


@dataclass(frozen=True)
class SourceTable:
    """A table: its columns, with the names of properties, and its key if that is one column."""

    table: sa.TableClause
    columns: Mapping[str, str]
    key: str | None


class SourceDatabase:
    """Reads tables in pages; values are those of the driver, as columns have no types."""

    def __init__(self, url: str) -> None:
        address = _address(url)
        shown = address.set(password=None).render_as_string()
        self.fingerprint = hashlib.sha256(shown.encode()).hexdigest()
        try:
            self._engine = sa.create_engine(address, hide_parameters=True)
            self._connection = self._engine.connect()
        except ModuleNotFoundError as error:
            extra = "postgres" if error.name == "psycopg" else "import"
            raise SourceError(f"{error.name} is missing: pip install 'ostiary[{extra}]'") from None
        except SQLAlchemyError as error:
            reason = type(getattr(error, "orig", None) or error).__name__
            raise SourceError(f"the database of --data cannot be reached ({reason})") from None
        self._dialect = self._engine.dialect.name
        _read_all_values(self._connection)
        self._connector = CONNECTORS[self._dialect]
        self._inspector = sa.inspect(self._connection)
        self._names: dict[str | None, list[str]] = {}

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()
        self._engine.dispose()

    def _tables(self, schema: str | None) -> list[str]:
        if schema not in self._names:
            self._names[schema] = self._inspector.get_table_names(schema)
        return self._names[schema]

    def holder(self, model: SourceModel) -> str | None:
        """Return the name of the table of a model."""
        settings = model.connector(self._connector)
        given = settings.get("table") or settings.get("tableName")
        name = given if isinstance(given, str) else model.name
        tables = self._tables(self._schema(model))
        # MySQL's names may be in lower case, too.
        candidates = [name, name.lower()]
        return next((candidate for candidate in candidates if candidate in tables), None)

    def _schema(self, model: SourceModel) -> str | None:
        if self._dialect != "postgresql":
            return None
        schema = model.connector(self._connector).get("schema")
        return schema if isinstance(schema, str) else None

    def count(self, model: SourceModel) -> int:
        """Return the number of rows of a model."""
        if (found := self._find(model)) is None:
            return 0
        query = sa.select(sa.func.count()).select_from(found.table)
        with _readable():
            return int(self._connection.scalar(query) or 0)

    def rows(self, model: SourceModel, after: Position | None = None) -> Iterator[Placed]:
        """Yield the rows of a model in the order of its key."""
        if (found := self._find(model)) is None:
            return
        read = self._by_key if found.key else self._all
        yield from read(found, after)

    def _by_key(self, found: SourceTable, after: Position | None) -> Iterator[Placed]:
        key = found.table.c[str(found.key)]
        query = sa.select(*found.table.c).order_by(key).limit(PAGE)
        while True:
            page = self._page(query if after is None else query.where(key > after))
            for row in page:
                after = row[found.table.c[str(found.key)]]
                position = after if isinstance(after, int | str) else str(after)
                yield position, {found.columns[name]: value for name, value in row.items()}
            if len(page) < PAGE:
                return

    def _page(self, query: sa.Select[tuple[object, ...]]) -> Sequence[sa.RowMapping]:
        with _readable():
            return self._connection.execute(query).mappings().all()

    def _all(self, found: SourceTable, after: Position | None) -> Iterator[Placed]:
        options = {"stream_results": True, "yield_per": PAGE}
        query = sa.select(*found.table.c)
        with _readable():
            result = self._connection.execute(query, execution_options=options).mappings()
        number = 0
        while True:
            with _readable():
                row = result.fetchone()
            if row is None:
                return
            number += 1
            if after is None or number > int(after):
                yield number, {found.columns[name]: value for name, value in row.items()}

    def _find(self, model: SourceModel) -> SourceTable | None:
        name, schema = self.holder(model), self._schema(model)
        if name is None:
            return None
        with warnings.catch_warnings():
            # The warnings are about types that SQLAlchemy does not know, such as points.
            warnings.simplefilter("ignore", sa.exc.SAWarning)
            columns = [column["name"] for column in self._inspector.get_columns(name, schema)]
        keys = self._inspector.get_pk_constraint(name, schema)["constrained_columns"]
        table = sa.table(name, *map(sa.column, columns), schema=schema)
        key = keys[0] if len(keys) == 1 else None
        return SourceTable(table, self._properties(model, columns), key)

    def _properties(self, model: SourceModel, columns: Sequence[str]) -> dict[str, str]:
        """Return the names of the properties of columns; others keep their own."""
        names: dict[str, str] = {}
        for name in [*(model.properties or {}), model.id_name]:
            given = model.column(name, self._connector)
            names |= {given: name} if given else {name.lower(): name, name: name}
        return {column: names.get(column, column) for column in columns}


def _read_all_values(connection: sa.Connection) -> None:
    """Read values that Python cannot represent as texts, so that only their rows are refused."""
    driver: Any = connection.connection.driver_connection
    if connection.dialect.name == "sqlite":
        driver.text_factory = partial(str, encoding="utf-8", errors="surrogateescape")
    if connection.dialect.name == "postgresql":
        import_module("ostiary_loopback.data.sources.postgresql_times").read_all_times(driver)


@contextmanager
def _readable() -> Iterator[None]:
    """Raise SourceError for a table that cannot be read, without values and SQL."""
    try:
        yield
    except (DBAPIError, ValueError, OverflowError) as error:
        kind = type(getattr(error, "orig", None) or error).__name__
        raise SourceError(f"a table of --data cannot be read ({kind})") from None


def _address(text: str) -> URL:
    """Return the URL with the supported driver; a SQLite file is opened read-only."""
    try:
        url = sa.make_url(text)
    except (ArgumentError, ValueError):
        raise SourceError("--data is no URL of a database that can be read") from None
    driver = DRIVERS.get(url.drivername.partition("+")[0])
    if driver is None:
        known = ", ".join(DRIVERS)
        raise SourceError(f"--data is a URL of {url.drivername}: {known} are known")
    if driver != "sqlite":
        return url.set(drivername=driver)
    if not url.database or not Path(url.database).is_file():
        raise SourceError(f"there is no SQLite file {url.database}")
    path = Path(url.database).resolve().as_posix()
    return URL.create("sqlite", database=f"file:{quote(path)}", query={"mode": "ro", "uri": "true"})
