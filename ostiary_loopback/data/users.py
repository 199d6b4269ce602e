"""Users: their names, hashes of passwords, and own properties."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, tzinfo
from itertools import islice
from typing import Any, Literal, cast

from flask import Flask
from sqlalchemy import Table

from app.database.ids import app_id_form
from app.errors import ValidationError
from app.times import now
from app.users.accounts.registration import identifying_columns
from app.users.models import user_model
from app.users.passwords.hashing import hash_problem
from app.users.user_models import user_models

from .batches import BATCH, Plan, Values
from .fields import NOTE, Fields
from .moved import Moved, Refused
from .source_models import SourceModel
from .sources.base import Row, Source
from .user_ids import Keys, UserIds
from .values import InvalidValue, to_boolean, to_id, to_text, to_time

Keep = Literal["newest", "oldest"]

# The built-in properties of LoopBack's users.
NAMES = {
    *("id", "realm", "username", "password", "email", "emailVerified", "verificationToken"),
    *("created", "credentials", "challenges", "status", "lastUpdated"),
}
CREATED = ("created", "createdAt")
# The users with the same key of whom one is kept, or none.
LOSERS = """
    SELECT id FROM names WHERE key IN (SELECT key FROM names GROUP BY key HAVING count(*) > 1)
"""
CHOICES = {
    "newest": "(SELECT number FROM names AS other WHERE other.key = names.key"
    " ORDER BY created DESC, number DESC LIMIT 1)",
    "oldest": "(SELECT number FROM names AS other WHERE other.key = names.key"
    " ORDER BY created, number LIMIT 1)",
}


class Users:
    """Converts users; of those with the same email or username, at most one is kept."""

    def __init__(
        self,
        app: Flask,
        model: SourceModel,
        principal_type: str,
        ids: UserIds,
        keys: Keys,
        zone: tzinfo,
        keep: Keep | None,
        moved: Moved,
    ) -> None:
        self._model = model
        self._principal_type = principal_type
        self._ids = ids
        self._keys = keys
        self._zone = zone
        self._keep = keep
        self._moved = moved
        properties = user_models.of(app)[principal_type].properties
        self._fields = Fields(model.name, properties, zone, moved)
        self._names = {own.column_name: own.name for own in properties}
        self._duplicates: set[str] = set()

    def plan(self, source: Source) -> Plan:
        """Return the plan; reads all users once to find names that are not unique."""
        self._duplicates = self._find_duplicates(source)
        table = cast("Table", user_model().__table__)
        return Plan(self._model, table, self._convert, properties=self._names)

    def _id(self, row: Row) -> object:
        return row.get(self._model.id_name)

    def _convert(self, row: Row) -> Values:
        given = self._id(row)
        user_id = self._ids.find(self._model.name, given)
        if user_id is None:
            raise Refused("has no id")
        names = _names(row, self._principal_type)
        if str(given) in self._duplicates:
            if self._keep:
                raise Refused("its email or username is that of a user who is kept")
            raise Refused("its email or username is that of another user too: --keep chooses one")
        self._fields.count_unknown(row, NAMES | {self._model.id_name}, given)
        own = self._fields.convert(self._keys.replace(row), given)
        return {
            "id": user_id,
            **names,
            "password_hash": self._hash(row, given),
            "email_verified": to_boolean(row.get("emailVerified") or False),
            "created": _created(row, self._model.id_name, self._zone) or now(),
            "disabled_at": None,
            **own,
        }

    def _hash(self, row: Row, user_id: object) -> str | None:
        stored = row.get("password")
        if stored and not hash_problem(str(stored)):
            return str(stored)
        text = "have no hash of a password that can be kept: they set a new one by a reset"
        self._moved.add(self._model.name, NOTE, text, user_id)
        return None

    def _find_duplicates(self, source: Source) -> set[str]:
        """Return the ids of the users who are not kept, by names in a temporary file."""
        # With an empty name, SQLite keeps the database in a temporary file.
        with closing(sqlite3.connect("")) as names:
            names.execute("CREATE TABLE names (number, key, created, id)")
            entries = self._entries(source)
            while batch := list(islice(entries, BATCH)):
                names.executemany("INSERT INTO names VALUES (?, ?, ?, ?)", batch)
            names.execute("CREATE INDEX by_key ON names (key, created)")
            query = LOSERS
            if self._keep:
                query += f" AND number != {CHOICES[self._keep]}"
            return {user_id for (user_id,) in names.execute(query)}

    def _entries(self, source: Source) -> Iterator[tuple[int, str, float, str]]:
        """Yield the keys of each user: that of the email, and that of the username."""
        for number, (_, row) in enumerate(source.rows(self._model)):
            try:
                to_id(app_id_form(), self._id(row))
                columns = _names(row, self._principal_type)
                created = _created(row, self._model.id_name, self._zone)
            except (Refused, InvalidValue):
                continue
            moment = created.timestamp() if created else 0.0
            for kind in ("email", "username_key"):
                if columns[kind] is not None:
                    key = f"{kind}\n{columns['realm']}\n{columns[kind]}"
                    yield number, key, moment, str(self._id(row))


def _names(row: Row, principal_type: str) -> Values:
    """Return the columns that identify a user; raise Refused."""
    email, username, realm = (row.get(name) for name in ("email", "username", "realm"))
    if not email:
        raise Refused("has no email")
    try:
        return identifying_columns(
            to_text(None, email),
            to_text(None, username) if username else None,
            to_text(None, realm) if realm else None,
            principal_type,
        )
    except ValidationError as error:
        messages: dict[str, Any] = error.details["messages"]
        raise Refused("; ".join(f"{name} {text[0]}" for name, text in messages.items())) from None


def _created(row: Row, id_name: str, zone: tzinfo) -> datetime | None:
    """Return the time at which a user was created, which an ObjectId contains, too."""
    given = next((row[name] for name in CREATED if row.get(name)), None)
    if given is not None:
        try:
            return to_time(zone, given)
        except InvalidValue:
            return None
    moment: object = getattr(row.get(id_name), "generation_time", None)
    return moment.astimezone(UTC) if isinstance(moment, datetime) else None
