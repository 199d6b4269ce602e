"""Codes for logins by mail.

A code is derived from its ticket with a key of the settings and is not stored: eight digits can be
found from their digest at once, even if it includes the ticket, which anybody can request for any
address.
"""

import hmac

from flask import current_app

DIGITS = 8


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
