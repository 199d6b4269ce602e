"""A threaded gunicorn worker whose threads never wait for a client."""

import errno
import select
import socket
import time
from collections import deque
from collections.abc import Callable
from contextlib import nullcontext, suppress
from functools import partial
from operator import itemgetter
from selectors import EVENT_READ, EVENT_WRITE
from traceback import format_tb
from typing import Any

from gunicorn.http.errors import ParseException
from gunicorn.util import write_nonblock
from gunicorn.workers.gthread import ThreadWorker

from app import outbox
from app.database.purging import purger_of
from app.hashing.slots import slots_of
from app.observability import health

from .errors import raw_response, to_http_error
from .hash_queue import HashQueue
from .incoming import IncomingRequest
from .memory import TRIM_INTERVAL, trim_malloc
from .open_files import fit_connections
from .outgoing import ClientGoneError, Outgoing, UnreadAnswerError

# Errors where a process, or the machine, has no more files to open.
OUT_OF_FILES = {errno.EMFILE, errno.ENFILE}
#: Seconds that a client has to close a connection after the last answer, as in gunicorn.
LINGER_SECONDS = 2
# Bytes of one receive call.
RECEIVE_BYTES = 64 * 1024
#: Bytes of answers that a process keeps for clients that read slowly; beyond it, the connection
#: whose client has read nothing for longest is closed.
MAX_TOTAL_UNSENT = 8 * 1024 * 1024
# The turn of requests that do not wait for one.
AT_ONCE = nullcontext()


