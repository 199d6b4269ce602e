"""Errors of migrations."""


class MigrationError(Exception):
    """The database cannot be migrated as requested; the message says why."""
