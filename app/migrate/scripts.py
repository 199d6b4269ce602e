"""Alembic's configuration."""

import sys

from alembic.config import Config
from sqlalchemy import Connection

from .chains import SCRIPTS, Chain


def configure(chain: Chain, connection: Connection | None = None) -> Config:
    """Return Alembic's configuration for a chain, and a connection with an open transaction."""
    attributes: dict[str, object] = {"applied": [], "connection": connection, "chain": chain}
    config = Config(stdout=sys.stdout, attributes=attributes)
    options = {
        "script_location": str(SCRIPTS),
        "version_locations": str(chain.folder.absolute()),
        "path_separator": "newline",
    }
    for name, value in options.items():
        config.set_main_option(name, value.replace("%", "%%"))
    return config
