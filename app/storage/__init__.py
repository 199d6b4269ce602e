"""Files in containers, as in LoopBack 3's loopback-component-storage."""

from flask import Config

# LoopBack 3's names for the connector of file stores.
CONNECTORS = ("loopback-component-storage", "storage")
# Supported providers of file stores; the first one is the default.
PROVIDERS = ("filesystem", "amazon")


def separate_stores(settings: Config) -> None:
    """Move data sources that are file stores, as in LoopBack 3, to STORES."""
    sources = settings["DATA_SOURCES"]
    found = {name: entry for name, entry in sources.items() if _is_store(entry)}
    settings["STORES"] = {**found, **settings["STORES"]}
    settings["DATA_SOURCES"] = {name: sources[name] for name in sources if name not in found}


def _is_store(entry: object) -> bool:
    if not isinstance(entry, dict) or entry.get("connector") not in CONNECTORS:
        return False
    return entry.get("provider", PROVIDERS[0]) in PROVIDERS
