"""The values of personal tokens: a prefix, random characters, and their checksum.

`ost_`, 40 letters and digits, and 6 for the CRC-32 of the 40, in base 62. Secret scanners recognize
such values reliably, and a mistyped one is refused without a query.
"""

import string
from zlib import crc32

from app.users.models import new_token
from app.users.sessions.transports import PERSONAL_PREFIX

# 62 ** 40 possible values are 238 bits.
RANDOM_LENGTH = 40
# The length of the largest CRC-32 in base 62.
CHECKSUM_LENGTH = 6
DIGITS = string.digits + string.ascii_uppercase + string.ascii_lowercase
LENGTH = len(PERSONAL_PREFIX) + RANDOM_LENGTH + CHECKSUM_LENGTH


def new_value() -> str:
    """Return the value of a new personal token."""
    characters = new_token()[:RANDOM_LENGTH]
    return PERSONAL_PREFIX + characters + checksum(characters)


def is_well_formed(value: str) -> bool:
    """Return True if a value has the form of a personal token with a correct checksum."""
    characters = value.removeprefix(PERSONAL_PREFIX)
    if len(value) != LENGTH or len(characters) == LENGTH or not characters.isascii():
        return False
    return checksum(characters[:RANDOM_LENGTH]) == characters[RANDOM_LENGTH:]


def checksum(characters: str) -> str:
    """Return the CRC-32 of ASCII characters in base 62, padded with zeros."""
    rest, digits = crc32(characters.encode("ascii")), ""
    for _ in range(CHECKSUM_LENGTH):
        rest, digit = divmod(rest, len(DIGITS))
        digits = DIGITS[digit] + digits
    return digits
