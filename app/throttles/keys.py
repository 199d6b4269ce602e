"""The keys of throttles: digests, which the audit log has too, and mailboxes."""

import json
from hashlib import sha256


def key_digest(*parts: object) -> str:
    """Return the digest of a key: people type passwords into name fields, too.

    A failed login and the throttle that counts it have the same digest.
    """
    return sha256(json.dumps(parts).encode()).hexdigest()


def mailbox(address: str) -> str:
    """Return the mailbox of an address: in lower case, and without anything after a `+`.

    Many servers deliver all of these to one mailbox. On others, several mailboxes share a budget.
    """
    name, _, domain = address.lower().rpartition("@")
    return f"{name.partition('+')[0]}@{domain}"