class BufferingWorker(ThreadWorker):  # type: ignore[misc]
    """Buffers a request in the main loop, and passes it to a thread once it is complete.

    A half-open request costs a connection, of which a worker has `worker_connections`, instead of
    a thread.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # Connections whose clients have not taken an answer, the longest without progress first.
        self.sending: deque[Any] = deque()
        # Connections that wait for the client to close them.
        self.lingering: deque[Any] = deque()
        # Whether a connection could not be accepted.
        self.is_full = False
        # When the memory was last trimmed.
        self.trimmed = time.monotonic()
        # Requests that wait for their turn to compute a password hash.
        self.hashes: HashQueue

    @classmethod
    def check_config(cls, cfg: Any, log: Any) -> None:
        """Reject TLS settings, as a proxy in front speaks TLS; see to the limit of open files."""
        if cfg.is_ssl:
            raise SystemExit("ostiary: gunicorn cannot speak TLS here; a proxy in front does")
        fit_connections(cfg, log)
        super().check_config(cfg, log)

    def run(self) -> None:
        """Start the outbox and the purges, in this process alone, and serve."""
        health.announce(self.wsgi, is_serving=lambda: self.alive)
        outbox.start(self.wsgi)
        purger_of(self.wsgi).start()
        # The other connections are for requests that do not wait.
        most = max(1, self.worker_connections // 2)
        self.hashes = HashQueue(self.wsgi, most, self.cfg.threads)
        slots_of(self.wsgi).threads.join(self.number, self.cfg.workers)
        super().run()

    def notify(self) -> None:
        """Tell the master that this worker is alive, each second; trim the memory at times."""
        super().notify()
        if time.monotonic() - self.trimmed >= TRIM_INTERVAL:
            trim_malloc()
            self.trimmed = time.monotonic()

    def set_accept_enabled(self, enabled: bool) -> None:
        """Accept new connections, or do not; a worker that stops closes its listeners at once.

        gunicorn keeps them open until the last request is answered. A proxy would connect, send a
        request that nobody reads, and could not know whether to send it to another instance.
        """
        super().set_accept_enabled(enabled)
        if not enabled and not self.alive:
            self.hashes.end_by(time.monotonic() + self.cfg.graceful_timeout / 2)
            for listener in self.sockets:
                self._accept_waiting(listener)
                listener.close()

    def _accept_waiting(self, listener: Any) -> None:
        """Accept the connections that the kernel has accepted already."""
        waiting = select.poll()
        waiting.register(listener, select.POLLIN)
        for _ in range(self.cfg.backlog):
            if not waiting.poll(0):
                break
            self.accept(listener)

    def accept(self, listener: Any) -> None:
        """Accept a connection, unless there are no more files to open."""
        try:
            super().accept(listener)
        except OSError as error:
            if error.errno not in OUT_OF_FILES:
                raise
            self.is_full = True

    def wait_for_and_dispatch_events(self, timeout: float) -> None:
        """Handle what happens, a new connection among it, and keep room for what comes next."""
        super().wait_for_and_dispatch_events(timeout)
        # Only now: an event of a connection that is closed here might have been handled next.
        while sum(len(conn.outgoing.unsent) for conn in self.sending) > MAX_TOTAL_UNSENT:
            self._close_unread(self.sending.popleft())
        if self.is_full or self.nr_conns >= self.worker_connections:
            self.is_full = False
            self._make_room()

    def _make_room(self) -> None:
        """Close the connection that has waited longest, for a request or the rest of one."""
        queues = (
            (self.keepalived_conns, self.cfg.keepalive),
            (self.lingering, LINGER_SECONDS),
            (self.pending_conns, self._timeout),
            (self.sending, self._timeout),
        )
        began = [(waiting[0].timeout - seconds, waiting) for waiting, seconds in queues if waiting]
        if began:
            _, waiting = min(began, key=itemgetter(0))
            conn = waiting.popleft()
            self.poller.unregister(conn.sock)
            self._close(conn)

    @property
    def _timeout(self) -> float:
        return float(self.wsgi.config["REQUEST_TIMEOUT"])

    def enqueue_req(self, conn: Any) -> None:
        """Buffer the next request of a connection, part of which may be received already."""
        conn.init()
        conn.data_ready = True
        conn.sock.setblocking(False)
        conn.timeout = time.monotonic() + self._timeout
        max_body = self.wsgi.config["MAX_BODY_BYTES"]
        conn.incoming = IncomingRequest(self.cfg, conn.client, max_body)
        conn.turn = AT_ONCE
        data = conn.parser.unreader.take_buffered() or _receive(conn.sock)
        if next_step := self._take(conn, data):
            next_step()
            return
        self.pending_conns.append(conn)
        on_readable = partial(self.on_pending_socket_readable, conn)
        self.poller.register(conn.sock, EVENT_READ, on_readable)

    def on_pending_socket_readable(self, conn: Any, client: Any) -> None:
        """Receive more bytes of a request."""
        if next_step := self._take(conn, _receive(client)):
            self.poller.unregister(client)
            self.pending_conns.remove(conn)
            next_step()

    def _take(self, conn: Any, data: bytes | None) -> Callable[[], None] | None:
        """Add bytes to the request; return the next step, or None to wait for more."""
        if data is None:
            return None
        try:
            complete = conn.incoming.add(data)
        except Exception as error:  # no error may stop the worker
            return partial(self._refuse, conn, error)
        if complete:
            return partial(self._answer, conn)
        if conn.incoming.expects_continue:
            conn.incoming.expects_continue = False
            _send(conn.sock, b"HTTP/1.1 100 Continue\r\n\r\n")
        return None if data else partial(self._close, conn)

    def _refuse(self, conn: Any, error: Exception) -> None:
        self.handle_error(None, conn.sock, conn.client, error)
        self._linger(conn)

    def _answer(self, conn: Any) -> None:
        """Pass a complete request to a thread, or let it wait for its turn to compute a hash."""
        if not self.hashes.add(conn):
            self._start(conn)
            return
        self.poller.register(conn.sock, EVENT_READ, partial(self._on_waiting_readable, conn))

    def _on_waiting_readable(self, conn: Any, client: Any) -> None:
        """Forget a request whose client has gone; leave what else it has sent for later."""
        self.poller.unregister(client)
        if _is_closed(client):
            self.hashes.discard(conn)
            self._close(conn)

    def _start_due(self) -> None:
        """Pass the requests whose turn to compute a hash has come to threads."""
        for conn in self.hashes.take_due():
            # Not watched any more if the client has sent more.
            with suppress(KeyError):
                self.poller.unregister(conn.sock)
            self._start(conn)

    def _start(self, conn: Any) -> None:
        conn.outgoing = Outgoing(conn, self._timeout)
        # What follows is the start of the next request.
        conn.parser.unreader.unread(bytes(conn.incoming.data))
        super().enqueue_req(conn)

    def handle(self, conn: Any) -> bool:
        """Answer the request of a connection, in a thread; return whether to keep the connection.

        gunicorn would read the request from the connection here, and wait for it.
        """
        try:
            with conn.turn:
                return bool(self.handle_request(conn.incoming.request, conn.outgoing))
        except UnreadAnswerError:
            self._log_unread(conn)
        except (ClientGoneError, StopIteration):
            # Of the latter gunicorn has logged why: the app failed when a part was sent.
            pass
        except OSError:
            self.log.exception("The rest of an answer could not be read.")
        except Exception as error:  # no error may end the thread
            self.handle_error(None, conn.sock, conn.client, error)
        return False

    def finish_request(self, conn: Any, fs: Any) -> None:
        """Send the rest of the answer; then keep the connection, or let the client close it.

        The connection's next request is looked at after that.
        """
        if conn.outgoing.unsent:
            self._send_later(conn, fs)
        elif not fs.cancelled() and not fs.exception() and fs.result():
            super().finish_request(conn, fs)
        else:
            self._linger(conn)

    def _send_later(self, conn: Any, fs: Any) -> None:
        """Send the rest when the client takes it."""
        conn.timeout = time.monotonic() + self._timeout
        self.sending.append(conn)
        self.poller.register(conn.sock, EVENT_WRITE, partial(self._send_rest, conn, fs))

    def _send_rest(self, conn: Any, fs: Any, client: Any) -> None:
        self.sending.remove(conn)
        with suppress(ClientGoneError):
            conn.outgoing.send_rest()
        if conn.outgoing.unsent:
            conn.timeout = time.monotonic() + self._timeout
            self.sending.append(conn)
        else:
            self.poller.unregister(client)
            self.finish_request(conn, fs)

    def _close_unread(self, conn: Any) -> None:
        self._log_unread(conn)
        self.poller.unregister(conn.sock)
        self._close(conn)

    def _log_unread(self, conn: Any) -> None:
        address = conn.client[0] if conn.client else "-"
        self.log.warning("closed a connection of %s: it did not take its answer", address)

    def _linger(self, conn: Any) -> None:
        """Shut down our side only: closing with unread data would reset the connection."""
        try:
            conn.sock.setblocking(False)
            conn.sock.shutdown(socket.SHUT_WR)
            self.poller.register(conn.sock, EVENT_READ, partial(self._discard, conn))
        except OSError:
            self._close(conn)
            return
        conn.timeout = time.monotonic() + LINGER_SECONDS
        self.lingering.append(conn)

    def _discard(self, conn: Any, client: Any) -> None:
        if _receive(client) == b"":
            self.poller.unregister(client)
            self.lingering.remove(conn)
            self._close(conn)

    def murder_pending(self) -> None:
        """Close incomplete requests, unread answers and lingering connections that timed out.

        Called after all that happens, and each second: starts what is due as well.
        """
        super().murder_pending()
        self._start_due()
        now = time.monotonic()
        while self.sending and self.sending[0].timeout <= now:
            self._close_unread(self.sending.popleft())
        while self.lingering and self.lingering[0].timeout <= now:
            conn = self.lingering.popleft()
            self.poller.unregister(conn.sock)
            self._close(conn)

    def _close(self, conn: Any) -> None:
        self.nr_conns -= 1
        conn.close()

    def handle_error(self, req: Any, client: Any, addr: Any, exc: Exception) -> None:
        """Answer with a JSON error; log only the type of the error, as its text quotes the request.

        An error in our own code is logged with its traceback.
        """
        error = to_http_error(exc)
        kind = f"{error.code} {type(exc).__name__}"
        self.log.warning("refused a request of %s: %s", addr[0] if addr else "-", kind)
        if not isinstance(exc, ParseException):
            self.log.error("".join(format_tb(exc.__traceback__)))
        _send(client, raw_response(error))


def _send(client: Any, data: bytes) -> None:
    """Send a few bytes without blocking; ignore a closed connection."""
    with suppress(OSError):
        write_nonblock(client, data)


def _is_closed(client: Any) -> bool:
    """Tell whether a client has closed its side, as it does when it gives up (nginx does so)."""
    try:
        return not client.recv(1, socket.MSG_PEEK)
    except BlockingIOError:
        return False
    except OSError:
        return True


def _receive(client: Any) -> bytes | None:
    """Return received bytes, b"" at the end of the stream, or None if there are none yet."""
    try:
        return bytes(client.recv(RECEIVE_BYTES))
    except BlockingIOError:
        return None
    except OSError:
        return b""
