"""Calls of containers and files that are to cost as much as they can."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

from .models import OPEN
from .request import BODY, CALLER, Request, get, marks, post, raw

CONTAINER = {"name": "container", "base": "Model", "acls": OPEN}
FORM = "multipart/form-data; boundary=x"
# Characters of the head of a part that is one of few.
HEAD = 16_000


def data_source(folder: Path) -> dict[str, Any]:
    """Return the settings of a store in a folder, with a container that has a file."""
    (folder / "files" / "photos").mkdir(parents=True)
    (folder / "files" / "photos" / "a.txt").write_text("a")
    entry = {"connector": "loopback-component-storage", "root": str(folder / "files")}
    return {**entry, "allowedContentTypes": ["image/png", "text/plain"]}


def requests() -> Iterator[Request]:
    """Yield the requests."""
    yield post("containers: name of marks", "containers", {"name": marks(8000)})
    yield post("containers: name of 100 kB", "containers", {"name": "a." * (BODY // 2 - 50)})
    name = quote(marks(2600))
    yield get("files: container of marks", f"/api/containers/{name}/files")
    yield get("files: name of marks", f"/api/containers/photos/download/{name}")
    yield get("files: after marks", f"/api/containers/photos/files?after={name}")
    path = "/api/containers/photos/download/a.txt"
    for header, value in {
        "Range": "bytes=" + "9" * 7000 + "-",
        "If-Range": '"a' + '"a' * 3900,
        "If-None-Match": 'W/"a",' * 1300,
        "If-Modified-Since": "Thu, 01 Jan 2026 " + "0:" * 3900,
    }.items():
        yield Request(f"download: {header}", "GET", path, headers={**CALLER, header: value})
    for name, parts in _forms().items():
        body = b"".join(b"--x\r\n" + part + b"\r\n\r\na\r\n" for part in parts) + b"--x--\r\n"
        yield raw(f"upload: {name}", FORM, body, "/api/containers/photos/upload")
    for name, boundary in {"spaces": " " * 7000, "quoted": '"' + '\\"' * 3400}.items():
        kind = f"multipart/form-data; boundary={boundary}"
        yield raw(f"upload: boundary, {name}", kind, b"--x--", "/api/containers/photos/upload")


def _forms() -> dict[str, list[bytes]]:
    """Return the heads of parts, nearly BODY bytes of them together."""
    few, many = BODY // (HEAD + 200), BODY // 100 - 100
    file = b'Content-Disposition: form-data; name="file"; filename="a.txt"\r\n'
    named = marks(HEAD // 2)
    return {
        "names of marks": [_head(f'name="file"; filename="{named}"')] * few,
        "fields of marks": [_head(f'name="{named}"')] * few,
        "names, encoded": [_head(f"name=a; filename*=UTF-8''{quote(named)[: HEAD - 100]}")] * few,
        "100 fields": [_head(f'name="{"a/" * (many // 2)}"')] * 100,
        "100 files": [_head(f'name="a"; filename="{"a" * 200}.txt"')] * 100,
        "types": [file + b"Content-Type: text/plain; " + b"a=b;" * (HEAD // 4 - 50)] * few,
        "header fields": [file + b"A: b\r\n" * (HEAD // 6 - 50)] * few,
    }


def _head(disposition: str) -> bytes:
    return f"Content-Disposition: form-data; {disposition}\r\nContent-Type: text/plain".encode()
