"""Types of files: those by their names, by their first bytes, and those that browsers may show."""

import re
from os.path import splitext

from app.http.sent_files import TYPES

#: Bytes of a file by which its type is checked.
FIRST_BYTES = 16
# Types whose files begin in one way only.
SIGNATURES = {
    "application/pdf": re.compile(rb"%PDF-"),
    "application/zip": re.compile(rb"PK(\x03\x04|\x05\x06)"),
    "image/avif": re.compile(rb"....ftypavi[fs]", re.DOTALL),
    "image/gif": re.compile(rb"GIF8[79]a"),
    "image/jpeg": re.compile(rb"\xff\xd8\xff"),
    "image/png": re.compile(rb"\x89PNG\r\n\x1a\n"),
    "image/webp": re.compile(rb"RIFF....WEBP", re.DOTALL),
}
# Types that browsers show, in which nothing is executed with the rights of our pages; all others
# are saved.
PDF = "application/pdf"
SHOWN = {PDF, "image/avif", "image/gif", "image/jpeg", "image/png", "image/webp"}
UNKNOWN = TYPES[""]
# Chrome shows no PDF in a sandbox.
SANDBOX = "default-src 'none'; sandbox"
SANDBOX_OF_PDF = "default-src 'none'; style-src 'unsafe-inline'; object-src 'self'"
OTHER_NAMES = {"image/jpg": "image/jpeg", "image/pjpeg": "image/jpeg"}
TYPE = re.compile(r"[\w.+-]{1,100}/[\w.+-]{1,100}", re.ASCII)


def canonical_type(text: str) -> str:
    """Return a type as it is compared."""
    lower = text.strip().lower()
    return OTHER_NAMES.get(lower, lower)


def declared_type(text: str) -> str:
    """Return the type that a part of a form declares, without its parameters."""
    declared = text.partition(";")[0].strip()
    return declared if TYPE.fullmatch(declared) else UNKNOWN


def type_of_name(name: str) -> str:
    """Return the type by the end of a name, by which files are sent."""
    return TYPES.get(splitext(name)[1].lower(), UNKNOWN)


def types_of(name: str, declared: str) -> set[str]:
    """Return the types that a file claims to have: what was declared, and that of its name."""
    return {canonical_type(declared)} | {type_of_name(name)} - {UNKNOWN}


def begins_as(data: bytes, types: set[str]) -> bool:
    """Tell whether the first bytes are those of all these types."""
    return all(SIGNATURES[type_].match(data) for type_ in types & SIGNATURES.keys())
