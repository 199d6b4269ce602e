"""A threaded gunicorn worker whose threads never wait for a client."""

import errno
import math
import socket
import time
from collections import deque
from collections.abc import Callable
from contextlib import nullcontext, suppress
from functools import partial
from selectors import EVENT_READ, EVENT_WRITE, BaseSelector

from flask import Flask
from gunicorn.config import Config
from gunicorn.glogging import Logger
from gunicorn.workers.gthread import STOP_KEEPALIVE_LINGER, ThreadWorker

from app import outbox
from app.errors import TooManyUploads
from app.hash_slots import hash_slots
from app.jobs.running import worker as jobs
from app.observability import health

from .accepting import ConnectionCounts, accept_waiting
from .connection import ClientConnection, WaitingConnections
from .errors import send_error
from .hash_queue import HashQueue
from .incoming import IncomingRequest
from .listening import check_options
from .outgoing import ClientGoneError, UnreadAnswerError
from .parking import ParkedConnections, ParkedResponse
from .processes import TRIM_INTERVAL, Threads, fit_connections, trim_malloc
from .uploads import MIN_PROGRESS, Uploads

# Errors if the process, or the machine, cannot open more files.
OUT_OF_FILES = {errno.EMFILE, errno.ENFILE}
#: Seconds for a client to close a connection after the last response, as in gunicorn.
LINGER_SECONDS = 2


