"""Calls of data sources, and answers of their service, that are to cost as much as they can."""

import gzip
import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

from .logins import metadata
from .models import OPEN
from .request import BODY, TARGET, Request, get, post, to_json

# Bytes of an answer: what a public data source reads.
ANSWER = 2_000_000
# Values of a body that a response path searches, with `*` and with `..`.
VALUES, SEARCHED = 19_990, 4_990
# Commas, colons and brackets of the JSON that it reads.
SIGNS = 199_990
# Models whose rows the service has.
MODELS = {
    name: {
        "name": name,
        "plural": name,
        "properties": {"title": "string", "size": "number", "more": "object"},
        "acls": OPEN,
    }
    for name in ("tickets", "short_tickets")
}


def _fill(part: str, start: str = "[", end: str = "0]") -> bytes:
    return (start + part * ((ANSWER - 1000) // len(part.encode())) + end).encode()


def _few(part: str) -> bytes:
    """Return JSON with as many signs as are read."""
    signs = sum(map(part.count, ",:[{"))
    return ("[" + part * (SIGNS // signs) + "0]").encode()


def _json(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


def _names() -> bytes:
    return _json({f"{number:06}": 0 for number in range(SIGNS // 2)})


def _nested(levels: int, values: int) -> Any:
    """Return objects in objects, which have this many values."""
    inner: Any = 1
    for _ in range(levels):
        inner = {"a": inner, **{f"b{number}": number for number in range(values // levels)}}
    return inner


def _ticket(number: int) -> dict[str, Any]:
    return {"id": number, "title": "a" * 1000, "size": number, "more": {"a": [number] * 100}}


# What the service answers, by path.
ANSWERS: Mapping[str, Callable[[], bytes]] = {
    "numbers": lambda: _fill("1,"),
    "fractions": lambda: _fill("0.12345678901234567,"),
    "objects": lambda: _fill("{},"),
    "arrays": lambda: _fill("[],"),
    "few_numbers": lambda: _few("1,"),
    "few_objects": lambda: _few("{},"),
    "few_arrays": lambda: _few("[],"),
    "few_members": lambda: _few('{"a":1},'),
    "names": _names,
    "members": lambda: _fill('{"a":1},'),
    "escapes": lambda: _fill("\\u00e9", '["', '"]'),
    "wide": lambda: _fill("\u00e9", '["', '"]'),
    "digits": lambda: _fill("9" * 4300 + ","),
    "deep": lambda: b"[" * 900 + b"]" * 900,
    "too_deep": lambda: b"[" * ANSWER,
    "broken": lambda: _fill('{"a":1},', end=""),
    "text": lambda: b"a b" * (ANSWER // 3),
    "values": lambda: _json([{"a": 1} for _ in range(VALUES // 2)]),
    "searched": lambda: _json([{"a": 1} for _ in range(SEARCHED // 2)]),
    "searched_deep": lambda: _json(_nested(95, SEARCHED - 95)),
    "searched_texts": lambda: _json([{"a": "x" * 350} for _ in range(SEARCHED // 2)]),
    "tickets": lambda: _json([_ticket(number) for number in range(1000)]),
    "short_tickets": lambda: _json([{"id": number} for number in range(SIGNS // 3)]),
}
PATHS = {
    "allItems": ("values", "$.*.*"),
    "descendAll": ("searched", "$..*"),
    "descendDeepAll": ("searched_deep", "$..*"),
    "filtered": ("searched", "$[?(@.a == 1)].a"),
    "filteredTexts": ("searched_texts", "$[?(@.a == 'y')].a"),
}


class Handler(BaseHTTPRequestHandler):
    """Answers by the first segment of the path; `bomb` is far larger when it is unpacked."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1
    # What it answers to some paths.
    documents: Mapping[str, Any] = {}

    def do_GET(self) -> None:
        """Answer."""
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.path in self.documents:
            return self._send(_json(self.documents[self.path]))
        first = urlsplit(self.path).path.split("/")[1]
        respond = getattr(self, f"_{first}", None)
        if respond is not None:
            return respond()
        return self._send(_answer(first) if first in ANSWERS else b'{"a":1}')

    do_POST = do_PUT = do_PATCH = do_DELETE = do_GET  # noqa: N815 names of http.server

    def _bomb(self) -> None:
        self._send(_bomb(), ("Content-Encoding", "gzip"))

    def _error(self) -> None:
        self._send(_answer("members"), status=500)

    def _cookies(self) -> None:
        self._send(b"{}", *[("Set-Cookie", f"a{number}={'b' * 600}") for number in range(90)])

    def _redirect(self) -> None:
        headers = [(f"X-{number}", "a" * 600) for number in range(9)]
        self._send(b"", ("Location", "/redirect/" + "a" * 500), *headers, status=302)

    def _send(self, body: bytes, *headers: tuple[str, str], status: int = 200) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_args: Any) -> None:
        """Stay silent."""


@cache
def _answer(name: str) -> bytes:
    return ANSWERS[name]()


@cache
def _bomb() -> bytes:
    return gzip.compress(b" " * 20_000_000)


@contextmanager
def serving() -> Iterator[str]:
    """Run the service in threads of this process; yield its URL."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    url = f"http://127.0.0.1:{server.server_port}"
    Handler.documents = metadata(url)
    server.daemon_threads = True
    server.handle_error = lambda *_: None
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield url
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def data_sources(url: str) -> dict[str, Any]:
    """Return the settings of the data sources."""
    everywhere = {
        "method": "POST",
        "url": "/echo/{a}",
        "headers": {"X-A": "{a}"},
        "query": {"a": "{a}", "b": "{a}{a}"},
        "body": {"all": ["{a}"] * 3, "text": "{a}-{b}", "{b}": "{b}"},
        "variables": {"b": {"secret": True}},
    }
    operations = [
        _operation("get", ["name"], url="/{name}"),
        _operation("queried", ["q"], method="POST", url="/x", query="{q}"),
        _operation("posted", ["a"], method="POST", url="/x", body={"a": "{a}"}),
        _operation("repeated", ["a"], method="POST", url="/x", body=["{a}"] * 3),
        _operation("text", ["a"], method="POST", url="/x", body={"a": "-{a}"}),
        _operation("form", ["a"], method="POST", url="/x", form="{a}"),
        _operation("keyed", ["a", "b"], **everywhere),
        _operation("failed", ["password"], method="POST", url="/error", body="{password}"),
        *(
            _operation(name, [], url=f"/{answer}", responsePath=path)
            for name, (answer, path) in PATHS.items()
        ),
    ]
    public = {"connector": "rest", "baseURL": url, "public": True, "operations": operations}
    return {
        "remote": {**public, "timeout": 20_000},
        "desk": {"connector": "rest", "baseURL": url},
    }


def _operation(name: str, arguments: list[str], **template: Any) -> dict[str, Any]:
    return {"template": {"method": "GET", **template}, "functions": {name: arguments}}


def requests() -> Iterator[Request]:
    """Yield the requests."""
    for name in [*ANSWERS, "bomb", "error", "cookies", "redirect"]:
        yield get(f"answer: {name}", f"/api/remote/get/{name}")
    for name, (answer, path) in PATHS.items():
        yield get(f"response path: {path} of {answer}", f"/api/remote/{name}")
    yield get("call: path of 16 kB", "/api/remote/get/" + "%2F" * (TARGET // 3 - 20))
    yield get("call: path of 16 kB, wide", "/api/remote/get/" + "%C3%A9" * (TARGET // 6 - 20))
    for (name, kind), argument in _arguments():
        yield post(f"call: {name} with {kind}", f"remote/{name}", argument)
    yield get("model: more rows than asked for", "/api/short_tickets")
    for kind, filter_ in {
        "page": {},
        "inq": {"where": {"id": {"inq": list(range(900))}}},
        "or": {"where": {"or": [{"title": f"a{number}"} for number in range(240)]}},
    }.items():
        yield get(f"model: {kind}", f"/api/tickets?filter={to_json(filter_)}")
    yield post("model: POST", "tickets", {"title": "a", "more": {"a": ["b"] * 4000}})


def _arguments() -> Iterator[tuple[tuple[str, str], Any]]:
    """Yield functions with a kind of argument, and the body that holds it."""
    names = {f"k{number}": 0 for number in range(BODY // 10)}
    values: dict[str, Any] = {
        "text": "a" * (BODY - 100),
        "wide text": "\u00e9" * (BODY // 6 - 100),
        "names": names,
        "items": [0] * (BODY // 2 - 100),
        "texts": [""] * (BODY // 3 - 100),
        "nested": _nested(25, BODY // 12),
    }
    for function in ("posted", "repeated", "text", "form", "queried"):
        for kind, value in values.items():
            yield (function, kind), {"q" if function == "queried" else "a": value}
    for kind, value in values.items():
        yield ("failed", kind), {"password": value}
        yield ("failed", f"{kind}, secret"), {"password": {"token": value}}
    yield ("failed", "300 secrets"), {"password": {"token": [f"{n:03}" for n in range(300)]}}
    yield ("failed", "150 secrets"), {"password": {"token": [f"{n:0100}" for n in range(190)]}}
    yield ("keyed", "two texts"), {"a": "a" * 3000, "b": "b" * 90_000}
    yield ("keyed", "wide texts"), {"a": "\u00e9" * 1000, "b": "\u00e9" * 10_000}
