"""Which files are sent, with which headers, and which never."""

import os

import pytest

from .conftest import FILES, PAGE

BROWSER = {"Accept": "text/html"}
REVALIDATED, KEPT = "no-cache", "public, max-age=31536000, immutable"
HIDDEN = [
    *("/.env", "/.git/config", "/images/.hidden", "/.well-known/.hidden", "/%2eenv"),
    *("/main.3f2a1c.js.map", "/main.3f2a1c.js.MAP"),
]
OUTSIDE = [
    *("/../config.py", "/%2e%2e/config.py", "/images/../../config.py", "/..%2fconfig.py"),
    *("/%252e%252e/config.py", "/..%5cconfig.py", "/images%5c..%5c..%5cconfig.py"),
    *("/outside.txt", "/outside/config.py", "/neighbour/a.txt", "/../site-private/a.txt"),
    "/itself.txt",
    *("//config.py", "/%2fetc/passwd", "//etc/passwd", "/./index.html", "/docs//index.html"),
    *("/C:/windows/win.ini", "/index.html::$DATA", "/%c0%ae%c0%ae/config.py"),
]
ABSENT = [
    *("/index.html%00.txt", "/index.html%00", "/index.html%0a", "/index.html%ff"),
    *("/index.html/a.js", "/main.3f2a1c.js/x.js", "/absent.js", f"/{'x' * 300}.js"),
]
HASHED = [
    *("main.3f2a1c9b.js", "2.3f2a1c9b.chunk.js", "a-BsX2k9Qa.css", "index-BsX2k9.js"),
    *("chunk-5QDXKMDB.js", "f-Bs_2k9Qa.woff2"),
]
NOT_HASHED = [
    *("jquery-3.7.1.min.js", "a-datepicker.js", "IMG_1234.jpg", "trip-IMG_1234.jpg"),
    *("trip-20240115.jpg", "my-mp3player.js", "logo-Version2.png", "icon-Home24px.svg"),
    *("app-decade2.js", "sw.js", "manifest.webmanifest", "main.js", "a1b2c3d4.js"),
]
TYPES = {
    "a.mjs": "text/javascript; charset=utf-8",
    "a.CSS": "text/css; charset=utf-8",
    "a.wasm": "application/wasm",
    "a.webmanifest": "application/manifest+json",
    "a.woff2": "font/woff2",
    "a.json": "application/json",
    "a.svg": "image/svg+xml; charset=utf-8",
    "a.exe": "application/octet-stream",
    "LICENSE": "application/octet-stream",
}


def test_a_file_is_sent_with_validators_and_security_headers(client):
    answer = client.get("/main.3f2a1c.js", headers={"X-Request-Id": "abc"})
    headers = {name: answer.headers[name] for name in ("ETag", "Last-Modified")}

    assert (answer.status_code, answer.text) == (200, FILES["main.3f2a1c.js"])
    assert answer.headers["Content-Type"] == "text/javascript; charset=utf-8"
    assert answer.headers["Cache-Control"] == KEPT
    assert answer.headers["Accept-Ranges"] == "bytes"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["Referrer-Policy"] == "no-referrer"
    assert answer.headers["X-Request-Id"] == "abc"
    assert "script-src 'self' 'wasm-unsafe-eval';" in answer.headers["Content-Security-Policy"]
    assert all(headers.values())
    assert "Set-Cookie" not in answer.headers


@pytest.mark.parametrize(
    ("name", "header"), [("If-None-Match", "ETag"), ("If-Modified-Since", "Last-Modified")]
)
def test_a_file_that_the_client_has_is_not_sent_again(client, name, header):
    known = client.get("/").headers[header]

    answer = client.get("/", headers={name: known})

    assert (answer.status_code, answer.data) == (304, b"")
    assert answer.headers["Cache-Control"] == REVALIDATED
    assert answer.headers["ETag"] == client.get("/").headers["ETag"]


def test_a_file_that_has_changed_is_sent_again(client, site):
    known = client.get("/docs/").headers["ETag"]
    # Of the same length, and within the same second.
    (site / "docs" / "index.html").write_text("DOCUMENTS")
    os.utime(site / "docs" / "index.html", ns=(1, 1))

    answer = client.get("/docs/", headers={"If-None-Match": known})

    (site / "docs" / "index.html").write_text("Documents")
    assert (answer.status_code, answer.text) == (200, "DOCUMENTS")


