"""Languages that users and clients prefer, without regions: `de` for `de-AT`."""

import re

from flask import g, has_app_context, has_request_context, request
from werkzeug.datastructures import LanguageAccept
from werkzeug.http import parse_accept_header

#: Maximum characters of an `Accept-Language` header that are read; browsers send fewer.
MAX_HEADER = 255
#: Maximum number of a client's languages that are stored for its mails.
MAX_LANGUAGES = 5
# Maximum characters of these languages, joined; each has at most three.
MAX_JOINED = 4 * MAX_LANGUAGES
LANGUAGE = re.compile(r"([a-z]{2,3})(?=[-_]|\Z)", re.ASCII | re.IGNORECASE)
# Properties in which an application may store a user's language.
PROPERTIES = ("language", "locale", "lang")


def preferred_languages(user: object = None) -> tuple[str, ...]:
    """Return the languages for a user, best first: the user's own, then the client's."""
    own = (to_language(getattr(user, name, None)) for name in PROPERTIES)
    return (*filter(None, own), *current_languages())


def current_languages() -> tuple[str, ...]:
    """Return the preferences of the current client, or of the one that caused this work."""
    if has_request_context():
        return parse_languages(request.headers.get("Accept-Language", ""))
    languages: tuple[str, ...] = g.get("languages", ()) if has_app_context() else ()
    return languages


def continue_languages(joined: str | None) -> None:
    """Set the preferred languages, joined by commas, in this app context without a request."""
    g.languages = tuple(filter(None, (joined or "").split(",")))


def parse_languages(header: str) -> tuple[str, ...]:
    """Return the languages of an Accept-Language header, most preferred first."""
    if len(header) > MAX_HEADER:
        # The last one may be cut off before its quality.
        header = header[:MAX_HEADER].rpartition(",")[0]
    accepted = parse_accept_header(header, LanguageAccept)
    found = (to_language(tag) for tag, quality in accepted if quality > 0)
    return tuple(dict.fromkeys(filter(None, found)))[:MAX_LANGUAGES]


def to_language(tag: object) -> str | None:
    """Return the language of a tag such as `de-AT` or `de_DE`; None if the tag is invalid."""
    match = LANGUAGE.match(tag) if isinstance(tag, str) else None
    return match[1].lower() if match else None
