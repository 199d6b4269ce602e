"""Transactions that keep others out: of migrations and of fixtures."""

from typing import Any

from sqlalchemy import Connection

from .dialects import begin

# Seconds to wait for another process that runs migrations.
MIGRATION_WAIT = 600
# The key of PostgreSQL's lock for migrations, which one process holds at a time; any number will
# do.
MIGRATION_LOCK = 6513249171
# The key of the lock for loading fixtures.
FIXTURES_LOCK = 6513249172


def begin_migration(connection: Connection) -> None:
    """Begin a transaction after that of any other process that runs migrations has ended.

    Changes settings of the connection, which must not be reused.
    """
    if connection.dialect.name == "sqlite":
        _begin_sqlite_migration(connection)
    else:
        _begin_postgresql_migration(connection)


def _begin_sqlite_migration(connection: Connection) -> None:
    """Begin with foreign keys off: SQLite changes a table by copying and dropping it.

    Dropping it would delete the rows of other tables that refer to it.
    """
    connection.exec_driver_sql("PRAGMA foreign_keys=OFF")
    connection.exec_driver_sql(f"PRAGMA busy_timeout={MIGRATION_WAIT * 1000}")
    begin(connection)


def _begin_postgresql_migration(connection: Connection) -> None:
    """Begin without the time-outs for requests' statements and transactions.

    The lock time-out stays: requests would queue behind a migration that waits for a lock. The
    settings are local to this transaction, because PgBouncer passes the connection on.
    """
    begin(connection)
    _lift_time_out(connection)
    connection.exec_driver_sql("SET LOCAL idle_in_transaction_session_timeout = 0")
    connection.exec_driver_sql(f"SET LOCAL lock_timeout = '{MIGRATION_WAIT}s'")
    connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({MIGRATION_LOCK})")
    connection.exec_driver_sql("RESET lock_timeout")


def lock_others_out(connection: Connection, lock: int) -> None:
    """Make other transactions with the same lock wait for the end of this one.

    SQLite has one writer at a time anyway.
    """
    if connection.dialect.name != "postgresql":
        return
    _lift_time_out(connection)
    connection.exec_driver_sql(f"SET LOCAL lock_timeout = '{MIGRATION_WAIT}s'")
    connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({lock})")


def _lift_time_out(connection: Connection) -> None:
    """Remove PostgreSQL's time limit of statements until the transaction ends."""
    connection.exec_driver_sql("SET LOCAL statement_timeout = 0")
    driver: Any = connection.connection.dbapi_connection
    driver.bound = None
