"""The database: the base class of models, the session, and transactions."""

from app.database.session import Model, after_commit, db, transaction

__all__ = ["Model", "after_commit", "db", "transaction"]
