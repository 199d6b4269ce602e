"""The admin calls by subject, in the order of the OpenAPI document."""

# ruff: noqa: I001 the order of the document
from . import models, users, roles, records, jobs, data_sources, state

__all__ = ["data_sources", "jobs", "models", "records", "roles", "state", "users"]
