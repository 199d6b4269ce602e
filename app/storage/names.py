"""Names of containers and files that mean the same in every system, and lead nowhere else."""

import re
import unicodedata

from .errors import InvalidName

#: Bytes of the name of a container or file in UTF-8, as most file systems allow.
MAX_NAME = 255
#: Characters of a name that is normalized: one of 255 bytes has at most 382 in Unicode's form NFD,
#: which macOS sends. More take quadratic time.
MAX_NORMALIZED = 382
# Separators of paths, what Windows has a meaning for, and what stands for no character.
RESERVED_CHARACTERS = re.compile(r'[/\\:<>"|?*\ufffd]')
# Devices of Windows, whatever follows the first dot.
DEVICES = re.compile(r"(con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³]|conin\$|conout\$)(\.|\Z)", re.I)
# Joiners, which words and emojis have in them; other invisible characters are refused.
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
        # Before the normal form is compared, which takes quadratic time.
        and len(name.encode(errors="replace")) <= MAX_NAME
        and not name.startswith((".", " "))
        and not name.endswith((".", " "))
        and not RESERVED_CHARACTERS.search(name)
        and not DEVICES.match(name)
        and name.translate(JOINERS).isprintable()
        and name == unicodedata.normalize("NFC", name)
    )
