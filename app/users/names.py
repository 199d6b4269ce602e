"""The forms in which the names that users log in with are stored and compared."""

import re
import unicodedata

from email_validator import SPECIAL_USE_DOMAIN_NAMES, EmailSyntaxError, validate_email

# Characters. Of an address (RFC 5321 4.5.3.1.3; RFC 3696, erratum 1690), and of its longest part:
# what stands before the at sign or between two dots (RFC 5321 4.5.3.1.1, RFC 1035 2.3.4).
LONGEST_EMAIL = 254
LONGEST_EMAIL_PART = 64
# Characters, as its columns hold.
LONGEST_USERNAME = 255
# Unicode's categories of characters that show nothing, steer what is shown, or mean nothing yet.
UNPRINTED = {"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp"}
# What other categories have of those: Default_Ignorable_Code_Point, and the empty Braille cell.
INVISIBLE = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0000-\U000e0fff]"
)

# The library's way of accepting names like .local and localhost, which networks do use.
SPECIAL_USE_DOMAIN_NAMES.clear()


def normal_email(address: str, case_sensitive: bool) -> str:
    """Return the form in which an address is stored and compared; ValueError if it is none.

    Addresses inside a network, like `ada@localhost`, are good ones; nothing is looked up in DNS.
    """
    # First of all: the time that normalizing takes grows with the square of the length.
    _refuse_long(address)
    found = validate_email(address, check_deliverability=False, globally_deliverable=False)
    if "=?" in found.local_part:
        # Mail headers would decode it (RFC 2047), and the mail go to another address.
        raise EmailSyntaxError("An encoded word is not an address.")
    email = found.normalized if case_sensitive else found.normalized.lower()
    _refuse_long(email)
    return email


def _refuse_long(address: str) -> None:
    parts = address.replace("@", ".").split(".")
    if len(address) > LONGEST_EMAIL or max(map(len, parts)) > LONGEST_EMAIL_PART:
        raise EmailSyntaxError("The address is too long.")


def normal_username(name: str) -> str:
    """Return the form in which a username is stored: NFKC; ValueError, saying why, if it is none.

    Nothing invisible is in it, so that no two names look alike for that (RFC 8265 3.3, UTS 39).
    """
    if len(name) > LONGEST_USERNAME:
        raise ValueError(f"is too long (maximum is {LONGEST_USERNAME} characters)")
    normal = unicodedata.normalize("NFKC", name)
    if not normal.strip():
        raise ValueError("can't be blank")
    if INVISIBLE.search(name + normal) or UNPRINTED & set(map(unicodedata.category, normal)):
        raise ValueError("has an invisible or a control character")
    if not username_key(name):
        # Some characters become up to 18.
        raise ValueError(f"is too long (maximum is {LONGEST_USERNAME} characters)")
    return normal


def username_key(name: str) -> str:
    """Return the form in which usernames are compared; empty, as no name's is, if it is too long.

    Neither case nor the number of spaces makes two names differ.
    """
    if len(name) > LONGEST_USERNAME:
        return ""
    normal = unicodedata.normalize("NFKC", name)
    if len(normal) > LONGEST_USERNAME:
        return ""
    key = " ".join(unicodedata.normalize("NFKC", normal.casefold()).split())
    return key if len(key) <= LONGEST_USERNAME else ""
