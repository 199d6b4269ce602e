"""Mailboxes, by which mails caused by requests are counted."""


def mailbox(address: str) -> str:
    """Return the mailbox of an address: in lower case, and without anything after a `+`.

    Many servers deliver all of these to one mailbox. On others, several mailboxes share a budget.
    """
    name, _, domain = address.lower().rpartition("@")
    return f"{name.partition('+')[0]}@{domain}"
