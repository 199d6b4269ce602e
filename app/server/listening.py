"""gunicorn's address, and its numbers of processes and threads, from the environment."""

import errno
import os
import socket
from collections.abc import Iterable
from ipaddress import ip_address

from app.settings import MAX_THREADS, SettingsSchema

MAX_PORT = 65_535
# The variables by which gunicorn, when it replaces itself, and service managers pass sockets on.
PASSED_SOCKETS = {"GUNICORN_FD", "LISTEN_FDS"}
#: Maximum of `WEB_CONCURRENCY`: a process for each logical processor of a large server. That many
#: take 22 GiB of memory, at 86 MiB each.
MAX_PROCESSES = 256


def check_environment() -> None:
    """Exit with one sentence for an invalid variable; call before gunicorn is imported.

    gunicorn reads WEB_CONCURRENCY at import, and fails for an empty or invalid one.
    FORWARDED_ALLOW_IPS, which it would check, has no effect with the service's settings.
    """
    address()
    processes()
    threads()
    if not os.environ.get("WEB_CONCURRENCY"):
        os.environ.pop("WEB_CONCURRENCY", None)
    os.environ.pop("FORWARDED_ALLOW_IPS", None)


def address() -> str:
    """Return the address of HOST and PORT; exit with one sentence if invalid."""
    host = os.environ.get("HOST") or "127.0.0.1"
    port = number("PORT", 3000, lowest=0, highest=MAX_PORT)
    return f"[{_ipv6(host)}]:{port}" if ":" in host else f"{host}:{port}"


def processes() -> int:
    """Return WEB_CONCURRENCY; exit with one sentence if invalid."""
    return number("WEB_CONCURRENCY", 2, highest=MAX_PROCESSES)


def threads() -> int:
    """Return THREADS; exit with one sentence if invalid."""
    default = SettingsSchema().fields["THREADS"].load_default
    return number("THREADS", default, highest=MAX_THREADS)


def check_free(addresses: Iterable[object]) -> None:
    """Exit with one sentence for an address at which another program listens.

    gunicorn itself would try for five seconds. Addresses that are not a host and a port, such as
    paths of sockets, are not checked, and neither are sockets that are passed to this process.
    """
    if PASSED_SOCKETS & os.environ.keys():
        return
    for address in addresses:
        if isinstance(address, tuple):
            _check_free(*address)


def _check_free(host: str, port: int) -> None:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as listener:
        # As gunicorn does: connections of a server that has just ended do not matter.
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((host, port))
        except OSError as error:
            # gunicorn reports others, such as hosts without an address.
            if error.errno == errno.EADDRINUSE:
                raise SystemExit(
                    f"ostiary: port {port} of {host} is in use by another program; set PORT to"
                    " another one"
                ) from None


def check_options(workers: int, threads: int) -> None:
    """Exit with one sentence for a number that gunicorn's options make too large."""
    for option, given, highest in (
        ("workers", workers, MAX_PROCESSES),
        ("threads", threads, MAX_THREADS),
    ):
        if given > highest:
            raise SystemExit(f"ostiary: gunicorn's {option} must be at most {highest}, not {given}")


def number(name: str, default: int, highest: int, lowest: int = 1) -> int:
    """Return a number from the environment; exit with one sentence if invalid."""
    text = os.environ.get(name) or str(default)
    is_number = text.isascii() and text.isdigit() and len(text) < 10
    if not is_number or not lowest <= int(text) <= highest:
        raise SystemExit(
            f"ostiary: {name} must be a whole number from {lowest} to {highest}, and is"
            f" {text[:40]!r}"
        )
    return int(text)


def _ipv6(host: str) -> str:
    """Return an IPv6 address without brackets."""
    plain = host.removeprefix("[").removesuffix("]")
    try:
        return str(ip_address(plain))
    except ValueError:
        raise SystemExit(
            f"ostiary: HOST must be a name or an address without a port, and is {host[:80]!r}"
        ) from None
