"""The service for logins by mail: mail a code, then exchange ticket and code for a session.

A code is derived from its ticket with a key of the settings and is not stored: eight digits can be
found from their digest at once, even if it includes the ticket, which anybody can request for any
address.
"""

import hmac
from datetime import datetime, timedelta
from functools import partial

from flask import current_app
from sqlalchemy import String, delete, insert, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Mapped, mapped_column

from app import outbox, throttles
from app.audit.entries import Action, record_attempt
from app.database.columns import UtcDateTime
from app.database.purging import delete_batch
from app.database.session import Model, affected_rows, after_commit, db, transaction
from app.errors import LoginFailed
from app.observability.origin import current_network
from app.outbox import Attempt, Payload
from app.signals import emit, login_code_request
from app.times import now
from app.users.accounts.credentials import announce_verified, claim_account
from app.users.mailed import Account, find_enabled_account, is_within_budget, read_address
from app.users.models import AccessToken, User, new_token, token_digest, user_model
from app.users.sessions import login_methods
from app.users.sessions.login import login_identified
from app.users.sessions.tokens import IssuedToken, issue, lock, use_up
from app.users.user_models import FIRST

DIGITS = 8
#: Seconds for which a mailed code is valid.
CODE_LIFETIME = 600
#: Maximum number of codes that may be tried with a ticket.
MAX_TRIES = 5
# The scope of a ticket: like a mailed token, it is no session, and it ends with the other mailed
# tokens.
LOGIN_SCOPE = "login-code"
# The `reason` of a failed login.
MAILED_CODE = "mailed code"
# The throttles of requests for codes: for an email by a client, for a recipient, and by a client.
CODE_EMAIL, CODE_RECIPIENT = "mail_login_email", "mail_login_recipient"
CODE_ADDRESS = "mail_login_address"


class LoginCode(Model):
    """The attempts made with a ticket; the ticket itself is an access token.

    Tickets of unknown addresses have a row, too, so that attempts cost the same.
    """

    __tablename__ = "login_codes"

    ticket_digest: Mapped[str] = mapped_column(String(64), primary_key=True)
    tries: Mapped[int] = mapped_column(default=0)
    expires_at: Mapped[datetime] = mapped_column(UtcDateTime, index=True)


def code_of(ticket_digest: str) -> str:
    """Return the code of the ticket with this digest, derived with the newest key."""
    return derive_code(current_app.config["LOGIN_CODE_KEYS"][0], ticket_digest)


def is_code_of(ticket_digest: str, code: str) -> bool:
    """Return True if a code belongs to the ticket with this digest, by any of the keys."""
    given = "".join(code.split()).encode()
    keys = current_app.config["LOGIN_CODE_KEYS"]
    matches = [hmac.compare_digest(derive_code(key, ticket_digest).encode(), given) for key in keys]
    return any(matches)


def derive_code(key: str, ticket_digest: str) -> str:
    """Return the code of a ticket by a key."""
    mac = hmac.digest(key.encode(), f"login by mail {ticket_digest}".encode(), "sha256")
    return f"{int.from_bytes(mac) % 10**DIGITS:0{DIGITS}}"


def request_code(email: object, realm: object = None) -> str:
    """Mail a code to an address if an enabled user has it; always return a ticket.

    The work is the same in both cases: only the mail shows whether there is such a user. Raises
    EmailRequired, InvalidEmail or InvalidRealm, and TooManyRequests for a client with too many
    requests.
    """
    address, within = read_address(email, realm)
    network = current_network()
    throttles.count(CODE_ADDRESS, network)
    account = find_enabled_account(address, within, FIRST)
    by_client = CODE_EMAIL, [network]
    if not is_within_budget(by_client, CODE_RECIPIENT, address, within, account):
        return new_token()
    try:
        return _issue_ticket(account, address)
    except IntegrityError:
        # The user was deleted meanwhile, or there is no user for whom a decoy can be stored.
        return new_token()


def log_in(ticket: str, code: str) -> IssuedToken:
    """Exchange a ticket and the mailed code for a session; verifies the address.

    Raises LoginFailed for a wrong code or an expired ticket, TooManyRequests, and the errors of
    `login_identified`.
    """
    digest = token_digest(ticket)
    with throttles.count_failure(throttles.LOGIN_ADDRESS, current_network()):
        user = _check(digest, code)
        with transaction():
            lock(User.id == user.id)
            if not use_up(digest, LOGIN_SCOPE):
                raise LoginFailed()
            affected_rows(delete(LoginCode).where(LoginCode.ticket_digest == digest))
            _prove_address(user)
    return login_identified(user.id, User.email == user.email, methods=("email",))


