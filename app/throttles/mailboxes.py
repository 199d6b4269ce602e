"""Mailboxes, by which the mails that requests cause are counted."""


def mailbox(address: str) -> str:
    """Return the mailbox of an address: without case, and without what follows a `+`.

    Many servers deliver all of these to one mailbox. On others, a few mailboxes share a budget.
    """
    name, _, domain = address.lower().rpartition("@")
    return f"{name.partition('+')[0]}@{domain}"
