"""Errors of migrations."""


class MigrationError(Exception):
    """The database cannot be migrated as it was asked for; says why in a sentence."""
