"""The relying party of WebAuthn: the domain of passkeys, and the origins that may use them."""

from ipaddress import ip_address
from typing import NamedTuple
from urllib.parse import urlsplit

from app.config import ConfigurationError
from app.settings import Settings


class RelyingParty(NamedTuple):
    """The service as browsers and authenticators know it."""

    id: str
    name: str
    # The origins of pages, and of apps in the form of their systems.
    origins: list[str]


def read_relying_party(settings: Settings) -> RelyingParty:
    """Return the relying party of the settings; raise ConfigurationError if it is invalid."""
    url = urlsplit(settings["PUBLIC_URL"])
    host = url.hostname or ""
    if _is_ip_address(host) or (url.scheme != "https" and host != "localhost"):
        raise ConfigurationError(
            f"PASSKEYS needs a PUBLIC_URL with https and a name, or http://localhost, for which"
            f" alone browsers have passkeys; it is {settings['PUBLIC_URL']}"
        )
    party = settings["PASSKEYS"]["rp_id"] or host
    if host != party and not host.endswith(f".{party}"):
        raise ConfigurationError(
            f"PASSKEYS: rp_id must be {host}, the host of PUBLIC_URL, or a domain that it is in;"
            f" it is {party}"
        )
    origins = [f"{url.scheme}://{url.netloc}", *settings["PASSKEYS"]["origins"]]
    return RelyingParty(party, settings["SERVICE_NAME"], origins)


def _is_ip_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True
