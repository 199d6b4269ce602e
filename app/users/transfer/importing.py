"""Import of users from a CSV file: all of them, or none if the file has a problem."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from operator import itemgetter
from time import sleep
from typing import TYPE_CHECKING, Any, TextIO

import marshmallow
from sqlalchemy import false, insert, or_, select

from app.access.roles import assign
from app.audit.entries import Action, record_all
from app.database.dialects import count_on_after
from app.database.ids import app_id_form, new_id
from app.database.session import connection, db, transaction
from app.error_responses import to_validation_error
from app.errors import TAKEN, ValidationError, quote
from app.users.accounts.registration import identifying_columns
from app.users.models import User, user_model
from app.users.passwords.hashing import hash_password
from app.users.passwords.policy import validate_password
from app.users.user_models import FIRST, properties_of

from .csv_files import InvalidFileError, read_rows, row_schema

if TYPE_CHECKING:
    from app.properties.properties import Property

# Imported columns, besides ids and roles.
INSERTED = (
    "email",
    "username",
    "username_key",
    "realm",
    "principal_type",
    "password_hash",
    "email_verified",
    "created",
    "disabled_at",
)
#: Maximum users of a CSV file, which are in memory while it is checked: about 1 kB each.
MAX_ROWS = 100_000
#: Maximum listed problems of a CSV file; the others are counted.
MAX_PROBLEMS = 100
# Rows per statement, and per transaction of an import.
BATCH = 500
# Seconds between two transactions of an import, for others to write: on SQLite, waiting connections
# retry after at most a tenth of a second.
PAUSE = 0.1

# A user to import: the columns of its row, its roles, and the password unless there is a hash.
NewUser = dict[str, Any]


# A value that must be unique: its column, the realm if unique within one, and the value.
Name = tuple[str, str, Any]
# A problem: the number of its line, and a description.
LineProblem = tuple[int, str]


@dataclass
class Checked:
    """The users in a file, and its problems."""

    users: list[NewUser] = field(default_factory=list)
    # Users who were skipped, because their email already exists.
    skipped: int = 0
    problem_count: int = 0
    # The first MAX_PROBLEMS.
    problems: list[LineProblem] = field(default_factory=list)


def check_file(file: TextIO, skip_existing: bool = False, principal_type: str = FIRST) -> Checked:
    """Return the users of a model in a file, and all its problems.

    `skip_existing` skips users whose email already exists, to continue an interrupted import.
    Raises InvalidFileError for a file that is not CSV, or has other columns or too many rows.
    """
    rows = read_rows(file)
    _, header = next(rows, (1, []))
    _check_header(header, principal_type)
    checked, lines = Checked(), dict[Name, int]()
    while batch := list(islice(rows, BATCH)):
        problems: list[LineProblem] = []
        loaded = list(_load(header, batch, problems, principal_type))
        stored = _stored_names([user for _, user in loaded], principal_type)
        users = [row for row in loaded if not (skip_existing and _email(row[1]) in stored)]
        problems += _find_taken(users, stored, lines)
        checked.users += [user for _, user in users]
        checked.skipped += len(loaded) - len(users)
        checked.problem_count += len(problems)
        checked.problems = [*checked.problems, *sorted(problems)][:MAX_PROBLEMS]
        if len(checked.users) > MAX_ROWS:
            raise InvalidFileError(f"it has more than {MAX_ROWS} users")
    return checked


def import_users(users: Sequence[NewUser]) -> Iterator[int]:
    """Create users with hashed passwords and roles; yield the number stored by each transaction.

    Other writers can work in between, when the slow hashes are computed.
    """
    for number, batch in enumerate(_batches(users)):
        hashed = [_hash(user) for user in batch]
        if number:
            sleep(PAUSE)
        with transaction():
            _insert(hashed)
        yield len(hashed)


def _check_header(header: Sequence[str], principal_type: str) -> None:
    fields = row_schema(principal_type).fields
    known = [field.data_key or name for name, field in fields.items()]
    if unknown := [name for name in header if name not in known]:
        raise InvalidFileError(
            f"line 1: {quote(unknown[0])} is not a column; {', '.join(known)} are"
        )
    if "email" not in header or len(set(header)) < len(header):
        raise InvalidFileError("line 1 must name the columns, email among them, each once")


def _load(
    header: Sequence[str],
    rows: Iterable[tuple[int, list[str]]],
    problems: list[LineProblem],
    principal_type: str,
) -> Iterator[tuple[int, NewUser]]:
    """Yield the valid rows with their line numbers; append the problems of the others."""
    schema = row_schema(principal_type)
    for line, cells in rows:
        try:
            user = schema.load_cells(header, cells, principal_type)
            names = user["email"], user["username"], user["realm"]
            user |= identifying_columns(*names, principal_type)
            if "password" in user:
                validate_password(user["password"], user["email"], user["username"])
            yield line, user
        except marshmallow.ValidationError as error:
            problems.append((line, to_validation_error(error).sentences))
        except ValidationError as error:
            problems.append((line, error.sentences))


def _find_taken(
    users: Iterable[tuple[int, NewUser]], stored: set[Name], lines: dict[Name, int]
) -> Iterator[LineProblem]:
    """Yield the names that are taken: in the database, or by an earlier line, as `lines` says."""
    for line, user in users:
        for name in _names(user):
            if name in stored:
                yield line, f"`{name[0]}` {TAKEN}"
            elif name in lines:
                yield line, f"`{name[0]}` is that of line {lines[name]} too"
            lines.setdefault(name, line)


def _email(user: NewUser) -> Name:
    return "email", user["realm"], user["email"]


def _names(user: NewUser) -> list[Name]:
    """Return the names of a user, given its columns."""
    names: list[Name] = [
        ("id", "", user.get("id")),
        _email(user),
        ("username", user["realm"], user["username_key"]),
        *(
            (unique.name, "", user[unique.column_name])
            for unique in _unique_properties(user["principal_type"])
        ),
    ]
    return [name for name in names if name[2] is not None]


def _unique_properties(principal_type: str) -> "list[Property]":
    return [declared for declared in properties_of(principal_type) if declared.unique]


def _stored_names(users: Iterable[NewUser], principal_type: str) -> set[Name]:
    """Return those of these names that stored users have: ids of any model, others of this one."""
    model, values = user_model(), defaultdict[str, list[object]](list)
    for user in users:
        for kind, _, value in _names(user):
            values[kind].append(value)
    columns = {"id": model.id, "email": model.email, "username": model.username_key} | {
        unique.name: getattr(model, unique.column_name)
        for unique in _unique_properties(principal_type)
    }
    chosen = or_(false(), *(columns[kind].in_(given) for kind, given in values.items()))
    selected = select(model.realm, model.principal_type, *columns.values())
    found = [row._asdict() for row in db.session.execute(selected.where(chosen))]
    own = {name for row in found if row["principal_type"] == principal_type for name in _names(row)}
    return own | {("id", "", row["id"]) for row in found}


def _hash(user: NewUser) -> NewUser:
    if "password" not in user:
        return user
    return {**user, "password_hash": hash_password(user["password"])}


def _batches(users: Sequence[NewUser]) -> Iterator[Sequence[NewUser]]:
    """Yield the users with ids, and then those without.

    The highest id comes first, so that no other user gets one of them.
    """
    with_ids = sorted((user for user in users if "id" in user), key=itemgetter("id"), reverse=True)
    if with_ids:
        _count_on_after(with_ids[0]["id"])
    for group in (with_ids, [user for user in users if "id" not in user]):
        for start in range(0, len(group), BATCH):
            yield group[start : start + BATCH]


def _count_on_after(highest: int) -> None:
    """Make the database continue after this id, if it generates ids."""
    if app_id_form().generate is None:
        with transaction(), connection() as database:
            count_on_after(database, db.metadata.tables["users"], highest)


def _insert(users: Sequence[NewUser]) -> None:
    """Insert users, either all with ids or all without."""
    model, own = user_model(), properties_of(users[0]["principal_type"])
    names = [*INSERTED, *(declared.column_name for declared in own)]
    rows = [_id_of(user) | {name: user[name] for name in names} for user in users]
    # With NULLs rendered, all rows have the same columns, and one statement inserts them.
    statement = insert(model).returning(model.id, model.realm, model.email)
    stored = db.session.execute(statement, rows, execution_options={"render_nulls": True}).all()
    record_all(Action.REGISTERED, ((row.id, {}) for row in stored))
    roles = {(user["realm"], user["email"]): user["roles"] for user in users}
    assign([(row.id, role) for row in stored for role in roles[row.realm, row.email]])


def _id_of(user: NewUser) -> NewUser:
    """Return a given id; empty if the database generates it."""
    user_id = user.get("id") or new_id(User.id.type)
    return {} if user_id is None else {"id": user_id}