def test_a_range_of_an_unknown_unit_is_ignored(client):
    answer = client.get("/", headers={"Range": "lines=1-2"})

    assert (answer.status_code, answer.text) == (200, PAGE)


@pytest.mark.parametrize(
    ("asked", "status", "part"),
    [
        ("bytes=0-3", 206, PAGE[:4]),
        ("bytes=10-", 206, PAGE[10:]),
        ("bytes=-5", 206, PAGE[-5:]),
        ("bytes=5-100000", 206, PAGE[5:]),
        ("bytes=100000-", 416, None),
    ],
)
def test_a_part_of_a_file_is_sent(client, asked, status, part):
    answer = client.get("/", headers={"Range": asked})

    assert answer.status_code == status
    if part is None:
        assert answer.json["error"]["statusCode"] == 416
        assert answer.headers["Content-Type"] == "application/json"
        assert answer.headers["Cache-Control"] == "no-store"
    else:
        assert answer.text == part
        assert answer.content_length == len(part)
        start = PAGE.index(part)
        stated = f"bytes {start}-{start + len(part) - 1}/{len(PAGE)}"
        assert answer.headers["Content-Range"] == stated


def test_the_rest_of_a_file_is_sent_whole_once_the_file_has_changed(client):
    known = client.get("/").headers["ETag"]

    same = client.get("/", headers={"Range": "bytes=5-", "If-Range": known})
    changed = client.get("/", headers={"Range": "bytes=5-", "If-Range": '"another"'})
    refused = client.get("/", headers={"If-Match": '"another"'})

    assert (same.status_code, same.text) == (206, PAGE[5:])
    assert (changed.status_code, changed.text) == (200, PAGE)
    assert (refused.status_code, refused.json["error"]["statusCode"]) == (412, 412)


def test_head_answers_what_get_does_without_the_file(client):
    got, head = client.get("/"), client.head("/")

    assert head.data == b""
    for name in ("Content-Length", "Content-Type", "ETag", "Cache-Control"):
        assert head.headers[name] == got.headers[name]


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("/docs", "Documents"),
        ("/docs/", "Documents"),
        ("/images/logo%20one.svg", "<svg/>"),
        ("/gr%C3%B6%C3%9Fe.txt", "größe"),
        ("/main.3f2a1c.js?v=2", FILES["main.3f2a1c.js"]),
        ("/inside.js", FILES["main.3f2a1c.js"]),
        ("/.well-known/security.txt", FILES[".well-known/security.txt"]),
    ],
)
def test_paths_that_mean_a_file(client, path, text):
    answer = client.get(path)

    assert (answer.status_code, answer.text) == (200, text)


def test_nothing_hidden_and_nothing_else_is_sent(client):
    for path in (*HIDDEN, *OUTSIDE, *ABSENT):
        # The client would take what follows two slashes for a host.
        start = {"environ_overrides": {"PATH_INFO": path}} if path.startswith("//") else {}
        answer = client.get(path.lstrip("/") if start else path, headers=BROWSER, **start)

        assert (answer.status_code, answer.json["error"]["code"]) == (404, "NOT_FOUND"), path
        assert answer.headers["Cache-Control"] == "no-store"


def test_a_folder_whose_name_is_too_long_through_links_is_404(client):
    answer = client.get(f"/{'round/' * 900}")

    assert (answer.status_code, answer.json["error"]["code"]) == (404, "NOT_FOUND")


def test_a_pipe_is_not_waited_for(client, site):
    os.mkfifo(site / "pipe.txt")

    answer = client.get("/pipe.txt")

    (site / "pipe.txt").unlink()
    assert answer.status_code == 404


@pytest.fixture
def headers(client, site):
    """Return a function that makes a file, and returns the headers with which it is sent."""

    def headers(name):
        (site / name).write_text("x")
        answer = client.get(f"/{name}")
        (site / name).unlink()
        assert answer.text == "x"
        return answer.headers

    return headers


def test_only_files_with_a_hash_in_their_name_are_kept(headers):
    assert {headers(name)["Cache-Control"] for name in HASHED} == {KEPT}
    assert {headers(name)["Cache-Control"] for name in NOT_HASHED} == {REVALIDATED}


def test_types_do_not_depend_on_the_machine(headers, monkeypatch):
    monkeypatch.setattr("mimetypes.guess_type", lambda *_args, **_options: ("text/x-wrong", None))

    assert {name: headers(name)["Content-Type"] for name in TYPES} == TYPES
