"""gunicorn's address and numbers of processes and threads, from the environment."""

import os
from ipaddress import ip_address

from app.settings import SettingsSchema

MAX_PORT = 65_535


def check_environment() -> None:
    """End the start with one sentence for a wrong variable, to be called before gunicorn's import.

    gunicorn reads WEB_CONCURRENCY when it is imported, and takes neither an empty one nor what is
    no number. FORWARDED_ALLOW_IPS, which it would check, has no meaning beside our settings.
    """
    address()
    processes()
    threads()
    if not os.environ.get("WEB_CONCURRENCY"):
        os.environ.pop("WEB_CONCURRENCY", None)
    os.environ.pop("FORWARDED_ALLOW_IPS", None)


def address() -> str:
    """Return the address of HOST and PORT; end the start with one sentence for a wrong one."""
    host = os.environ.get("HOST") or "127.0.0.1"
    port = number("PORT", 3000, lowest=0, highest=MAX_PORT)
    return f"[{_ipv6(host)}]:{port}" if ":" in host else f"{host}:{port}"


def processes() -> int:
    """Return WEB_CONCURRENCY; end the start with one sentence for a wrong one."""
    return number("WEB_CONCURRENCY", 2)


def threads() -> int:
    """Return THREADS; end the start with one sentence for a wrong one."""
    return number("THREADS", SettingsSchema().fields["THREADS"].load_default)


def number(name: str, default: int, lowest: int = 1, highest: int | None = None) -> int:
    """Return a number of the environment; end the start with one sentence for a wrong one."""
    text = os.environ.get(name) or str(default)
    range_ = f"from {lowest} to {highest}" if highest else f"of at least {lowest}"
    is_number = text.isascii() and text.isdigit() and len(text) < 10
    if not is_number or not lowest <= int(text) <= (highest or int(text)):
        raise SystemExit(f"ostiary: {name} must be a whole number {range_}, and is {text[:40]!r}")
    return int(text)


def _ipv6(host: str) -> str:
    """Return an IPv6 address, which may be in brackets, without them."""
    plain = host.removeprefix("[").removesuffix("]")
    try:
        return str(ip_address(plain))
    except ValueError:
        raise SystemExit(
            f"ostiary: HOST must be a name or an address without a port, and is {host[:80]!r}"
        ) from None
