"""Names of containers and files that have the same meaning in every system."""

import re
import unicodedata

from .errors import InvalidName

#: Maximum bytes of a container's or file's name in UTF-8, as in most file systems.
MAX_NAME = 255
#: Maximum characters of a name that is normalized: one of 255 bytes has at most 382 in Unicode's
#: form NFD, which macOS sends. Longer ones take quadratic time.
MAX_NORMALIZED = 382
# Path separators, characters with a meaning on Windows, and surrogates and control characters.
RESERVED_CHARACTERS = re.compile(r'[/\\:<>"|?*\ufffd]')
# Windows devices, regardless of what follows the first dot.
DEVICES = re.compile(r"(con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³]|conin\$|conout\$)(\.|\Z)", re.I)
# Joiners, which occur in words and emojis; other invisible characters are refused.
JOINERS = str.maketrans("", "", "\u200c\u200d")


def check_name(name: object) -> str:
    """Return a name in Unicode's form NFC; raise InvalidName."""
    if not isinstance(name, str) or len(name) > MAX_NORMALIZED:
        raise InvalidName(name)
    composed = unicodedata.normalize("NFC", name)
    if not is_name(composed):
        raise InvalidName(name)
    return composed


def is_name(name: str) -> bool:
    """Return True if a name may be served."""
    return (
        bool(name)
        # Before the normal form is computed, which takes quadratic time.
        and len(name.encode(errors="replace")) <= MAX_NAME
        and not name.startswith((".", " "))
        and not name.endswith((".", " "))
        and not RESERVED_CHARACTERS.search(name)
        and not DEVICES.match(name)
        and name.translate(JOINERS).isprintable()
        and name == unicodedata.normalize("NFC", name)
    )
