"""The recorded data as the import reads it: a file, a database, or dumps of MongoDB."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import bson
from bson import ObjectId
from sqlalchemy import create_engine

from app.testing.databases import create_postgres_database
from tests.support.mariadb import mariadb_server

from .client import TIME
from .sources import Source

TIME_IN_SQL = re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d")
OBJECT_ID = re.compile(r"[0-9a-f]{24}")


def fresh_dump(source: Source, tokens: Sequence[str]) -> str:
    """Return the dump of a source, in which these tokens were created now: they have a ttl."""
    now = datetime.now(UTC)

    def renew(line: str) -> str:
        if not any(token in line for token in tokens):
            return line
        return TIME_IN_SQL.sub(lambda old: now.strftime(f"%Y-%m-%d{old[0][10]}%H:%M:%S"), line)

    return "".join(map(renew, source.dump.read_text().splitlines(keepends=True)))


@contextmanager
def restore(source: Source, dump: str, folder: Path, postgres_url: str) -> Iterator[str]:
    """Put a dump where the application would have its data; yields the SOURCE of the import."""
    if source.name == "memory":
        (folder / "data.json").write_text(dump)
        yield str(folder / "data.json")
    elif source.name == "mongodb":
        write_bson(json.loads(dump), folder / "dump")
        yield str(folder / "dump")
    elif source.name == "mariadb":
        with mariadb_server() as server:
            server.run("CREATE DATABASE library CHARACTER SET utf8mb4")
            server.run(dump, "library")
            yield server.url("library")
    else:
        url = create_postgres_database(postgres_url, "ostiary_test_loopback_source")
        engine = create_engine(url, isolation_level="AUTOCOMMIT")
        with engine.connect() as connection:
            connection.exec_driver_sql(dump)
        engine.dispose()
        yield url


def write_bson(data: Mapping[str, Any], folder: Path) -> None:
    """Write the rows of a memory connector as `mongodump` writes those that MongoDB has."""
    folder.mkdir()
    for model, rows in data["models"].items():
        documents = (_document(json.loads(row)) for row in rows.values())
        (folder / f"{model}.bson").write_bytes(b"".join(map(bson.encode, documents)))


def _document(row: Mapping[str, Any]) -> dict[str, Any]:
    names = {"id": "_id", "code": "_id"}
    return {names.get(name, name): _stored(name, value) for name, value in row.items()}


def _stored(name: str, value: Any) -> Any:
    """Return a value as loopback-connector-mongodb stores it: ids of principals stay text."""
    if not isinstance(value, str):
        return value
    if OBJECT_ID.fullmatch(value) and name != "principalId":
        return ObjectId(value)
    return datetime.fromisoformat(value) if TIME.fullmatch(value) else value
