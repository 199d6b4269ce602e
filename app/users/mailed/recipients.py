"""Recipients of mails that anybody may request, as counted by throttles."""

from app.throttles.mailboxes import mailbox
from app.users.models import User

from .tokens import Account


def recipient_key(account: Account | User | None, email: str, realm: str) -> tuple[object, ...]:
    """Return the key by which a mail to this address of this account is counted.

    The user, if the address is verified: requests for other addresses of the mailbox do not use up
    its budget. Otherwise the mailbox, because anybody may have registered the address. Without an
    account nothing is mailed, so nobody's budget is used.
    """
    if account is None:
        return "nobody", realm, email
    return ("user", account.id) if account.email_verified else (mailbox(email),)
