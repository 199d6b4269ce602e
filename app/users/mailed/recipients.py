"""Who gets the mails that anybody may ask for, as throttles count them."""

from app.throttles.mailboxes import mailbox
from app.users.models import User

from .tokens import Account


def recipient_key(account: Account | User | None, email: str, realm: str) -> tuple[object, ...]:
    """Return what a mail to this address of this account is counted by.

    The user, whose address is verified: requests for other addresses of the mailbox use up nothing.
    Otherwise the mailbox, since anybody may have registered the address. Without an account nothing
    is mailed, and nobody's budget is used.
    """
    if account is None:
        return "nobody", realm, email
    return ("user", account.id) if account.email_verified else (mailbox(email),)
