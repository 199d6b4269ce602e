"""The addresses of standbys: one for each host of READ_DATABASE_URL."""

from collections.abc import Sequence

from sqlalchemy import URL

from app.database.engine import read_url


def split_hosts(address: str) -> dict[str, URL]:
    """Return the URL of each host, by host and port as written; raise ValueError."""
    url = read_url(address)
    if url.get_backend_name() != "postgresql":
        raise ValueError("must be the address of PostgreSQL")
    # Each server is asked whether it is a standby in any case.
    query = {name: url.query[name] for name in url.query if name != "target_session_attrs"}
    hosts = _as_list(query.pop("host", ()))
    if not hosts:
        return {f"{url.host}:{url.port or 5432}": url.set(query=query)}
    ports = _as_list(query.pop("port", ()))
    if ports and len(ports) != len(hosts):
        raise ValueError("must have as many ports as hosts")
    url = url.set(host=None, port=None)
    pairs = zip(hosts, ports, strict=True) if ports else map(_split_port, hosts)
    return {
        f"{host}:{port}": url.set(query={**query, "host": host, "port": port})
        for host, port in pairs
    }


def _as_list(value: str | Sequence[str]) -> list[str]:
    values = [value] if isinstance(value, str) else value
    return [item for entry in values for item in entry.split(",")]


def _split_port(host: str) -> tuple[str, str]:
    name, separator, port = host.rpartition(":")
    return (name, port) if separator and port.isdigit() else (host, "5432")
