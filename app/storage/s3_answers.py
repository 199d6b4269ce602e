"""S3's responses, read with limited time and memory; files are not read here."""

import time
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any, NamedTuple

from botocore.exceptions import HTTPClientError
from urllib3.exceptions import HTTPError

#: Maximum bytes of an S3 response, such as a list of 1,000 files.
MAX_ANSWER = 4 * 1024 * 1024
#: Seconds within which an S3 response must be complete, unless it is a file.
ANSWER_TIMEOUT = 60
# Bytes read at once.
BLOCK = 64 * 1024


class Body(NamedTuple):
    """The body of a response, in botocore's interface."""

    data: bytes

    def stream(self) -> Sequence[bytes]:
        """Return the parts of the body."""
        return [self.data]


class BoundedSession:
    """Sends requests by botocore's session, which reads responses of any length."""

    def __init__(self, session: Any) -> None:
        self._session = session

    def send(self, request: Any) -> Any:
        """Return the response to a request; raise HTTPClientError if it is too long."""
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
        # It was read to the end, so its connection can be reused.
        broken.pop_all()
    return bytes(data)
