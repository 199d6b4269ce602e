"""Formats of password hashes that may be imported, with limits on their cost."""

import re

# Maximum characters of a hash, the length of its column.
MAX_HASH_LENGTH = 255
# Each format with the highest values of its groups, because a login verifies a hash of each scheme:
# about ten times the work of the OWASP Password Storage Cheat Sheet's choices, or 2 s.
# Argon2: KiB, passes and lanes. bcrypt: the logarithm of its rounds. scrypt: N, r, p. PBKDF2:
# iterations.
BASE64, HEX = "[A-Za-z0-9+/]+", "[0-9a-f]+"
FORMATS = {
    rf"\$argon2(?:id|i|d)\$v=(?:16|19)\$m=(\d+),t=(\d+),p=(\d+)\${BASE64}\${BASE64}": (
        262_144,
        10,
        8,
    ),
    r"\$2[aby]\$(\d\d)\$[./A-Za-z0-9]{53}": (14,),
    rf"scrypt:(\d+):(\d+):(\d+)\$[^$]+\${HEX}": (131_072, 8, 4),
    rf"pbkdf2:sha(?:1|256|512):(\d+)\$[^$]+\${HEX}": (2_000_000,),
}


def hash_problem(stored: str) -> str | None:
    """Return what is wrong with an imported hash; empty if it is valid."""
    if len(stored) > MAX_HASH_LENGTH:
        return f"is too long (maximum is {MAX_HASH_LENGTH} characters)"
    for form, highest in FORMATS.items():
        if found := re.fullmatch(form, stored, re.ASCII):
            costs = map(int, found.groups())
            too_much = any(cost > most for cost, most in zip(costs, highest, strict=True))
            return "costs too much to verify" if too_much else None
    return "is not a hash of Argon2, bcrypt, or Werkzeug's scrypt or PBKDF2"
