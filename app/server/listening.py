"""gunicorn's address and numbers of processes and threads, from the environment."""

import os
from ipaddress import ip_address

from app.settings import MAX_THREADS, SettingsSchema

MAX_PORT = 65_535
#: `WEB_CONCURRENCY`: one for each logical processor of a large server. So many processes take
#: 22 GiB of memory, at 86 MiB each.
MAX_PROCESSES = 256


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
    return number("WEB_CONCURRENCY", 2, highest=MAX_PROCESSES)


def threads() -> int:
    """Return THREADS; end the start with one sentence for a wrong one."""
    default = SettingsSchema().fields["THREADS"].load_default
    return number("THREADS", default, highest=MAX_THREADS)


def check_options(workers: int, threads: int) -> None:
    """End the start with one sentence for a number that the options of gunicorn make too large."""
    for option, given, highest in (
        ("workers", workers, MAX_PROCESSES),
        ("threads", threads, MAX_THREADS),
    ):
        if given > highest:
            raise SystemExit(f"ostiary: gunicorn's {option} must be at most {highest}, not {given}")


def number(name: str, default: int, highest: int, lowest: int = 1) -> int:
    """Return a number of the environment; end the start with one sentence for a wrong one."""
    text = os.environ.get(name) or str(default)
    is_number = text.isascii() and text.isdigit() and len(text) < 10
    if not is_number or not lowest <= int(text) <= highest:
        raise SystemExit(
            f"ostiary: {name} must be a whole number from {lowest} to {highest}, and is"
            f" {text[:40]!r}"
        )
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
