"""The remote of the cases: answers as a case says, and keeps what it was sent."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any
from urllib.parse import unquote

DEFAULT = {"json": {"ok": True}}


class Handler(BaseHTTPRequestHandler):
    """Answers every method in the same way."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: "Remote"

    def answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        path, _, query = self.path.partition("?")
        self.server.sent.append(
            {
                "method": self.command,
                "path": path,
                "query": query,
                "headers": dict(self.headers),
                "body": body.decode() if body else None,
            }
        )
        answers = self.server.answers
        self.reply(answers.get(f"{self.command} {unquote(path)}") or answers.get("*") or DEFAULT)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = answer  # noqa: N815

    def reply(self, answer: Mapping[str, Any]) -> None:
        if answer.get("reset"):
            self.close_connection = True
            return
        is_json = "json" in answer
        headers = {"Content-Type": "application/json"} if is_json else {}
        content = _compact(answer["json"]) if is_json else answer["text"]
        self.send_response(answer.get("status", 200))
        for name, value in {**headers, **answer.get("headers", {})}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content.encode())))
        self.end_headers()
        self.wfile.write(content.encode())

    def log_message(self, *_args: Any) -> None:
        pass


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


class Remote(ThreadingHTTPServer):
    """A server with the answers of one case at a time."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.answers: Mapping[str, Any] = {}
        self.sent: list[dict[str, Any]] = []

    def with_address(self, text: str) -> str:
        """Return a text with the server's address in place of its placeholders."""
        host, port = self.server_address[0], str(self.server_port)
        text = text.replace("REMOTE_HOST", str(host)).replace("REMOTE_PORT", port)
        return text.replace("REMOTE", f"{host}:{port}")


@contextmanager
def running() -> Iterator[Remote]:
    """Run a remote in a thread."""
    remote = Remote()
    thread = Thread(target=remote.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    yield remote
    remote.shutdown()
    remote.server_close()
    thread.join()
