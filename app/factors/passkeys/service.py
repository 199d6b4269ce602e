"""The service for passkeys: register, log in, list and remove."""

import secrets
from collections.abc import Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from flask import current_app
from sqlalchemy import ColumnElement, delete, exists, insert, select, update
from sqlalchemy.exc import IntegrityError

from app import throttles
from app.access.identity import MULTI_FACTOR, LiveToken
from app.audit.entries import Action, record_attempt
from app.database.purging import delete_batch
from app.database.session import affected_rows, db, transaction
from app.errors import LastCredential, LoginFailed, ModelNotFound, ValidationError
from app.factors import steps
from app.factors.held import HeldFactors
from app.ids import Id
from app.observability.origin import current_network
from app.state import AppState
from app.times import now
from app.users.accounts.address_proofs import admit_credential
from app.users.accounts.credentials import record_credential_change
from app.users.accounts.lookup import get_user
from app.users.models import User, token_digest
from app.users.sessions import login_methods
from app.users.sessions.assurance import note_authentication
from app.users.sessions.login import login_identified
from app.users.sessions.tokens import IssuedToken, lock

from .models import Passkey, PasskeyChallenge

if TYPE_CHECKING:
    from .ceremonies import Ceremonies

ceremonies: "AppState[Ceremonies]" = AppState("ceremonies of passkeys")

#: Maximum number of a user's passkeys.
MAX_PASSKEYS = 10
#: Seconds for which a challenge is valid, the maximum that WebAuthn recommends (15.1).
CHALLENGE_LIFETIME = 300
#: Random bytes of a challenge; WebAuthn requires at least 16 (13.4.3).
CHALLENGE_BYTES = 32
# The message for a response to a challenge that is unknown, has expired, or was used.
UNKNOWN_CHALLENGE = {"credential": ["has a challenge that is over: ask for new options"]}
# The `reason` of a failed login.
PASSKEY = "passkey"
# The throttle of logins that a client begins.
PASSKEY_LOGIN = "passkey_login"
REGISTERED = {"credential": ["is registered already"]}

held = HeldFactors(Passkey, "passkey", MAX_PASSKEYS)
is_had = held.is_had
suffices = True


def begin(user_id: Id) -> dict[str, Any]:
    """Return the options with which a browser creates a passkey for a user.

    Earlier options of the user become invalid. Raises ModelNotFound if the user was deleted,
    EmailProofRequired, and ValidationError for a user with MAX_PASSKEYS.
    """
    with transaction():
        user, rows = held.admit(user_id)
        affected_rows(delete(PasskeyChallenge).where(PasskeyChallenge.user_id == user_id))
        challenge = _new_challenge(user_id)
    made, milliseconds = ceremonies.current, CHALLENGE_LIFETIME * 1000
    return made.creation_options(user.id, user.email, challenge, milliseconds, rows)


def add(session: LiveToken, answer: Mapping[str, object], name: str | None) -> Passkey:
    """Store a browser's new passkey; the session becomes a strong one.

    Raises TooManyRequests, EmailProofRequired, and ValidationError for a response that cannot be
    verified, a passkey that is already registered, and a user with MAX_PASSKEYS.
    """
    user_id = session.user_id
    throttles.count(throttles.CREDENTIAL, user_id)
    try:
        challenge = _take_challenge(answer, user_id)
        if challenge is None:
            raise ValidationError(UNKNOWN_CHALLENGE)
        shown = ceremonies.current.verify_registration(answer, challenge)
    except ValueError as error:
        raise ValidationError({"credential": [str(error)]}) from None
    try:
        with transaction():
            lock(User.id == user_id)
            admit_credential(user_id)
            held.require_room(user_id)
            row = Passkey(user_id=user_id, name=name, **shown._asdict())
            db.session.add(row)
            db.session.flush()
            record_credential_change(Action.PASSKEY_ADDED, user_id, user_id, passkey=row.id)
            note_authentication(session, [*_methods(row), MULTI_FACTOR])
    except IntegrityError:
        raise ValidationError(REGISTERED) from None
    return row


def begin_login() -> dict[str, Any]:
    """Return the options with which a browser logs in a user; the response identifies the user.

    Raises TooManyRequests for a client with too many requests.
    """
    throttles.count(PASSKEY_LOGIN, current_network())
    with transaction():
        challenge = _new_challenge(None)
    return ceremonies.current.request_options(challenge, CHALLENGE_LIFETIME * 1000)


def log_in(answer: Mapping[str, object], principal_type: str) -> IssuedToken:
    """Exchange an authenticator's signature for a session of a user of this model.

    Raises LoginFailed, TooManyRequests, and the errors of `login_identified`.
    """
    with throttles.count_failure(throttles.LOGIN_ADDRESS, current_network()):
        row = _find(Passkey.credential_id == answer["id"])
        methods = _use(row, answer)
        if row is None or methods is None:
            user_id = row.user_id if row else None
            record_attempt(Action.LOGIN_FAILED, user_id, reason=PASSKEY)
            raise LoginFailed()
    # If the passkey is removed meanwhile, this login fails, too.
    is_there = exists().where(Passkey.id == row.id), User.principal_type == principal_type
    both = (*methods, MULTI_FACTOR)
    return login_identified(row.user_id, *is_there, methods=both, passkey=row.id)


