"""Digests of identities and clients, used by throttles and in the audit log."""

import json
from hashlib import sha256


def key_digest(*parts: object) -> str:
    """Return the digest of a key: people type passwords into name fields, too.

    A failed login and the throttle that counts it have the same digest.
    """
    return sha256(json.dumps(parts).encode()).hexdigest()
