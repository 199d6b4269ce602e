"""Requirements of statements that distributed PostgreSQL databases restrict: docs/distributed.md.

The tests read every statement sent to PostgreSQL (`tests/support/statements.py`): each SQL word in
it belongs to a requirement below, or is supported by every database.
"""

import re
from typing import NamedTuple

COLUMNS = ("Statements", "Where", "Citus 13.0", "CockroachDB 25.4", "YugabyteDB 2025.1")
NOT_STATED = "not stated"
NOT_LOOKED_UP = "not looked up"
SUPPORTED = "supported"
ONE_SHARD = "only in statements for one shard"


class Need(NamedTuple):
    """A kind of statement: its form, where it is used, and the documented restrictions."""

    name: str
    form: str
    where: str
    citus: str
    cockroachdb: str
    yugabytedb: str

    def row(self) -> list[str]:
        """Return the row of the table."""
        return [self.name, self.where, self.citus, self.cockroachdb, self.yugabytedb]


NEEDS = [
    Need(
        "Unique constraints beside the primary key",
        r"\bUNIQUE\b",
        "email and username in a realm, roles, identities, passkeys, `unique` of models",
        "only if the distribution column is one of the columns; otherwise the table must be a"
        " reference table, with a copy on each node",
        "supported, across nodes",
        "supported, across nodes",
    ),
    Need(
        "Foreign keys, with `CASCADE` and `SET NULL`",
        r"\bREFERENCES\b",
        "all that belongs to a user, roles, relations of models",
        "between tables that are distributed by the same column, which is part of the key, or to"
        " reference tables",
        SUPPORTED,
        SUPPORTED,
    ),
    Need(
        "Integers as ids, in the order of their rows",
        r"\b(BIG)?SERIAL\b",
        "`ID_TYPE` `integer`; with every `ID_TYPE` the outbox, the audit log, identities, factors"
        " and passkeys",
        "each node generates its own numbers, which contain that of the node: in no order",
        "numbers of 64 bits in no order, too long for JavaScript, unless `serial_normalization` is"
        " `sql_sequence`",
        "each connection reserves numbers in advance: in no order",
    ),
    Need(
        "Ids that continue after a given one",
        r"\b(setval|nextval|pg_get_serial_sequence)\b",
        "imports, and models whose clients choose the `id`",
        NOT_STATED,
        "`SERIAL` has no sequence by default",
        "a connection may have reserved numbers before",
    ),
    Need(
        "`FOR UPDATE`, `FOR NO KEY UPDATE`",
        r"\bFOR (NO KEY )?UPDATE\b(?! SKIP)",
        "users, deliveries, factors, roles, and rows whose change depends on their state",
        ONE_SHARD,
        "both are `FOR UPDATE`. Not to be relied upon with `SERIALIZABLE`, the default, unless"
        " `enable_durable_locking_for_serializable` is set",
        SUPPORTED,
    ),
    Need(
        "`FOR SHARE`",
        r"\bFOR SHARE\b",
        "logins, so that the user is not disabled meanwhile",
        ONE_SHARD,
        "locks nothing with `SERIALIZABLE`, unless `enable_shared_locking_for_serializable` is set",
        SUPPORTED,
    ),
    Need(
        "`SKIP LOCKED`",
        r"\bFOR UPDATE SKIP LOCKED\b",
        "work that processes share: claims of the outbox, batches of the purge",
        f"{ONE_SHARD}, which these are not",
        SUPPORTED,
        SUPPORTED,
    ),
    Need(
        "`WITH` rows that are then deleted",
        r"^WITH\b",
        "the purge",
        "as `SKIP LOCKED`",
        SUPPORTED,
        SUPPORTED,
    ),
    Need(
        "Advisory locks",
        r"\bpg_advisory_xact_lock\b",
        "`ostiary db upgrade`, `fixtures load`: one process at a time",
        NOT_STATED,
        "the functions exist and lock nothing",
        "supported, with flags of the server",
    ),
    Need(
        "`LOCK TABLE … IN SHARE ROW EXCLUSIVE MODE`",
        r"^LOCK TABLE\b",
        "ids that continue after a given one",
        NOT_STATED,
        NOT_STATED,
        "only `ACCESS SHARE`; other modes are a preview",
    ),
    Need(
        "`ON CONFLICT … DO UPDATE`",
        r"\bON CONFLICT\b.*?\bDO UPDATE\b",
        "throttles, new jobs, events of the outbox with a key",
        "requires a unique index with the distribution column",
        SUPPORTED,
        SUPPORTED,
    ),
    Need(
        "Several rows by one `INSERT`, with `RETURNING` in order",
        r"\bSELECT\b[^()]*\bFROM \(VALUES\b",
        "creation of a list of rows",
        "on the coordinator, because of the order",
        SUPPORTED,
        SUPPORTED,
    ),
    Need(
        "Subqueries that depend on the outer row",
        r"\bEXISTS\b",
        "roles of a caller, rows without references to them",
        "only by the distribution column",
        SUPPORTED,
        SUPPORTED,
    ),
    Need(
        "Window functions",
        r"\brow_number\(\) OVER\b",
        "`include` with a `limit` for each row",
        SUPPORTED,
        SUPPORTED,
        SUPPORTED,
    ),
    Need(
        "Cursors",
        r"^(DECLARE\b.*?\bFOR\b|FETCH\b|CLOSE\b)",
        "lists of [long rows](postgresql.md#long-rows)",
        NOT_STATED,
        "forward only, as here",
        "forward only, as here",
    ),
    Need(
        '`COLLATE "C"`',
        r"\bCOLLATE\b",
        "order and comparison of texts, password hashes",
        SUPPORTED,
        "a text with a collation has another type, which some functions and `||` refuse",
        "supported; it is the default",
    ),
    Need(
        "Functions of JSON",
        r"\bjson_(array_elements_text|extract_path|extract_path_text|typeof)\b",
        "filters by values in a JSON property",
        SUPPORTED,
        NOT_STATED,
        SUPPORTED,
    ),
    Need(
        "`SET LOCAL`",
        r"^SET LOCAL\b",
        "time-outs of migrations and imports",
        "only on the coordinator, unless `citus.propagate_set_commands` is `local`",
        SUPPORTED,
        SUPPORTED,
    ),
    Need(
        "Tables changed in a transaction, and rows with them",
        r"^(ALTER|DROP) (TABLE|INDEX)\b|^CREATE (UNIQUE )?(TABLE|INDEX)\b",
        "all migrations of an upgrade are one transaction",
        "supported, except for the distribution column",
        "each change commits the statements before it (`autocommit_before_ddl`): an upgrade that"
        " fails is applied in part",
        "each change commits by itself, unless `ysql_yb_ddl_transaction_block_enabled` is set",
    ),
    Need(
        "Whether a server is a standby",
        r"\bpg_is_in_recovery\b",
        "each new connection",
        SUPPORTED,
        "the function exists, for tools: always `false`",
        SUPPORTED,
    ),
    Need(
        "Positions in the WAL",
        r"\bpg_(current_wal_\w+_lsn|last_wal_(receive|replay)_lsn|control_checkpoint)\b",
        "only `READ_DATABASE_URL`",
        "each node has its own: do not use the setting",
        "do not use the setting: every node answers reads",
        "do not use the setting: every node answers reads",
    ),
    Need(
        "Triggers for statements, functions in PL/pgSQL, and notifications",
        r"^((CREATE|DROP) (OR REPLACE )?(FUNCTION|TRIGGER)\b|LISTEN ostiary_changes\b).*",
        "only the log of changes",
        NOT_LOOKED_UP,
        NOT_LOOKED_UP,
        NOT_LOOKED_UP,
    ),
    Need(
        "Snapshots, ids of transactions, and the timeline",
        r"\bpg_(current_xact_id|current_snapshot|current_wal_lsn|walfile_name)\b",
        "only the log of changes",
        NOT_LOOKED_UP,
        NOT_LOOKED_UP,
        NOT_LOOKED_UP,
    ),
    Need(
        "Savepoints",
        r"^(SAVEPOINT|RELEASE|ROLLBACK TO)\b",
        "fixtures, imports from LoopBack 3",
        SUPPORTED,
        SUPPORTED,
        "supported, but not in a transaction that changes tables",
    ),
]
FORMS = re.compile("|".join(f"(?:{need.form})" for need in NEEDS), re.IGNORECASE)

