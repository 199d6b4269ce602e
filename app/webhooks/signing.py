"""Secrets of webhooks, and the signatures by which receivers verify what they are sent.

Source: Standard Webhooks, https://www.standardwebhooks.com.
"""

import base64
import hmac
import secrets
from collections.abc import Iterable, Mapping

from app.encryption import Encryption
from app.state import AppState

encryption = AppState[Encryption]("encryption of webhooks")
#: Bytes of a secret; the specification requires 24 to 64.
SECRET_BYTES = 32
PREFIX = "whsec_"


def new_secret() -> str:
    """Return a new secret."""
    return PREFIX + base64.b64encode(secrets.token_bytes(SECRET_BYTES)).decode()


def new_message_id() -> str:
    """Return a new id of a message."""
    return f"msg_{secrets.token_hex(16)}"


def signed_headers(
    keys: Iterable[str], message_id: str, timestamp: int, body: bytes
) -> Mapping[str, str]:
    """Return the headers of a message, with a signature for each of the secrets.

    `timestamp` is that of the attempt, in seconds since 1970.
    """
    signed = b".".join((message_id.encode(), str(timestamp).encode(), body))
    signatures = (f"v1,{_signature(secret, signed)}" for secret in keys)
    return {
        "webhook-id": message_id,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": " ".join(signatures),
    }


def _signature(secret: str, signed: bytes) -> str:
    key = base64.b64decode(secret.removeprefix(PREFIX))
    return base64.b64encode(hmac.digest(key, signed, "sha256")).decode()
