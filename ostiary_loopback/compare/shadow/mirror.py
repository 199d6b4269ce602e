"""The calls of clients that are compared in the background: bounded in number, rate and memory."""

import threading
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from queue import Queue

from urllib3 import HTTPHeaderDict

from ostiary_loopback.compare.answers import MAX_BODY, Answer, NoAnswerError
from ostiary_loopback.compare.calls import Call, below, has_effect, read_call
from ostiary_loopback.compare.comparison import Comparison

from .incoming import Incoming
from .moved import has_dot_segment

#: Maximum number of waiting and running comparisons of the shadow proxy.
PLACES = 50
# Header fields that are not sent to the new service, as its answer must be whole and not encoded.
_LEFT_OUT = {
    *("ACCEPT-ENCODING", "RANGE", "IF-RANGE", "IF-MATCH", "IF-NONE-MATCH"),
    *("IF-MODIFIED-SINCE", "IF-UNMODIFIED-SINCE"),
}
# The statuses of answers that depend on what the client has already.
_PARTIAL = (206, 304, 412, 416)

Headers = Sequence[tuple[str, str]]


@dataclass
class Copy:
    """A copy of the old answer to a call, made while it is sent to the client."""

    call: Call
    target: str
    headers: Headers
    caller: str
    status: int = 0
    content_type: str = ""
    encoding: str = ""
    body: bytes | None = b""
    size: int = 0

    def add(self, part: bytes) -> None:
        """Add a part of the body; a body that is larger than MAX_BODY is not kept."""
        self.size += len(part)
        if self.body is not None:
            self.body = self.body + part if self.size <= MAX_BODY else None

    def answer(self) -> Answer | None:
        """Return the answer, decoded; None if it cannot be decoded."""
        body = self.body
        if self.encoding in ("gzip", "deflate") and body:
            body = _inflated(body)
        elif self.encoding not in ("", "identity"):
            return None
        size = self.size if body is None else len(body)
        return (
            None
            if body is None and self.encoding
            else Answer(self.status, self.content_type, body, size)
        )


class Mirror:
    """Sends reading calls to the new service as well, by threads, and compares the answers."""

    def __init__(self, comparison: Comparison, excepted: frozenset[str], concurrency: int) -> None:
        self._comparison = comparison
        self._excepted = excepted
        self._report = comparison.report
        self._places = threading.BoundedSemaphore(PLACES)
        self._queue: Queue[Copy | None] = Queue()
        self._threads = [
            threading.Thread(target=self._work, daemon=True) for _ in range(concurrency)
        ]
        for thread in self._threads:
            thread.start()

    def copy(self, request: Incoming, headers: Headers) -> Copy | None:
        """Return the copy for the old answer to a request; None if it is not compared.

        The copy must be passed to `compare` or to `drop`.
        """
        call = self._call(request)
        if call is None:
            return None
        if not self._places.acquire(blocking=False):
            self._report.count("Not compared, as too many others wait")
            return None
        if not self._comparison.rate.take():
            self._places.release()
            self._report.count("Not compared, as --rate is reached")
            return None
        path = below(self._comparison.old.root, request.target) or ""
        kept = [field for field in headers if field[0] not in _LEFT_OUT]
        return Copy(call, path, kept, _caller(request))

    def _call(self, request: Incoming) -> Call | None:
        """Return the call of a request that only reads; count it if it does not."""
        path = below(self._comparison.old.root, request.path)
        if request.verb not in ("GET", "HEAD") or request.length != 0:
            self._report.count("Sent to the old service alone, as they may write")
        elif path is None or request.values("UPGRADE"):
            self._report.count("Not compared, as they are not below the address of the API")
        elif has_effect(path, self._excepted) or has_dot_segment(path):
            self._report.count("Not compared, as their path is excepted")
        else:
            query = request.target.partition("?")[2]
            call = read_call(request.verb, f"{path}?{query}", self._excepted)
            if call is None:
                self._report.count("Not compared, as their address cannot be read")
            return call
        return None

    def compare(self, copy: Copy) -> None:
        """Compare a call in the background."""
        self._queue.put(copy)

    def drop(self) -> None:
        """Count a call to which the old service sent no complete answer."""
        self._report.count("Not compared, as the old service or the client has gone")
        self._places.release()

    def stop(self, timeout: float) -> None:
        """Complete the waiting comparisons, within some seconds."""
        for _ in self._threads:
            self._queue.put(None)
        for thread in self._threads:
            thread.join(timeout)

    def _work(self) -> None:
        while copy := self._queue.get():
            try:
                self._compare(copy)
            except Exception as error:
                self._report.count(f"Not compared, because of a {type(error).__name__}")
            finally:
                self._places.release()

    def _compare(self, copy: Copy) -> None:
        if copy.status in _PARTIAL:
            self._report.count("Not compared, as the client has the answer or wants a part")
            return
        old = copy.answer()
        if old is None:
            self._report.count("Not compared, as the old answer is compressed")
            return
        sent = HTTPHeaderDict(copy.headers)
        try:
            new = self._comparison.new.send(copy.call.verb, copy.target, sent)
        except NoAnswerError:
            new = None
        found = self._comparison.found(copy.call, old, new, sent)
        self._report.add(copy.call, copy.caller, found)


def _caller(request: Incoming) -> str:
    """Return a name that says whether a request has a token."""
    has_token = any(map(request.values, ("AUTHORIZATION", "X-ACCESS-TOKEN", "COOKIE")))
    return "with a token" if has_token or "access_token=" in request.target else "anonymous"


def _inflated(body: bytes) -> bytes | None:
    """Return a body that was compressed by gzip or zlib; None if it is too large, or broken."""
    inflater = zlib.decompressobj(wbits=zlib.MAX_WBITS | 32)
    try:
        inflated = inflater.decompress(body, MAX_BODY + 1)
    except zlib.error:
        return None
    return inflated if inflater.eof and len(inflated) <= MAX_BODY else None
