"""What a process uses at a moment: looked at now and then, so that using it costs nothing."""

from flask import Flask
from sqlalchemy import QueuePool

from app.database.session import db
from app.hashing.slots import hash_slots

from .catalog import Catalog


class Levels:
    """The levels of a process's pool and password hashes."""

    def __init__(self, app: Flask, catalog: Catalog) -> None:
        self._catalog = catalog
        self._slots = hash_slots.of(app)
        self._refused = 0
        with app.app_context():
            self._engine = db.engine

    def update(self) -> None:
        """Set the metrics to the present levels."""
        # The pool of a moment: a lost connection replaces it.
        pool = self._engine.pool
        if isinstance(pool, QueuePool):
            self._catalog.connections.set(pool.checkedout())
            self._catalog.pool_size.set(pool.size())
        self._catalog.hashes.set(self._slots.in_use)
        self._catalog.waiting_hashes.set(self._slots.waiting)
        refused = self._slots.refused
        self._catalog.refused_hashes.inc(refused - self._refused)
        self._refused = refused