# SQL words and functions without further requirements.
PLAIN = """
    all and any array as asc case cast column constraint create default delete desc distinct else
    end false foreign from group in insert into is join left like limit not null offset on only or
    order outer primary references returning select table then to true union unique update using
    values varchar numeric when where with begin commit rollback set show
    coalesce count current_schema current_setting current_timestamp date_trunc extract having lower
    max min nullif round sum
"""
# Statements only of the tests, `pg_dump`, and dumps of other applications that tests load.
OF_TESTS = """
    alter copy current_schemas current_user drop generate_series lock pg_backend_pid pg_sleep
    pg_terminate_backend point repeat reset row_number session_user set_config
"""
KNOWN = {*PLAIN.split(), *OF_TESTS.split()}
# The catalog, which SQLAlchemy and the driver read for tables and types.
CATALOG = re.compile(r"\b(from|join) (pg_|information_schema)|\bto_regtype\b", re.IGNORECASE)
QUOTED = re.compile(r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|--[^\n]*|/\*.*?\*/""", re.DOTALL)
# Names before a parenthesis that are not functions: of a table, an index, an alias.
NAMED = re.compile(
    r"\b(into|table|copy|on(?! conflict)|references|as|using) [\w.]+ ?(?=\()", re.IGNORECASE
)
QUALIFIED = re.compile(r"\.\w+")
CALL = re.compile(r"\b([a-z_]\w*) ?\(")
WORD = re.compile(r"[a-z_]\w*")


def form(statement: str) -> str:
    """Return a statement without its texts and quoted names, on one line."""
    return " ".join(QUOTED.sub("x", statement).replace("pg_catalog.", "").split())


def unlisted(statement: str, reserved: set[str], keywords: set[str]) -> set[str]:
    """Return the words of a statement that are not covered here.

    `reserved` are words that are never names, and `keywords` all words that are not functions.
    Statements that read the catalog are ignored.
    """
    if CATALOG.search(statement):
        return set()
    named = NAMED.sub(r"\1 , ", QUALIFIED.sub("", statement))
    verb = set() if FORMS.match(named) else set(WORD.findall(named.lower())[:1])
    rest = FORMS.sub(",", named).lower()
    words = reserved.intersection(WORD.findall(rest))
    calls = set(CALL.findall(rest)) - keywords
    return (verb | words | calls) - KNOWN
