"""The service for authenticator apps: enrol, confirm, verify and remove."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING

from sqlalchemy import ColumnElement, delete, or_, select, update

from app.audit.entries import Action
from app.database.session import affected_rows, db, transaction
from app.errors import ValidationError
from app.factors import steps
from app.factors.held import HeldFactors
from app.factors.models import Factor
from app.ids import Id
from app.state import AppState
from app.times import now
from app.users.accounts.address_proofs import admit_credential
from app.users.accounts.credentials import record_credential_change
from app.users.models import User
from app.users.sessions.tokens import lock

if TYPE_CHECKING:
    from .codes import Codes

codes: "AppState[Codes]" = AppState("codes of authenticator apps")

#: Maximum number of a user's authenticator apps.
MAX_FACTORS = 5
#: Seconds within which an enrolment must be confirmed.
ENROLMENT_LIFETIME = 900
# Ignored in an entered code: apps show codes with spaces.
CODE = re.compile(r"[0-9]{6}", re.ASCII)
#: Maximum characters of an entered code, with spaces.
MAX_CODE = 16
# The methods (RFC 8176) of a login with a code.
METHODS = ("otp",)

held = HeldFactors(Factor, "factor", MAX_FACTORS, Factor.confirmed_at.is_not(None))
is_had = held.is_had
suffices = True


@dataclass(frozen=True)
class NewFactor:
    """A new factor; the only object with its secret."""

    id: int
    name: str | None
    secret: str = field(repr=False)
    uri: str = field(repr=False)
    svg: str = field(repr=False)
    kind: str = "totp"


def begin(user_id: Id, name: str | None = None) -> NewFactor:
    """Create a factor that must be confirmed; an earlier unconfirmed one is deleted.

    Raises ModelNotFound if the user was deleted, EmailProofRequired, and ValidationError for a user
    with MAX_FACTORS.
    """
    secret = codes.current.new_secret()
    with transaction():
        user, _ = held.admit(user_id)
        unconfirmed = Factor.user_id == user_id, Factor.confirmed_at.is_(None)
        affected_rows(delete(Factor).where(*unconfirmed))
        row = Factor(user_id=user_id, name=name, secret=codes.current.encrypt(secret))
        db.session.add(row)
        db.session.flush()
        uri = codes.current.address(secret, user.email)
        return NewFactor(row.id, name, secret, uri, codes.current.picture(uri))


def confirm(user_id: Id, proof: Mapping[str, object]) -> tuple[str, ...] | None:
    """Confirm the factor created last; return the methods, None for a wrong code.

    Call it in a transaction. Raises EmailProofRequired.
    """
    lock(User.id == user_id)
    admit_credential(user_id)
    begun = now() - timedelta(seconds=ENROLMENT_LIFETIME)
    is_new = Factor.confirmed_at.is_(None), Factor.created > begun
    confirmed = _use(user_id, proof, *is_new, confirmed_at=now())
    if confirmed is None:
        return None
    record_credential_change(Action.FACTOR_ADDED, user_id, user_id, factor=confirmed, kind="totp")
    return METHODS


def verify(user_id: Id, proof: Mapping[str, object]) -> tuple[str, ...] | None:
    """Return the methods that a code shows, None for a wrong or used one.

    Call it in a transaction.
    """
    used = _use(user_id, proof, Factor.confirmed_at.is_not(None))
    return None if used is None else METHODS


def remove(row: Factor, proof: Mapping[str, object]) -> None:
    """Delete a factor, with a code of any factor of the user; recovery codes go with the last one.

    Raises the errors of `steps.prove`.
    """
    steps.prove(row.user_id, proof)
    with transaction():
        lock(User.id == row.user_id)
        held.remove(row, Action.FACTOR_REMOVED, factor=row.id, kind="totp")


def rotate_keys() -> int:
    """Encrypt all secrets with the first key, in one transaction; return their number.

    Raises ValidationError, and changes nothing, if one cannot be decrypted.
    """
    with transaction():
        rows = db.session.execute(select(Factor.id, Factor.secret).with_for_update()).all()
        try:
            new = [{"id": row.id, "secret": codes.current.rotate(row.secret)} for row in rows]
        except ValueError as error:
            raise ValidationError({"FACTOR_KEYS": [str(error)]}) from None
        if new:
            db.session.execute(update(Factor), new)
    return len(rows)


def logs_in(_user_id: Id, _without: str) -> bool:
    """Return False: nobody can log in with an authenticator app alone."""
    return False


def _use(
    user_id: Id, proof: Mapping[str, object], *conditions: ColumnElement[bool], **new: object
) -> int | None:
    """Use a code with a factor that meets the conditions; return the factor's id, or None.

    A single statement stores the period, so that only one of concurrent uses of a code succeeds.
    """
    code = str(proof.get("code", ""))[:MAX_CODE].replace(" ", "")
    if not CODE.fullmatch(code):
        return None
    own = select(Factor).where(Factor.user_id == user_id, *conditions).limit(MAX_FACTORS)
    for row in db.session.scalars(own).all():
        step = codes.current.matching_step(row.secret, code, row.last_step)
        if step is None:
            continue
        unused = or_(Factor.last_step.is_(None), Factor.last_step < step)
        used = update(Factor).where(Factor.id == row.id, unused, *conditions)
        if affected_rows(used.values(last_step=step, last_used=now(), **new)):
            return row.id
    return None
