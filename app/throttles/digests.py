"""Digests of identities and clients, which the throttles count by and the audit log names."""

import json
from hashlib import sha256


def key_digest(*parts: object) -> str:
    """Return the digest of a key: people type passwords into the fields of names, too.

    A failed login and the throttle that counts it have the same one.
    """
    return sha256(json.dumps(parts).encode()).hexdigest()
