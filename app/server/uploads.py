"""Requests whose bodies are received in files, after the app has allowed each."""

from collections.abc import Callable
from io import BytesIO
from urllib.parse import unquote_to_bytes

from flask import Flask
from gunicorn.config import Config
from gunicorn.http import wsgi

from app.rest.endpoint import ASKS_FOR_UPLOAD, served_endpoints
from app.rest.routing import routed_path

from .connection import ClientConnection
from .incoming import BufferedRequest

#: Maximum concurrent uploads larger than `MAX_BODY_BYTES` in a process.
MAX_UPLOADS = 16
#: Bytes of an upload that must arrive within each `REQUEST_TIMEOUT`.
MIN_PROGRESS = 16 * 1024


class Uploads:
    """Recognizes uploads as the app routes them, and asks the app whether to receive them."""

    def __init__(self, app: Flask, cfg: Config) -> None:
        self._app = app
        self._cfg = cfg
        self._root = app.config["REST_API_ROOT"]
        self._routes = app.url_map.bind("")
        self._most = {
            name: endpoint.max_upload
            for name, endpoint in served_endpoints.of(app).items()
            if endpoint.max_upload
        }
        self._proxies = app.config["TRUSTED_PROXIES"]
        # Uploads in progress, with their clients' networks; only used by the main loop.
        self._networks: dict[ClientConnection, str] = {}

    def max_bytes(self, request: BufferedRequest) -> int:
        """Return the maximum bytes of a request's body received in a file; 0: it is no upload."""
        if not self._most:
            return 0
        given = unquote_to_bytes(request.path).decode("latin-1")
        routed = routed_path(given, request.path, self._root).encode("latin-1")
        try:
            name, _ = self._routes.match(routed.decode(errors="replace"), method=request.method)
        except Exception:  # the app answers whatever its router raises
            return 0
        return self._most.get(name, 0)

    def start(self, conn: ClientConnection) -> bool:
        """Take a slot, unless the client's network already has as many as are free.

        So one network gets at most half of them, and a slot remains for the next one.
        """
        network = conn.incoming.request.network(self._proxies)
        free = MAX_UPLOADS - len(self._networks)
        if list(self._networks.values()).count(network) >= free:
            return False
        self._networks[conn] = network
        return True

    def end(self, conn: ClientConnection) -> None:
        """Release the slot, and drop the received data."""
        if self._networks.pop(conn, None) is not None:
            conn.incoming.close()

    def is_allowed(self, conn: ClientConnection) -> bool:
        """Return True if the app allows an upload, judging by its headers; in a thread."""
        _, environ = wsgi.create(
            conn.incoming.request, conn.outgoing, conn.client, conn.outgoing.server, self._cfg
        )
        environ |= {"wsgi.input": BytesIO(), ASKS_FOR_UPLOAD: True}
        answers: list[str] = []

        def start_response(status: str, *_: object) -> Callable[[bytes], None]:
            answers.append(status)
            return lambda data: None

        answer = self._app(environ, start_response)
        if hasattr(answer, "close"):
            answer.close()
        return answers[0].startswith("204")
