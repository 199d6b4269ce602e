"""Entries of LoopBack 3's `datasources.json` with connectors other than REST.

They are skipped with a warning: the service's database, or a setting, replaces them.
"""

from collections.abc import Iterator, Mapping
from urllib.parse import quote

from flask import Flask

from app.problems import MISSPELT, closest
from app.state import AppState

# The name of the REST connector; a misspelt one is an error.
REST = "rest"
MAIL = "mail"
# The prefix of a connector's package name.
PACKAGES = ("loopback-connector-", "loopback-component-")
# The ports of a mail server without one: plain, and with TLS from the start.
MAIL_PORT, TLS_PORT = 587, 465
# The replacement of each connector; the database replaces all others.
INSTEAD = {
    "storage": "files are stored by the providers filesystem and amazon alone",
    "push": "no push notifications are sent",
    "transient": "it stores nothing",
}
DATABASE = "models that are attached to it have tables in the database of DATABASE_URL"

# The data sources that were skipped, by name.
other_sources = AppState[Mapping[str, Mapping[str, object]]](
    "data sources of other connectors", lambda _app: {}
)


def set_aside_others(app: Flask) -> None:
    """Keep only REST data sources in DATA_SOURCES; warn of each of the others."""
    sources = app.config["DATA_SOURCES"]
    others = {name: settings for name, settings in sources.items() if connector_of(settings)}
    if not others:
        return
    other_sources.set(app, others)
    app.config["DATA_SOURCES"] = {
        name: settings for name, settings in sources.items() if name not in others
    }
    for name, settings in others.items():
        connector = connector_of(settings)
        app.logger.warning(
            "data source %s: not used, as its connector is %s: %s",
            *(name, connector, _instead(connector, settings)),
        )


def connector_of(settings: object) -> str:
    """Return the connector of a data source; empty for REST, or a name similar to it."""
    connector = settings.get("connector") if isinstance(settings, Mapping) else None
    if not isinstance(connector, str) or closest(connector_name(connector), [REST], MISSPELT):
        return ""
    return connector


def connector_name(connector: str) -> str:
    """Return the name of a connector without its package's prefix, in lower case."""
    name = connector.lower()
    for package in PACKAGES:
        name = name.removeprefix(package)
    return name


def _instead(connector: str, settings: Mapping[str, object]) -> str:
    name = connector_name(connector)
    if name != MAIL:
        return INSTEAD.get(name, DATABASE)
    urls = list(mail_urls(settings))
    if not urls:
        return "MAIL_URL says how mails are sent"
    return f"MAIL_URL would be {urls[0]}, with the password in place of PASSWORD"


def mail_urls(settings: Mapping[str, object]) -> Iterator[str]:
    """Yield the MAIL_URL for each SMTP server of a mail data source.

    A password is replaced by PASSWORD.
    """
    transports = settings.get("transports") or [settings.get("transport")]
    for transport in transports if isinstance(transports, list) else []:
        if isinstance(transport, Mapping) and (url := _mail_url(transport)):
            yield url


def _mail_url(transport: Mapping[str, object]) -> str:
    """Return the URL of an SMTP server; empty for anything else."""
    host, port = transport.get("host"), str(transport.get("port") or "")
    if not isinstance(host, str) or not host.replace(".", "").replace("-", "").isalnum():
        return ""
    server = f"{_mail_credentials(transport.get('auth'))}{host}"
    if transport.get("secure") is True or port == str(TLS_PORT):
        return f"smtps://{server}:{port if port.isdecimal() else TLS_PORT}"
    return f"smtp://{server}:{port if port.isdecimal() else MAIL_PORT}?starttls=1"


def _mail_credentials(auth: object) -> str:
    """Return the part of a URL before the host; empty if there is no user."""
    user = auth.get("user") if isinstance(auth, Mapping) else None
    return f"{quote(user, safe='')}:PASSWORD@" if isinstance(user, str) and user else ""
