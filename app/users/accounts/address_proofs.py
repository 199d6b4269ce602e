"""Proofs that an address belongs to its user, by a mailed code.

Second factors and personal tokens are only added to an account whose address is proved; a user who
has any can only change to an address that is proved, too. So nobody can prepare an account for
somebody else, and a reset, or another login by the owner of the address, need not remove them.
"""

from sqlalchemy import exists, select, true

from app.database.session import db, transaction
from app.errors import EmailProofRequired, ValidationError
from app.ids import Id
from app.observability.origin import current_network
from app.signals import email_code_request
from app.throttles import VERIFICATION_ADDRESS, VERIFICATION_USER, count
from app.users.mailed import mail_token, use_up_code
from app.users.models import CHANGE_SCOPE, CODE_SCOPE, PROVED_SCOPE, AccessToken, User
from app.users.names import stored_email
from app.users.sessions import login_methods
from app.users.sessions.tokens import delete_scoped, issue, lock

from .credentials import confirm_own
from .lookup import get_user

#: Seconds for which the proof of a new address is valid.
PROOF_LIFETIME = 600
WRONG_CODE = {"code": ["is wrong, or over: ask for another one"]}


def require_proved(user_id: Id) -> None:
    """Raise EmailProofRequired unless the user's address is verified."""
    is_proved = select(User.id).where(User.id == user_id, User.email_verified == true())
    if db.session.scalar(is_proved) is None:
        raise EmailProofRequired()


def admit_credential(user_id: Id) -> None:
    """Allow a user to add a second factor or a personal token; raise EmailProofRequired.

    Call it in the transaction that adds it, with the user locked, because the address may be
    changed concurrently. Links that would give the account to another address become invalid.
    """
    require_proved(user_id)
    delete_scoped(user_id, CHANGE_SCOPE)


def request_code(user_id: Id, new_email: str | None = None) -> None:
    """Mail a code that proves a user's address, or a new one, by emailCodeRequest.

    Does nothing if it is already verified. Raises ModelNotFound, ValidationError for an invalid
    address, and TooManyRequests for a user or a client with too many requests.
    """
    user = get_user(user_id)
    email = user.email if new_email is None else stored_email(new_email)
    count(VERIFICATION_ADDRESS, current_network())
    count(VERIFICATION_USER, "code", user_id)
    if email != user.email or not user.email_verified:
        mail_token(email_code_request, CODE_SCOPE, user, email)


def confirm_code(user_id: Id, code: str) -> None:
    """Record that a user has proved the address to which a code was mailed; raise ValidationError.

    The user's own address becomes verified, and everything added to the account counts as its
    owner's. A new address may become the user's within PROOF_LIFETIME.
    """
    with transaction():
        lock(User.id == user_id)
        email = use_up_code(user_id, code)
        if email is None:
            raise ValidationError(WRONG_CODE)
        if email == db.session.scalar(select(User.email).where(User.id == user_id)):
            user = get_user(user_id)
            confirm_own(user)
            login_methods.keep_all(user, email)
        else:
            delete_scoped(user_id, CODE_SCOPE, PROVED_SCOPE)
            issue(user_id, PROOF_LIFETIME, scope=PROVED_SCOPE, email=email)


def check_new_address(user_id: Id, email: str) -> bool:
    """Return True if a user has proved a new address.

    Raises EmailProofRequired if not, for a user with something that requires a proved address. Call
    it in the transaction that changes the address, with the user locked.
    """
    noted = AccessToken.user_id == user_id, AccessToken.is_live(PROVED_SCOPE)
    proof = select(exists().where(*noted, AccessToken.email == email))
    if db.session.scalar(proof):
        return True
    if login_methods.has_proved(user_id):
        raise EmailProofRequired(email)
    return False
