"""Users' profiles, as sent by providers."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from app.settings import is_address
from app.users.names import lookup_email

from .errors import ProviderError
from .models import MAX_SUBJECT

#: Maximum characters of a profile's text.
MAX_TEXT = 255
# The stored claims: those of OpenID Connect (Core, 5.1), and GitHub's login name.
KEPT_CLAIMS = (
    *("name", "given_name", "family_name", "nickname", "preferred_username", "login"),
    *("email", "locale", "picture"),
)

# The characters of a URL (RFC 3986, 2): no spaces, and none that could end a text in a page.
ADDRESS = re.compile(r"[\w.~:/?#\[\]@!$&'()*+,;=%-]+", re.ASCII)

# A provider's claims about a user, by OpenID Connect's names.
Claims = Mapping[str, object]


@dataclass(frozen=True)
class Profile:
    """A user of a provider; `email` is None if it is missing or invalid."""

    issuer: str
    subject: str
    email: str | None
    # Whether the provider has verified that the address is the user's.
    email_verified: bool
    claims: Claims = field(default_factory=dict)
    # How the provider authenticated the user (OpenID Connect Core, 2).
    amr: tuple[str, ...] = ()
    acr: str | None = None


def read_profile(issuer: str, subject: object, claims: Claims) -> Profile:
    """Return a user's profile from OpenID Connect's claims; raise ProviderError.

    `email_verified` is false by default; Apple sends it as text.
    """
    if not (isinstance(subject, str) and subject.isprintable() and 0 < len(subject) <= MAX_SUBJECT):
        raise ProviderError("the subject is not a text, or too long")
    email, verified = claims.get("email"), claims.get("email_verified")
    # "" is the normalized form of an invalid address.
    stored = (lookup_email(email) if isinstance(email, str) else "") or None
    # Not by equality alone, because 1 equals true.
    is_verified = stored is not None and (verified is True or verified == "true")
    acr = claims.get("acr")
    level = acr if isinstance(acr, str) else None
    return Profile(issuer, subject, stored, is_verified, _kept(claims), _methods(claims), level)


def _methods(claims: Claims) -> tuple[str, ...]:
    """Return the methods of an authentication, of which a provider may say nothing usable."""
    amr = claims.get("amr")
    return tuple(word for word in amr if isinstance(word, str)) if isinstance(amr, list) else ()


def _kept(claims: Claims) -> dict[str, str]:
    """Return the claims of a profile to be stored."""
    texts = ((name, claims.get(name)) for name in KEPT_CLAIMS)
    kept = {name: _text(value) for name, value in texts if isinstance(value, str)}
    # Applications show it, and a truncated URL would lead elsewhere.
    if "picture" in kept and not _is_picture(str(claims["picture"])):
        del kept["picture"]
    return kept


def _is_picture(value: str) -> bool:
    """Return True if a text is a complete http or https URL."""
    is_plain = len(value) <= MAX_TEXT and ADDRESS.fullmatch(value)
    return bool(is_plain) and is_address(value, "http", "https")


def _text(value: str) -> str:
    """Return the beginning of a text, without characters that databases cannot store."""
    return "".join(character for character in value[:MAX_TEXT] if character.isprintable())
