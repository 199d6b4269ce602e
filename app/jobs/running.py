"""Running jobs: one run, and the background thread of a process that runs those that are due."""

import atexit
import threading
import time
from collections.abc import Sequence

from flask import Flask
from sqlalchemy.exc import SQLAlchemyError

from app.database.faults import error_code
from app.observability.origin import continue_request
from app.problems import describe_error
from app.signals import emit, job_ended
from app.state import AppState

from . import claims
from .claims import Claim
from .declarations import jobs
from .models import MAX_ERROR

#: Seconds for the run in progress when a process ends; then another process makes it again.
STOP_TIMEOUT = 5.0
# The outcomes of a run.
OUTCOMES = SUCCESS, FAILED = ("success", "failed")


def run(app: Flask, claim: Claim) -> str | None:
    """Run a claimed job in an app context of its own; store, log and return its error."""
    started, error = time.monotonic(), None
    with app.app_context():
        continue_request(claim.id)
        try:
            claim.job()
        except BaseException as raised:
            # Also an exit or a cancelled task ends the run, and not the thread.
            error, cause = _describe(raised), _loggable(raised)
            extra = {"request_id": claim.id}
            app.logger.error("the job %s failed", claim.job.name, exc_info=cause, extra=extra)
    with app.app_context():
        if not claims.finish(claim, time.monotonic() - started, error):
            app.logger.warning("%s ended after its lease: its result is not stored", claim.id)
        emit(job_ended, job=claim.job.name, outcome=FAILED if error else SUCCESS)
    return error


def _describe(error: BaseException) -> str:
    """Return an error's type and message; of the database's only the type, as they have values."""
    is_private = isinstance(error, SQLAlchemyError)
    text = type(error).__name__ if is_private else describe_error(error)
    # Not every database stores every character.
    return "".join(char if char.isprintable() else "?" for char in text[:MAX_ERROR])


def _loggable(error: BaseException) -> BaseException:
    """Return an error for the log: in place of the database's, one without its values."""
    if not isinstance(error, SQLAlchemyError):
        return error
    code = error_code(error) or "without a code"
    return RuntimeError(f"{type(error).__name__} {code}").with_traceback(error.__traceback__)


class Worker:
    """Runs the due jobs of an app on a background thread; can be started again after `stop`.

    A process runs one job at a time. A run whose lease has ended is left to itself, on its own
    thread, so that a job that hangs does not keep others; the process does not run it again.
    """

    def __init__(self, app: Flask) -> None:
        self._app = app
        self._poll_interval: float = app.config["OUTBOX_POLL_INTERVAL"]
        self._changed = threading.Condition()
        # The claims of runs in progress by the names of their jobs.
        self._running: dict[str, Claim] = {}
        self._thread: threading.Thread | None = None
        self._is_stopping = self._is_stored = self._is_woken = False

    def start(self) -> None:
        """Start the thread, unless it runs or there are no jobs."""
        if self._thread is None and jobs.of(self._app):
            self._is_stopping = False
            self._thread = threading.Thread(target=self._run, name="jobs", daemon=True)
            self._thread.start()
            atexit.register(self.stop)

    def stop(self) -> None:
        """Wait at most STOP_TIMEOUT for the run in progress; others make it again afterwards."""
        with self._changed:
            thread, self._is_stopping = self._thread, True
            unfinished = list(self._running.values())
            self._changed.notify_all()
        if thread is not None:
            self._shorten(unfinished, STOP_TIMEOUT)
            thread.join(STOP_TIMEOUT)
        self._thread = None
        atexit.unregister(self.stop)

    def wake(self) -> None:
        """Look for due jobs now."""
        with self._changed:
            self._is_woken = True
            self._changed.notify_all()

    def pause(self, seconds: float) -> bool:
        """Wait within a run; return True at once if the process ends, and the run should."""
        with self._changed:
            return self._changed.wait_for(lambda: self._is_stopping, seconds)

    def _shorten(self, unfinished: Sequence[Claim], seconds: float) -> None:
        """Let leases end with the process, which may be killed while it waits."""
        try:
            with self._app.app_context():
                for claim in unfinished:
                    claims.shorten(claim, seconds)
        except SQLAlchemyError as error:
            self._app.logger.error("leases of jobs stay: %s", type(error).__name__)

    def _run(self) -> None:
        while not self._is_stopping:
            try:
                seconds = self._work()
            except Exception as error:
                # Most likely a database error; the thread must survive any error.
                self._app.logger.error("jobs failed: %s", type(error).__name__)
                seconds = self._poll_interval
            with self._changed:
                self._changed.wait_for(lambda: self._is_stopping or self._is_woken, seconds)
                self._is_woken = False

    def _work(self) -> float:
        """Run the jobs that are due; return the seconds until more may be."""
        declared = jobs.of(self._app)
        while not self._is_stopping:
            with self._app.app_context():
                if not self._is_stored:
                    claims.store(declared)
                    self._is_stored = True
                claim = claims.claim_due(declared, self._running)
            if not isinstance(claim, Claim):
                return min(claim, self._poll_interval)
            self._run_within_lease(claim)
        return 0

    def _run_within_lease(self, claim: Claim) -> None:
        """Run a job on a thread of its own, and wait for it until its lease ends.

        If the process has begun to end since the claim, another one makes the run.
        """
        name = claim.job.name
        thread = threading.Thread(
            target=self._execute, args=[claim], name=f"job {name}", daemon=True
        )
        with self._changed:
            is_stopping = self._is_stopping
            if not is_stopping:
                # It removes its claim under the lock, and so only once the claim is there.
                thread.start()
                self._running[name] = claim
            has_ended = self._changed.wait_for(lambda: name not in self._running, claim.job.lease)
        if is_stopping:
            self._shorten([claim], 0)
        if not has_ended:
            self._app.logger.error("the job %s has not ended within its lease", name)

    def _execute(self, claim: Claim) -> None:
        try:
            run(self._app, claim)
        except Exception as error:
            # The result could not be stored: the job runs again after its lease.
            self._app.logger.error("%s: %s", claim.id, type(error).__name__)
        finally:
            with self._changed:
                del self._running[claim.job.name]
                self._changed.notify_all()


worker = AppState("worker of jobs", factory=Worker)
