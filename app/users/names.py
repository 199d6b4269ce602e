"""The forms in which the names that users log in with are stored and compared."""

from email_validator import SPECIAL_USE_DOMAIN_NAMES, EmailSyntaxError, validate_email

# The library's way of accepting names like .local and localhost, which networks do use.
SPECIAL_USE_DOMAIN_NAMES.clear()


def normal_email(address: str, case_sensitive: bool) -> str:
    """Return the form in which an address is stored and compared; ValueError if it is none.

    Addresses inside a network, like `ada@localhost`, are good ones; nothing is looked up in DNS.
    """
    found = validate_email(address, check_deliverability=False, globally_deliverable=False)
    if "=?" in found.local_part:
        # Mail headers would decode it (RFC 2047), and the mail go to another address.
        raise EmailSyntaxError("An encoded word is not an address.")
    return found.normalized if case_sensitive else found.normalized.lower()
