"""The admin calls by subject, in the order of the OpenAPI document."""

# ruff: noqa: I001 the order of the document
from . import access, models, users, roles, audit, deliveries, throttles, data_sources
from . import providers, settings, state

__all__ = [
    "access",
    "audit",
    "data_sources",
    "deliveries",
    "models",
    "providers",
    "roles",
    "settings",
    "state",
    "throttles",
    "users",
]
