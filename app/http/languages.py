"""The languages that users and clients prefer, without their regions: `de` of `de-AT`."""

import re

from flask import g, has_app_context, has_request_context, request
from werkzeug.datastructures import LanguageAccept
from werkzeug.http import parse_accept_header

#: Characters of an `Accept-Language` header that are read; those of browsers are shorter.
MAX_HEADER = 255
#: Languages of a client that are kept for its mails.
MAX_LANGUAGES = 5
# Characters of these languages, joined: each has three at most.
MAX_JOINED = 4 * MAX_LANGUAGES
LANGUAGE = re.compile(r"([a-z]{2,3})(?=[-_]|\Z)", re.ASCII | re.IGNORECASE)
# The properties in which an application may have the language of a user.
PROPERTIES = ("language", "locale", "lang")


def preferred_languages(user: object = None) -> tuple[str, ...]:
    """Return the languages for a user, the best first: the user's own, then the client's."""
    own = (to_language(getattr(user, name, None)) for name in PROPERTIES)
    return (*filter(None, own), *current_languages())


def current_languages() -> tuple[str, ...]:
    """Return what the client of the current request prefers, or of the one that caused this."""
    if has_request_context():
        return parse_languages(request.headers.get("Accept-Language", ""))
    languages: tuple[str, ...] = g.get("languages", ()) if has_app_context() else ()
    return languages


def continue_languages(joined: str | None) -> None:
    """Prefer these languages, joined by commas, in this app context, which is no request."""
    g.languages = tuple(filter(None, (joined or "").split(",")))


def parse_languages(header: str) -> tuple[str, ...]:
    """Return the languages of an Accept-Language header, the most preferred one first."""
    if len(header) > MAX_HEADER:
        # The last one may lack its quality.
        header = header[:MAX_HEADER].rpartition(",")[0]
    accepted = parse_accept_header(header, LanguageAccept)
    found = (to_language(tag) for tag, quality in accepted if quality > 0)
    return tuple(dict.fromkeys(filter(None, found)))[:MAX_LANGUAGES]


def to_language(tag: object) -> str | None:
    """Return the language of a tag such as `de-AT` or `de_DE`; None if it is none."""
    match = LANGUAGE.match(tag) if isinstance(tag, str) else None
    return match[1].lower() if match else None
