"""Types of files: by their names, by their first bytes, and those that browsers may show."""

import re
from collections.abc import Collection
from os.path import splitext

from app.http.sent_files import TYPES

#: Bytes of a file by which its type is checked.
FIRST_BYTES = 16
# Types whose files always begin with these bytes.
SIGNATURES = {
    "application/pdf": re.compile(rb"%PDF-"),
    "application/zip": re.compile(rb"PK(\x03\x04|\x05\x06)"),
    "image/avif": re.compile(rb"....ftypavi[fs]", re.DOTALL),
    "image/gif": re.compile(rb"GIF8[79]a"),
    "image/jpeg": re.compile(rb"\xff\xd8\xff"),
    "image/png": re.compile(rb"\x89PNG\r\n\x1a\n"),
    "image/webp": re.compile(rb"RIFF....WEBP", re.DOTALL),
}
# Types of files by suffix, in addition to those of front ends' files.
ENDINGS = {
    **TYPES,
    ".3gp": "video/3gpp",
    ".7z": "application/x-7z-compressed",
    ".apng": "image/apng",
    ".avi": "video/x-msvideo",
    ".bmp": "image/bmp",
    ".doc": "application/msword",
    ".docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    ".eml": "message/rfc822",
    ".epub": "application/epub+zip",
    ".flac": "audio/flac",
    ".gz": "application/gzip",
    ".heic": "image/heic",
    ".heif": "image/heif",
    ".ics": "text/calendar",
    ".jfif": "image/jpeg",
    ".log": "text/plain",
    ".m4v": "video/mp4",
    ".mov": "video/quicktime",
    ".mpeg": "video/mpeg",
    ".mpg": "video/mpeg",
    ".odp": "application/vnd.oasis.opendocument.presentation",
    ".ods": "application/vnd.oasis.opendocument.spreadsheet",
    ".odt": "application/vnd.oasis.opendocument.text",
    ".oga": "audio/ogg",
    ".ogv": "video/ogg",
    ".opus": "audio/ogg",
    ".ppt": "application/vnd.ms-powerpoint",
    ".pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
    ".rar": "application/vnd.rar",
    ".rtf": "application/rtf",
    ".svgz": "image/svg+xml",
    ".tar": "application/x-tar",
    ".tif": "image/tiff",
    ".tiff": "image/tiff",
    ".tsv": "text/tab-separated-values",
    ".vcf": "text/vcard",
    ".weba": "audio/webm",
    ".xls": "application/vnd.ms-excel",
    ".xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
}
# Types that browsers show without running anything with the rights of the service's pages; all
# others are saved.
PDF, SVG = "application/pdf", "image/svg+xml"
SHOWN = {PDF, "image/avif", "image/gif", "image/jpeg", "image/png", "image/webp"}
# Types with which files are sent, besides pictures, sound and video. A page cannot use any other
# file as its script, style or frame, because all of these are sent as UNKNOWN.
SENT, MEDIA = {PDF, "text/plain"}, ("image/", "audio/", "video/")
UNKNOWN = TYPES[""]
# Chrome shows no PDF in a sandbox.
SANDBOX = "default-src 'none'; sandbox"
SANDBOX_OF_PDF = "default-src 'none'; style-src 'unsafe-inline'; object-src 'self'"
# Alternative names of these types in browsers and systems.
OTHER_NAMES = {
    "application/javascript": "text/javascript",
    "application/x-gzip": "application/gzip",
    "application/x-rar-compressed": "application/vnd.rar",
    "application/x-zip-compressed": "application/zip",
    "audio/mp3": "audio/mpeg",
    "audio/wave": "audio/wav",
    "audio/x-m4a": "audio/mp4",
    "audio/x-wav": "audio/wav",
    "image/jpg": "image/jpeg",
    "image/pjpeg": "image/jpeg",
    "image/x-icon": "image/vnd.microsoft.icon",
    "text/rtf": "application/rtf",
    "text/xml": "application/xml",
}
TYPE = re.compile(r"[\w.+-]{1,100}/[\w.+-]{1,100}", re.ASCII)


def canonical_type(text: str) -> str:
    """Return a type in the form for comparison."""
    lower = text.strip().lower()
    return OTHER_NAMES.get(lower, lower)


def declared_type(text: str) -> str:
    """Return the declared type of a form's part, without its parameters."""
    declared = text.partition(";")[0].strip()
    return declared if TYPE.fullmatch(declared) else UNKNOWN


def ending_of(name: str) -> str:
    """Return a name's suffix, such as `.png`, in the form for comparison; "" without one."""
    return splitext(name)[1].lower()


def sent_type(name: str) -> str:
    """Return the type with which a file is sent."""
    type_ = ENDINGS.get(ending_of(name), UNKNOWN)
    is_medium = type_.startswith(MEDIA) and type_ != SVG
    return type_ if is_medium or type_ in SENT else UNKNOWN


def types_of(name: str, declared: str) -> set[str]:
    """Return the types that a file claims to have: the declared one, and that of its name."""
    return {canonical_type(declared)} | {ENDINGS.get(ending_of(name), UNKNOWN)} - {UNKNOWN}


def refused_type(name: str, declared: str, allowed: frozenset[str]) -> str | None:
    """Return the type or suffix of a file that is not allowed.

    None: the file is allowed. A suffix with unknown type, which may be a program's, must be allowed
    itself or as UNKNOWN.
    """
    ending = ending_of(name)
    if ending in allowed:
        return None
    if ending not in ENDINGS and UNKNOWN not in allowed:
        return ending
    return min(types_of(name, declared) - allowed, default=None)


def name_of_type(name: str, declared: str) -> str:
    """Return a name with the suffix of a declared type, if that is known."""
    type_ = canonical_type(declared_type(declared))
    endings = (ending for ending, known in ENDINGS.items() if known == type_)
    return f"{name}{next(endings, '')}"


def types_like(patterns: Collection[str]) -> frozenset[str]:
    """Return the known types that match one of the patterns, such as `image/*` or `image/png`."""
    known = {*ENDINGS.values()}
    groups = tuple(pattern.removesuffix("*") for pattern in patterns if pattern.endswith("/*"))
    single = {canonical_type(pattern) for pattern in patterns if not pattern.endswith("/*")}
    return frozenset(single | {type_ for type_ in known if type_.startswith(groups)})


def begins_as(data: bytes, types: set[str]) -> bool:
    """Return True if the first bytes match all these types."""
    return all(SIGNATURES[type_].match(data) for type_ in types & SIGNATURES.keys())
