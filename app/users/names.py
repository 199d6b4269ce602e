"""The forms in which the names that users log in with are stored and compared."""

from email_validator import SPECIAL_USE_DOMAIN_NAMES, EmailSyntaxError, validate_email

# Characters. Of an address (RFC 5321 4.5.3.1.3; RFC 3696, erratum 1690), and of its longest part:
# what stands before the at sign or between two dots (RFC 5321 4.5.3.1.1, RFC 1035 2.3.4).
LONGEST_EMAIL = 254
LONGEST_EMAIL_PART = 64
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
