"""Profiles of users, as providers send them."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from app.settings import is_address
from app.users.names import lookup_email

from .errors import ProviderError
from .models import MAX_SUBJECT

#: Characters of a text of a profile that are kept.
MAX_TEXT = 255
# The claims that are kept: those of OpenID Connect (Core, 5.1), and the login name of GitHub.
KEPT_CLAIMS = (
    *("name", "given_name", "family_name", "nickname", "preferred_username", "login"),
    *("email", "locale", "picture"),
)

# The characters of an address (RFC 3986, 2): neither spaces nor what ends a text in a page.
ADDRESS = re.compile(r"[\w.~:/?#\[\]@!$&'()*+,;=%-]+", re.ASCII)

# The claims of a provider about a user, by OpenID Connect's names.
Claims = Mapping[str, object]


@dataclass(frozen=True)
class Profile:
    """A user of a provider; `email` is None for one that is missing or no address."""

    issuer: str
    subject: str
    email: str | None
    # Whether the provider has verified that the address is the user's.
    email_verified: bool
    claims: Claims = field(default_factory=dict)
    # How the provider has authenticated the user (OpenID Connect Core, 2).
    amr: tuple[str, ...] = ()
    acr: str | None = None


def read_profile(issuer: str, subject: object, claims: Claims) -> Profile:
    """Return the profile of a user by OpenID Connect's claims; raise ProviderError.

    A missing `email_verified` is false. Apple sends it as text.
    """
    if not (isinstance(subject, str) and subject.isprintable() and 0 < len(subject) <= MAX_SUBJECT):
        raise ProviderError("the subject is not a text, or too long")
    email, verified = claims.get("email"), claims.get("email_verified")
    # "" is the form of an address that is not valid.
    stored = (lookup_email(email) if isinstance(email, str) else "") or None
    # Not by equality alone, by which 1 is true.
    is_verified = stored is not None and (verified is True or verified == "true")
    amr, acr = claims.get("amr"), claims.get("acr")
    methods = tuple(word for word in amr if isinstance(word, str)) if isinstance(amr, list) else ()
    level = acr if isinstance(acr, str) else None
    return Profile(issuer, subject, stored, is_verified, _kept(claims), methods, level)


def _kept(claims: Claims) -> dict[str, str]:
    """Return the claims of a profile that are kept."""
    texts = ((name, claims.get(name)) for name in KEPT_CLAIMS)
    kept = {name: _text(value) for name, value in texts if isinstance(value, str)}
    # Applications show it, and the beginning of an address leads elsewhere.
    if "picture" in kept and not _is_picture(str(claims["picture"])):
        del kept["picture"]
    return kept


def _is_picture(value: str) -> bool:
    """Return True if a text is an http or https address that is kept in full."""
    is_plain = len(value) <= MAX_TEXT and ADDRESS.fullmatch(value)
    return bool(is_plain) and is_address(value, "http", "https")


def _text(value: str) -> str:
    """Return the beginning of a text, without what databases cannot store."""
    return "".join(character for character in value[:MAX_TEXT] if character.isprintable())
