"""Every statement that a PostgreSQL server was sent: its own record, which costs tests no time."""

from dataclasses import dataclass

from sqlalchemy import Connection, create_engine, text

from tools.distributed import form, unlisted

RECORDER = "pg_stat_statements"
#: Settings of a server that records. Cursors have a name of their own each, and are many.
RECORDING = {"shared_preload_libraries": RECORDER, f"{RECORDER}.max": "50000"}
LOADED = text("SHOW shared_preload_libraries")
SENT = text(f"SELECT query FROM {RECORDER}")
FORGOTTEN = text(f"SELECT dealloc FROM {RECORDER}_info")
RESERVED = text("SELECT word FROM pg_get_keywords() WHERE catcode IN ('R', 'T')")
KEYWORDS = text("SELECT word FROM pg_get_keywords() WHERE catcode IN ('R', 'T', 'U')")


@dataclass
class Sent:
    """What a server was sent: the forms of its statements, and the server's words of SQL."""

    forms: set[str]
    reserved: set[str]
    keywords: set[str]

    def unlisted(self) -> str:
        """Return the words of which `tools/distributed.py` does not tell, each with a statement."""
        found: dict[str, str] = {}
        for statement in sorted(self.forms, key=len):
            for word in unlisted(statement, self.reserved, self.keywords):
                found.setdefault(word, statement)
        return "\n".join(f"{word}: {statement}" for word, statement in sorted(found.items()))


def read_sent(url: str) -> Sent | None:
    """Read what the server of a database was sent in all of them; None if it does not record."""
    engine = create_engine(url)
    # Its transaction is rolled back: the extension is there only meanwhile.
    with engine.connect() as connection:
        sent = _read(connection) if RECORDER in connection.scalars(LOADED).one() else None
    engine.dispose()
    return sent


def _read(connection: Connection) -> Sent:
    connection.execute(text(f"CREATE EXTENSION {RECORDER}"))
    assert connection.scalar(FORGOTTEN) == 0
    return Sent(
        {form(statement) for statement in connection.scalars(SENT)},
        set(connection.scalars(RESERVED)),
        set(connection.scalars(KEYWORDS)),
    )