def load(data: Payload, _attempt: Attempt) -> Payload | None:
    """Return the variables of an attempt's mail: `code`, `ttl`, `email` and `user`.

    None if the ticket was used, has expired, or ended with a change of the user, address or
    password.
    """
    user = db.session.get(user_model(), data["user_id"])
    if user is None or user.disabled_at or user.email != data["email"]:
        return None
    own = AccessToken.user_id == user.id, AccessToken.handle == data["handle"]
    columns = select(AccessToken.digest, AccessToken.expires_at)
    row = db.session.execute(columns.where(*own, AccessToken.is_live(LOGIN_SCOPE))).first()
    if row is None:
        return None
    ttl = (row.expires_at - now()).total_seconds()
    return {"code": code_of(row.digest), "ttl": ttl, "email": data["email"], "user": user}


def purge_batch() -> int:
    """Delete the attempts of expired tickets, at most PURGE_BATCH; return their number."""
    return delete_batch(select(LoginCode.ticket_digest).where(LoginCode.expires_at <= now()))


def _issue_ticket(account: Account | None, email: str) -> str:
    """Store a ticket and record the event that mails its code; without an account, a decoy."""
    user_id, ttl = (account.id, CODE_LIFETIME) if account else (None, 0)
    with transaction():
        ticket, row = issue(user_id, ttl, scope=LOGIN_SCOPE, email=email)
        tries = {"ticket_digest": token_digest(ticket), "tries": 0}
        end = now() + timedelta(seconds=CODE_LIFETIME)
        db.session.execute(insert(LoginCode).values(**tries, expires_at=end))
        if account is None:
            decoy = {"handle": row.handle}
            outbox.record_decoy(login_code_request.name, decoy, CODE_LIFETIME)
        else:
            data = {"user_id": account.id, "handle": row.handle, "email": email}
            outbox.record(login_code_request.name, data, CODE_LIFETIME)
            after_commit(partial(_announce, token_digest(ticket), account, email))
    return ticket


def _announce(ticket_digest: str, account: Account, email: str) -> None:
    """Send the signal with the user, who is only loaded if there are receivers."""
    if login_code_request.receivers:
        user = db.session.get(user_model(), account.id)
        info = {"code": code_of(ticket_digest), "ttl": CODE_LIFETIME, "email": email, "user": user}
        emit(login_code_request, info=info)


def _check(digest: str, code: str) -> User:
    """Return the user of the ticket with this digest, if the code belongs to it.

    Raises LoginFailed after the same work whether there is such a user or not.
    """
    if not _count_try(digest):
        raise LoginFailed()
    model = user_model()
    own = AccessToken.email == model.email, model.disabled_at.is_(None)
    of_ticket = select(model).join(AccessToken, AccessToken.user_id == model.id).where(*own)
    live = AccessToken.digest == digest, AccessToken.is_live(LOGIN_SCOPE)
    user = db.session.scalar(of_ticket.where(*live), execution_options={"populate_existing": True})
    if not is_code_of(digest, code) or user is None:
        record_attempt(Action.LOGIN_FAILED, user.id if user else None, reason=MAILED_CODE)
        raise LoginFailed()
    return user


def _count_try(digest: str) -> bool:
    """Count an attempt before its code is checked; return False if none is left.

    A single statement that commits by itself, so that concurrent attempts are counted, too.
    """
    left = LoginCode.tries < MAX_TRIES, LoginCode.expires_at > now()
    tried = update(LoginCode).where(LoginCode.ticket_digest == digest, *left)
    return bool(affected_rows(tried.values(tries=LoginCode.tries + 1)))


def _prove_address(user: User) -> None:
    """Give an account that was never verified to the owner of its address, in the transaction.

    Somebody else may have registered it: everything added before is removed, as for a login by an
    identity provider. Raises LoginFailed if the user was changed meanwhile.
    """
    if user.email_verified:
        return
    if not claim_account(user):
        raise LoginFailed()
    login_methods.remove_unproven(user, user.email)
    announce_verified(user)
