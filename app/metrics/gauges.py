"""Gauges, sampled periodically."""

from flask import Flask
from sqlalchemy import QueuePool

from app.database.session import db
from app.database.standbys.reader import standbys
from app.hash_slots import hash_slots

from .catalog import Catalog


class GaugeSampler:
    """Samples a process's connections and password hashes, so that their use has no overhead."""

    def __init__(self, app: Flask, catalog: Catalog) -> None:
        self._catalog = catalog
        self._slots = hash_slots.of(app)
        self._refused = 0
        with app.app_context():
            self._engine = db.engine
        self._standbys = standbys.of(app) if app.config["READ_DATABASE_URL"] else None

    def sample(self) -> None:
        """Set the gauges, and count refusals since the last sample."""
        # The pool is replaced after a lost connection.
        pool = self._engine.pool
        if isinstance(pool, QueuePool):
            self._catalog.connections.set(pool.checkedout())
            self._catalog.pool_size.set(pool.size())
        if self._standbys is not None:
            self._catalog.standbys.set(self._standbys.in_use)
        self._catalog.hashes.set(self._slots.in_use)
        self._catalog.waiting_hashes.set(self._slots.waiting)
        refused = self._slots.refused
        self._catalog.refused_hashes.inc(refused - self._refused)
        self._refused = refused
