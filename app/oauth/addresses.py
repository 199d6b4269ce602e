"""URLs of providers to which secrets may be sent."""

from urllib.parse import urlsplit

from app.settings import is_address

# Hosts whose URLs may be http, for development.
LOCAL_HOSTS = {"localhost", "127.0.0.1", "::1"}


def is_secure(url: str) -> bool:
    """Return True if secrets may be sent to a URL: by https, or to this machine."""
    if not is_address(url, "http", "https") or not url.isascii():
        return False
    parts = urlsplit(url)
    is_plain = not any((parts.query, parts.fragment, parts.username))
    return is_plain and (parts.scheme == "https" or parts.hostname in LOCAL_HOSTS)