class BufferingWorker(ThreadWorker):
    """Buffers requests in the main loop, and passes complete ones to threads.

    A half-open request occupies one of a worker's `worker_connections` instead of a thread.
    """

    # Set by gunicorn, and `number` by the hook before the fork.
    wsgi: Flask
    poller: BaseSelector
    tpool: Threads
    sockets: list[socket.socket]
    keepalived_conns: deque[ClientConnection]
    pending_conns: deque[ClientConnection]
    number: int
    # Shared by all workers, as the master imports this class before it forks them.
    counts = ConnectionCounts()

    def __init__(self, *args: object) -> None:
        super().__init__(*args)
        # Connections that wait for their clients.
        self.waiting: WaitingConnections
        # Whether accepting a connection has failed.
        self.is_full = False
        # Connections whose clients want them closed after the response in progress.
        self.closing: set[ClientConnection] = set()
        # When the memory was last trimmed, and when the master was last notified.
        self.trimmed = time.monotonic()
        self.notified = 0.0
        # Requests that wait for their turn to compute a password hash.
        self.hashes: HashQueue
        # Requests whose bodies are received in files.
        self.uploads: Uploads
        # Connections whose responses are continued later.
        self.parked: ParkedConnections

    @classmethod
    def check_config(cls, cfg: Config, log: Logger) -> None:
        """Check options that the environment lacks; set the limit of open files.

        TLS settings are refused, because a proxy in front handles TLS.
        """
        if cfg.is_ssl:
            raise SystemExit("ostiary: gunicorn cannot speak TLS here; a proxy in front does")
        check_options(cfg.workers, cfg.threads)
        fit_connections(cfg, log)
        super().check_config(cfg, log)

    def run(self) -> None:
        """Start the outbox and the jobs in this process, and serve."""
        health.is_serving.set(self.wsgi, lambda: self.alive)
        outbox.start(self.wsgi)
        jobs.of(self.wsgi).start()
        # Otherwise gunicorn would search for a setting at each access.
        vars(self.cfg).update({name: found.get() for name, found in self.cfg.settings.items()})
        self.waiting = WaitingConnections(self.poller, self.keepalived_conns, self.pending_conns)
        # The other connections are for requests that do not wait.
        self.hashes = HashQueue(self.wsgi, max(1, self.worker_connections // 2), self.cfg.threads)
        self.uploads = Uploads(self.wsgi, self.cfg)
        self.parked = ParkedConnections(self.poller, self.method_queue.defer, self._timeout)
        hash_slots.of(self.wsgi).threads.join(self.number, self.cfg.workers)
        super().run()
        # Like an executor's threads, active ones finish before the process ends.
        self.tpool.shutdown(wait=True)

    def get_thread_pool(self) -> Threads:
        """Return the threads that answer requests."""
        return Threads(self.cfg.threads)

    def notify(self) -> None:
        """Notify the master every second that this worker is alive; trim the memory periodically.

        gunicorn calls this after each event.
        """
        now = time.monotonic()
        if now - self.notified >= 1:
            super().notify()
            self.notified = now
        if now - self.trimmed >= TRIM_INTERVAL:
            trim_malloc()
            self.trimmed = time.monotonic()

    def set_accept_enabled(self, enabled: bool) -> None:
        """Start or stop accepting connections; a stopping worker closes its listeners at once.

        gunicorn would keep them open until the last request is answered. A proxy could connect and
        send a request that nobody reads, without knowing whether to send it to another instance.
        """
        super().set_accept_enabled(enabled)
        if not enabled and not self.alive:
            self.counts.remove(self.number)
            self.hashes.end_by(time.monotonic() + self.cfg.graceful_timeout / 2)
            self.parked.end_all()
            for listener in self.sockets:
                accept_waiting(listener, self.accept, self.cfg.backlog)
                listener.close()

    def accept(self, listener: socket.socket) -> None:
        """Accept a connection, unless another process does, or no more files can be opened."""
        self.counts.let_others_accept(self.number)
        try:
            sock, client = listener.accept()
        except (BlockingIOError, ConnectionAbortedError):
            # Another worker has accepted it, or the client has closed it.
            return
        except OSError as error:
            self.is_full = error.errno in OUT_OF_FILES
            if self.is_full:
                return
            raise
        self.nr_conns += 1
        self._share_count()
        conn = ClientConnection(sock, client, listener.getsockname(), self._timeout)
        self._receive(conn, conn.receive())

    def _share_count(self) -> None:
        """Tell the other processes how many connections this one has that will be kept."""
        if self.alive:
            passing = len(self.closing) + len(self.waiting.lingering)
            self.counts.set(self.number, self.nr_conns - passing)

    def wait_for_and_dispatch_events(self, timeout: float) -> None:
        """Handle an event, such as a new connection, and limit buffered data."""
        self._share_count()
        super().wait_for_and_dispatch_events(timeout)
        # Not earlier: a connection that is closed here may have had a pending event.
        for conn in self.waiting.take_unread():
            self._close_unread(conn)
        if self.is_full or self.nr_conns >= self.worker_connections:
            if longest := self.waiting.take_longest():
                self._close(longest)
            elif self.is_full:
                self.parked.close_oldest()
            self.is_full = False

    @property
    def _timeout(self) -> float:
        return float(self.wsgi.config["REQUEST_TIMEOUT"])

    def _receive(self, conn: ClientConnection, data: bytes | None) -> None:
        """Buffer received data of a connection's next request."""
        max_body = self.wsgi.config["MAX_BODY_BYTES"]
        conn.incoming = IncomingRequest(self.cfg, conn.client, max_body, self.uploads.max_bytes)
        conn.turn = nullcontext()
        if next_step := self._take(conn, data):
            next_step()
        else:
            self.waiting.watch(
                conn, self.waiting.pending, self._timeout, EVENT_READ, self._receive_more
            )

    def _receive_more(self, conn: ClientConnection) -> None:
        if next_step := self._take(conn, conn.receive()):
            self.waiting.end(conn, self.waiting.pending)
            next_step()

    def _take(self, conn: ClientConnection, data: bytes | None) -> Callable[[], None] | None:
        """Add bytes to the request; return the next step, or None to wait for more."""
        if data is None:
            return None
        try:
            complete = conn.incoming.add(data)
        except Exception as error:  # no error may stop the worker
            return partial(self._refuse, conn, error)
        if complete:
            return partial(self._answer, conn)
        if conn.incoming.asks_for_upload:
            return partial(self._ask, conn)
        self._continue(conn)
        return None if data else partial(self._close, conn)

    def _continue(self, conn: ClientConnection) -> None:
        """Send "100 Continue" if the client waits for that."""
        if conn.incoming.expects_continue:
            conn.incoming.expects_continue = False
            conn.send(b"HTTP/1.1 100 Continue\r\n\r\n")

    def _ask(self, conn: ClientConnection) -> None:
        """Ask the app, in a thread, whether to receive an upload."""
        if self.uploads.start(conn):
            self.tpool.call(partial(self._ask_app, conn))
        else:
            self._refuse(conn, TooManyUploads())

    def _ask_app(self, conn: ClientConnection) -> None:
        is_allowed = False
        try:
            is_allowed = self.uploads.is_allowed(conn)
        except Exception:  # no error may end the thread
            self.log.exception("The app could not say whether to receive an upload.")
        finally:
            self.method_queue.defer(self._begin_upload, conn, is_allowed)

    def _begin_upload(self, conn: ClientConnection, is_allowed: bool) -> None:
        """Receive an upload; if the app does not allow it, let it answer at once."""
        if not is_allowed:
            conn.incoming.answer_at_once()
            self._answer(conn)
            return
        try:
            conn.incoming.receive_upload()
        except Exception as error:  # no error may stop the worker
            self._refuse(conn, error)
            return
        self._continue(conn)
        if next_step := self._take(conn, conn.incoming.take_rest()):
            next_step()
        else:
            conn.upload_seen = conn.incoming.received
            self.waiting.watch(
                conn, self.waiting.receiving, self._timeout, EVENT_READ, self._receive_upload
            )

    def _receive_upload(self, conn: ClientConnection) -> None:
        if next_step := self._take(conn, conn.receive()):
            self.waiting.end(conn, self.waiting.receiving)
            next_step()
        elif conn.incoming.received - conn.upload_seen >= MIN_PROGRESS:
            conn.upload_seen = conn.incoming.received
            self.waiting.prolong(conn, self.waiting.receiving, self._timeout)

    def _refuse(self, conn: ClientConnection, error: Exception) -> None:
        send_error(conn, error, self.log)
        self._linger(conn)

    def _answer(self, conn: ClientConnection) -> None:
        """Pass a complete request to a thread, or queue it for its turn to compute a hash."""
        if self.hashes.add(conn):
            self.poller.register(conn.sock, EVENT_READ, lambda _: self._notice_if_closed(conn))
        else:
            self._start(conn)

    def _notice_if_closed(self, conn: ClientConnection) -> None:
        """Drop a request whose client has gone; other data it has sent is handled later."""
        self.poller.unregister(conn.sock)
        if conn.is_closed():
            self.hashes.discard(conn)
            self._close(conn)

    def _start_due(self) -> None:
        """Pass requests whose turn to compute a hash has come to threads."""
        for conn in self.hashes.take_due():
            # It is not watched any more if the client has sent more.
            with suppress(KeyError):
                self.poller.unregister(conn.sock)
            self._start(conn)

    def _start(self, conn: ClientConnection) -> None:
        conn.outgoing.begin()
        if conn.incoming.request.should_close():
            self.closing.add(conn)
        self.tpool.call(partial(self._respond, conn))

    def _respond(self, conn: ClientConnection) -> None:
        """Answer a connection's request in a thread; the main loop does the rest."""
        is_kept = False
        try:
            is_kept = self.handle(conn)
        finally:
            self.method_queue.defer(self.finish_request, conn, is_kept)

    def handle(self, conn: ClientConnection) -> bool:
        """Answer a connection's request in a thread; return whether to keep the connection.

        gunicorn would read the request from the connection here, and wait for it.
        """
        try:
            with conn.turn:
                is_kept = self.handle_request(conn.incoming.request, conn.outgoing)
                conn.outgoing.end()
                return bool(is_kept)
        except UnreadAnswerError:
            self._log_unread(conn)
        except (ClientGoneError, StopIteration):
            # In the latter case gunicorn has logged why the app failed after a part was sent.
            pass
        except OSError:
            self.log.exception("The rest of an answer could not be read.")
        except Exception as error:  # no error may end the thread
            send_error(conn, error, self.log)
        return False

    def finish_request(self, conn: ClientConnection, is_kept: bool) -> None:
        """Send the rest of the response; then keep the connection, or let the client close it.

        The connection's next request is handled after that.
        """
        self.uploads.end(conn)
        self.closing.discard(conn)
        if isinstance(parked := conn.outgoing.parked, ParkedResponse):
            # It is none of `worker_connections` any more, which are for requests.
            self.nr_conns -= 1
            self.parked.add(conn, parked)
            if not self.alive:
                self.parked.end_all()
        elif not conn.outgoing.is_sent:
            react = partial(self._send_rest, is_kept=is_kept)
            self.waiting.watch(conn, self.waiting.sending, self._timeout, EVENT_WRITE, react)
        elif is_kept:
            self._keep(conn)
        else:
            self._linger(conn)

    def _send_rest(self, conn: ClientConnection, is_kept: bool) -> None:
        self.waiting.end(conn, self.waiting.sending)
        with suppress(ClientGoneError):
            conn.outgoing.send_rest()
        self.finish_request(conn, is_kept)

    def _close_unread(self, conn: ClientConnection) -> None:
        self._log_unread(conn)
        self._close(conn)

    def _log_unread(self, conn: ClientConnection) -> None:
        self.log.warning("closed a connection of %s: it did not take its answer", conn.host)

    def _keep(self, conn: ClientConnection) -> None:
        """Wait for the next request, unless a part of it has already been received."""
        if conn.incoming.data:
            self._receive(conn, bytes(conn.incoming.data))
            return
        most = math.inf if self.alive else STOP_KEEPALIVE_LINGER
        seconds = min(self.cfg.keepalive, most)
        self.waiting.watch(conn, self.waiting.keepalived, seconds, EVENT_READ, self._receive_next)

    def _receive_next(self, conn: ClientConnection) -> None:
        self.waiting.end(conn, self.waiting.keepalived)
        self._receive(conn, conn.receive())

    def _linger(self, conn: ClientConnection) -> None:
        """Shut down only the server's side: closing with unread data would reset the connection."""
        if conn.shut_down():
            self.waiting.watch(
                conn, self.waiting.lingering, LINGER_SECONDS, EVENT_READ, self._discard
            )
        else:
            self._close(conn)

    def _discard(self, conn: ClientConnection) -> None:
        if not conn.discard():
            self.waiting.end(conn, self.waiting.lingering)
            self._close(conn)

    def murder_pending(self) -> None:
        """Close connections that timed out: incomplete requests, unread responses, lingering.

        Called after each event, and every second: also starts what is due.
        """
        super().murder_pending()
        self._start_due()
        self.parked.close_overdue()
        for conn in self.waiting.take_overdue(self.waiting.sending):
            self._close_unread(conn)
        for queue in (self.waiting.receiving, self.waiting.lingering):
            for conn in self.waiting.take_overdue(queue):
                self._close(conn)

    def _close(self, conn: ClientConnection) -> None:
        self.nr_conns -= 1
        self.uploads.end(conn)
        conn.close()
