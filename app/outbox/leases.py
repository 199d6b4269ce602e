"""Leases of deliveries in progress, renewed by a background thread of each process."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from flask import Flask

from app.state import AppState

from . import claims
from .claims import Claim


class Leases:
    """Renews leases for as long as their deliveries take, because not every handler has a time-out.

    The thread ends when there are none: most deliveries are shorter than a lease.
    """

    def __init__(self, app: Flask) -> None:
        self._app = app
        self._changes = threading.Lock()
        self._held: set[Claim] = set()
        self._thread: threading.Thread | None = None
        self._wake = threading.Event()

    @contextmanager
    def held(self, claim: Claim) -> Iterator[None]:
        """Renew the lease of a delivery during the block."""
        with self._changes:
            self._held.add(claim)
            if self._thread is None:
                self._wake.clear()
                self._thread = threading.Thread(target=self._run, name="leases", daemon=True)
                self._thread.start()
        try:
            yield
        finally:
            with self._changes:
                self._held.remove(claim)

    def stop(self) -> None:
        """End the thread, which refers to the app, now, unless a delivery is in progress."""
        self._wake.set()

    def _run(self) -> None:
        while True:
            self._wake.wait(claims.LEASE / 3)
            self._wake.clear()
            with self._changes:
                held = list(self._held)
                if not held:
                    self._thread = None
                    return
            for claim in held:
                self._renew(claim)

    def _renew(self, claim: Claim) -> None:
        try:
            with self._app.app_context():
                claims.renew(claim)
        except Exception as error:
            # Most likely a database error; the thread must survive any error.
            self._app.logger.error("a lease was not renewed: %s", type(error).__name__)


leases = AppState("leases of deliveries", factory=Leases)
