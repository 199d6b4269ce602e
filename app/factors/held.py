"""What authenticator apps and passkeys of users share: they are added, listed and removed alike."""

from collections.abc import Sequence
from typing import Generic, TypeVar

from sqlalchemy import ColumnElement, delete, exists, select

from app.database.session import affected_rows, db
from app.errors import ModelNotFound, ValidationError
from app.ids import Id
from app.users.accounts.address_proofs import require_proved
from app.users.accounts.credentials import record_credential_change
from app.users.accounts.lookup import get_user
from app.users.models import User
from app.users.sessions.tokens import lock

from . import kinds, recovery
from .models import HeldFactor

Held = TypeVar("Held", bound=HeldFactor)


class HeldFactors(Generic[Held]):
    """The factors of one table, of which a user has at most `most`.

    Rows that do not meet the conditions do not count yet.
    """

    def __init__(
        self, model: type[Held], name: str, most: int, *conditions: ColumnElement[bool]
    ) -> None:
        self.too_many = {"name": [f"is one too many: a user has at most {most}"]}
        self._model = model
        self._name = name
        self._most = most
        self._conditions = conditions

    def is_had(self, user_id: object) -> ColumnElement[bool]:
        """Return the condition that a user has a factor."""
        return exists().where(*self._of(user_id))

    def find_all(self, user_id: Id) -> Sequence[Held]:
        """Return a user's factors in the order in which they were added."""
        own = select(self._model).where(*self._of(user_id)).order_by(self._model.id)
        return db.session.scalars(own.limit(self._most)).all()

    def find(self, user_id: Id, factor_id: Id | None, named: object) -> Held:
        """Return one of a user's factors by the requested id; raise ModelNotFound."""
        named_one = select(self._model).where(*self._of(user_id), self._model.id == factor_id)
        row = db.session.scalar(named_one, execution_options={"populate_existing": True})
        if row is None:
            raise ModelNotFound(self._name, named)
        return row

    def admit(self, user_id: Id) -> tuple[User, Sequence[Held]]:
        """Return the user who adds a factor, locked, and the factors that the user has.

        Call it in a transaction. Raises ModelNotFound if the user was deleted, EmailProofRequired,
        and ValidationError for a user with as many as possible.
        """
        lock(User.id == user_id)
        user = get_user(user_id)
        require_proved(user_id)
        return user, self.require_room(user_id)

    def require_room(self, user_id: Id) -> Sequence[Held]:
        """Return a user's factors; raise ValidationError if there are as many as possible."""
        rows = self.find_all(user_id)
        if len(rows) >= self._most:
            raise ValidationError(self.too_many)
        return rows

    def remove(self, row: Held, action: str, **details: int | str) -> None:
        """Delete a factor of a locked user; the recovery codes go with the last one.

        Call it in a transaction. `action` and `details` are for the audit log.
        """
        affected_rows(delete(self._model).where(self._model.id == row.id))
        record_credential_change(action, row.user_id, **details)
        if not kinds.suffice(kinds.look_up(row.user_id)[0]):
            recovery.reset(row.user_id)

    def reset(self, user_id: Id) -> None:
        """Delete all factors of a user. Call it in a transaction."""
        affected_rows(delete(self._model).where(self._model.user_id == user_id))

    def _of(self, user_id: object) -> tuple[ColumnElement[bool], ...]:
        return self._model.user_id == user_id, *self._conditions
