"""What a provider says of a user."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from app.errors import ValidationError
from app.users.credentials import stored_email

from .models import MAX_SUBJECT
from .problems import ProviderError

# Characters of a text of a profile that are kept.
MAX_TEXT = 255
# What is kept of a profile: OpenID Connect's claims (Core, 5.1), and the login name of GitHub.
KEPT_CLAIMS = (
    *("name", "given_name", "family_name", "nickname", "preferred_username", "login"),
    *("email", "locale", "picture"),
)


@dataclass(frozen=True)
class Profile:
    """A user of a provider; `email` is None for one that is missing or no address."""

    issuer: str
    subject: str
    email: str | None
    # Whether the provider has verified that the address is the user's.
    email_verified: bool
    claims: Mapping[str, Any] = field(default_factory=dict)


def read_profile(issuer: str, subject: object, claims: Mapping[str, Any]) -> Profile:
    """Return the profile of a user by OpenID Connect's claims; raise ProviderError.

    A missing `email_verified` is false. Apple sends it as text.
    """
    if not (isinstance(subject, str) and subject.isprintable() and 0 < len(subject) <= MAX_SUBJECT):
        raise ProviderError("the subject is not a text, or too long")
    email = _email(claims.get("email"))
    verified = claims.get("email_verified")
    # Not by equality alone, by which 1 is true.
    is_verified = email is not None and (verified is True or verified == "true")
    kept = {name: _text(claims[name]) for name in KEPT_CLAIMS if isinstance(claims.get(name), str)}
    return Profile(issuer, subject, email, is_verified, kept)


def _email(value: object) -> str | None:
    try:
        return stored_email(value) if isinstance(value, str) else None
    except ValidationError:
        return None


def _text(value: str) -> str:
    """Return the beginning of a text, without what databases cannot store."""
    return "".join(each for each in value[:MAX_TEXT] if each.isprintable())