def verify(user_id: Id, proof: Mapping[str, Any]) -> tuple[str, ...] | None:
    """Return the methods that a response of a user's authenticator shows, None if it is invalid.

    The challenge is the same as for a login. Call it in a transaction.
    """
    answer = proof.get("credential")
    if answer is None:
        return None
    return _use(_find(Passkey.credential_id == answer["id"], Passkey.user_id == user_id), answer)


def rename(row: Passkey, name: str) -> Passkey:
    """Rename a passkey; raise ModelNotFound if it was removed meanwhile."""
    with transaction():
        if not affected_rows(update(Passkey).where(Passkey.id == row.id).values(name=name)):
            raise ModelNotFound("passkey", row.id)
    return row


def remove(row: Passkey, proof: Mapping[str, object]) -> None:
    """Delete a passkey; if logins take a second factor, this requires a proof of any of them.

    Raises the errors of `steps.prove`, and LastCredential for the last way to log in.
    """
    if current_app.config["SECOND_FACTOR"]:
        steps.prove(row.user_id, proof)
    with transaction():
        lock(User.id == row.user_id)
        if not login_methods.has_other(get_user(row.user_id), _key(row)):
            raise LastCredential()
        held.remove(row, Action.PASSKEY_REMOVED, passkey=row.id)


def logs_in(user_id: Id, without: str) -> bool:
    """Return True if a user has another passkey than the one with this key."""
    return any(_key(row) != without for row in held.find_all(user_id))


def purge_batch() -> int:
    """Delete expired challenges, at most PURGE_BATCH; return their number."""
    ended = PasskeyChallenge.expires_at <= now()
    return delete_batch(select(PasskeyChallenge.digest).where(ended))


def _find(*conditions: ColumnElement[bool]) -> Passkey | None:
    found = select(Passkey).where(*conditions)
    return db.session.scalar(found, execution_options={"populate_existing": True})


def _new_challenge(user_id: Id | None) -> bytes:
    """Store a new challenge, in the transaction."""
    challenge = secrets.token_bytes(CHALLENGE_BYTES)
    end = now() + timedelta(seconds=CHALLENGE_LIFETIME)
    values = {"digest": token_digest(challenge.hex()), "user_id": user_id, "expires_at": end}
    db.session.execute(insert(PasskeyChallenge).values(values))
    return challenge


def _take_challenge(answer: Mapping[str, object], user_id: Id | None) -> bytes | None:
    """Use up the challenge of a response; None if it had another purpose. Raises ValueError.

    A single statement deletes it, so that only one of concurrent responses succeeds.
    """
    challenge = ceremonies.current.challenge_of(answer)
    given = PasskeyChallenge.digest == token_digest(challenge.hex()), _is_of(user_id)
    live = PasskeyChallenge.expires_at > now()
    return challenge if affected_rows(delete(PasskeyChallenge).where(*given, live)) else None


def _is_of(user_id: Id | None) -> ColumnElement[bool]:
    column = PasskeyChallenge.user_id
    return column.is_(None) if user_id is None else column == user_id


def _use(row: Passkey | None, answer: Mapping[str, Any]) -> tuple[str, ...] | None:
    """Return the methods that a passkey's response shows, None if it is invalid.

    The challenge is used up in any case (WebAuthn, 7.2).
    """
    try:
        challenge = _take_challenge(answer, None)
        if challenge is None or row is None:
            return None
        if answer["response"].get("userHandle") != ceremonies.current.user_handle(row.user_id):
            return None
        shown = ceremonies.current.verify_assertion(answer, challenge, row.public_key)
    except ValueError:
        return None
    if shown.backup_eligible != row.backup_eligible:
        return None
    # Some authenticators do not count at all.
    counts_up = Passkey.sign_count < shown.sign_count
    is_next = counts_up if shown.sign_count else Passkey.sign_count == 0
    new = {"sign_count": shown.sign_count, "backed_up": shown.backed_up, "last_used": now()}
    if not affected_rows(update(Passkey).where(Passkey.id == row.id, is_next).values(new)):
        text = "passkey %s of user %s was refused: its counter went back, it may have been copied"
        current_app.logger.warning(text, row.id, row.user_id)
        return None
    return _methods(row)


def _methods(row: Passkey) -> tuple[str, ...]:
    """Return the methods that a signature shows (RFC 8176): a key, and the user's verification."""
    return "swk" if row.backup_eligible else "hwk", "user"


def _key(row: Passkey) -> str:
    return f"passkey-{row.id}"
