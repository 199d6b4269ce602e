"""Answers of S3, which are read in bounded time and memory; files are not read here."""

import time
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any, NamedTuple

from botocore.exceptions import HTTPClientError
from urllib3.exceptions import HTTPError

#: Bytes of an answer of S3, such as a list of 1,000 files.
MAX_ANSWER = 4 * 1024 * 1024
#: Seconds in which an answer of S3 must be complete, unless it is a file.
ANSWER_TIMEOUT = 60
# Bytes that are read at once.
BLOCK = 64 * 1024


class Body(NamedTuple):
    """The body of an answer, as botocore reads it."""

    data: bytes

    def stream(self) -> Sequence[bytes]:
        """Return the parts of the body."""
        return [self.data]


class BoundedSession:
    """Sends requests by a session of botocore, which reads answers however long they are."""

    def __init__(self, session: Any) -> None:
        self._session = session

    def send(self, request: Any) -> Any:
        """Return the answer to a request; raise HTTPClientError for one that is too long."""
        is_file, request.stream_output = request.stream_output, True
        response = self._session.send(request)
        if not is_file or response.status_code >= 300:
            response.raw = Body(_read(response.raw))
        return response

    def close(self) -> None:
        """Close the connections."""
        self._session.close()


def _read(raw: Any) -> bytes:
    data, until = bytearray(), time.monotonic() + ANSWER_TIMEOUT
    with ExitStack() as broken:
        broken.callback(raw.close)
        try:
            while part := raw.read1(BLOCK):
                data += part
                if len(data) > MAX_ANSWER or time.monotonic() > until:
                    raise HTTPClientError(error="the answer is too long")
        except HTTPError as error:
            raise HTTPClientError(error=type(error).__name__) from None
        # It was read to the end, and its connection may be used again.
        broken.pop_all()
    return bytes(data)
