"""Bodies that are to cost as much as they can."""

from collections.abc import Iterator
from typing import Any

from .models import TEXT
from .request import BODY, Request, marks, post, raw, repeat, to_json


def _bodies() -> Iterator[tuple[tuple[str, str], Any]]:
    """Yield paths and what is posted to them, nearly BODY bytes each."""
    names = [f"k{number}" for number in range(BODY // 10)]
    todo: dict[str, Any] = {"title": "x"}
    yield ("todos", "1000 rows"), [{**todo, "desc": "y" * 60} for _ in range(1000)]
    yield ("todos", "1000 rows, one bad"), [{**todo, "desc": "y" * 60}] * 999 + [{"title": ""}]
    yield ("todos", "7000 rows"), [todo] * 7000
    yield ("todos", "1000 bad rows"), [{f"k{n}": 0 for n in range(7)}] * 1000
    yield ("todos", "50,000 items"), [0] * 49_000
    yield ("todos", "unknown names"), dict.fromkeys(names, 0)
    yield ("todos", "empty objects"), [{}] * 33_000
    yield ("documents", "300 rows"), [_new_document() for _ in range(300)]
    yield ("documents", "300 short rows"), [todo] * 300
    yield ("documents", "references"), [{**todo, "folderId": n} for n in range(300)]
    yield ("documents", "wrong references"), [{**todo, "folderId": n + 2} for n in range(300)]
    yield ("documents", "tags"), {**todo, "tags": ["a"] * 4900}
    yield ("documents", "tags of 100 kB"), {**todo, "tags": ["a"] * 19_000}
    yield ("documents", "rows of tags"), [{**todo, "tags": ["a"] * 4900}] * 3
    yield ("documents", "object"), {**todo, "extra": {f"k{n}": n for n in range(1700)}}
    yield ("documents", "parts"), {**todo, "_parts": [{"id": n, "name": "a"} for n in range(800)]}
    yield ("labels", "format"), [{"text": "a" * 175}] * 44
    yield ("users", "20 users"), [_new_user(number) for number in range(20)]
    yield ("users", "a user of 100 kB"), {**_new_user(102), "profile": {"x": "y" * 19_900}}
    yield ("users", "email of marks"), {"email": marks(64) + "@example.com", "password": "x" * 9}
    yield ("users", "email of labels"), {"email": "a@" + "\u00e9." * 125, "password": "x" * 9}
    yield ("users", "email, quoted"), {"email": '"' + "\\" * 60 + '"@a.de', "password": "x" * 9}
    yield ("users", "email, xn--"), {"email": "a@" + "xn--a-ecp.ru." * 18, "password": "x" * 9}
    yield ("users", "email of 100 kB"), {"email": "a@" + "\u0301" * 16_000, "password": "x" * 9}
    yield ("users", "username that grows"), {**_new_user(100), "username": "\ufdfa" * 255}
    yield ("users", "username of marks"), {**_new_user(101), "username": marks(255)}
    yield ("users", "password of 100 kB"), {"email": "a@b.de", "password": "x" * 99_000}
    yield ("users", "password of marks"), {"email": "a@b.de", "password": marks(16_000)}
    yield ("users/login", "names of 100 kB"), {"username": marks(16_000), "password": "x"}
    yield ("users/login", "username that grows"), {"username": "\ufdfa" * 255, "password": "x"}
    yield ("users/login", "email of 100 kB"), {"email": "@" * 99_000, "password": "x"}
    yield ("users/login", "email of dots"), {"email": "." * 250 + "@a", "password": "x"}
    yield (
        ("users/login", "password of 100 kB"),
        {"email": "ada@example.com", "password": "x" * 99_000},
    )
    yield ("users/login", "unknown names"), {**dict.fromkeys(names, 0), "username": "ada"}
    yield ("users/reset", "email of labels"), {"email": "a@" + "\u00e9." * 125}
    yield ("users/logout", "sid of 100 kB"), {"sid": "x" * 99_000}
    yield ("users/change-password", "100 kB"), {"oldPassword": "x" * 9, "newPassword": "y" * 99_000}


def _changes() -> dict[str, tuple[str, Any]]:
    """Return changes of many rows, which do not fit what they find."""
    where = to_json({"desc": {"nin": [f"{n:09}" for n in range(1000)]}})
    return {
        "update of 1000 rows": ("todos/update?where={}", {"desc": "z" * TEXT}),
        "update where nothing": ("todos/update?where=" + where, {"title": "z"}),
        "update of documents": ("documents/update?where={}", {"tags": ["a"] * 4900}),
        "upsert with where": (
            "todos/upsertWithWhere?where=" + to_json({"title": "q"}),
            {"title": "q"},
        ),
        "replace or create": ("documents/replaceOrCreate", _new_document()),
    }


def _new_document() -> dict[str, Any]:
    return {
        "title": "x",
        "price": "1.5",
        "boughtAt": "2026-01-02T03:04:05+01:00",
        "extra": {"a": 1},
        "tags": ["a"],
        "place": "10,10",
        "_parts": [{"name": "a"}],
    }


def _new_user(number: int) -> dict[str, Any]:
    tags = ["a"] * 500
    return {
        "email": f"n{number}-{{round}}@example.com",
        "password": "a quiet harbour",
        "tags": tags,
    }


def _raw_bodies() -> dict[str, bytes]:
    return {
        "brackets": b"[" * BODY,
        "objects, nested": b'{"a":' * (BODY // 5),
        "31 levels": repeat("[" * 31 + "]" * 31 + ",", "[", "0]"),
        "one name": repeat('"title":"x",', "{", '"title":"x"}'),
        "names": b"{" + b",".join(b'"%d":0' % n for n in range(9500)) + b"}",
        "exponents": repeat("1e400,", "[", "0]"),
        "digits": repeat("9" * 4300 + ",", "[", "0]"),
        "digits as title": b'{"title": ' + b"9" * 4300 + b"}",
        "one number": b"9" * BODY,
        "decimals": b'{"title": 0.' + b"9" * 90_000 + b"}",
        "escapes": b'{"title": "' + rb"\u0061" * 16_000 + b'"}',
        "surrogates": b'{"title": "' + rb"\ud83d\ude00" * 8000 + b'"}',
        "no JSON": b'"' + b"a" * (BODY - 10),
        "spaces": b" " * (BODY - 3) + b"{}",
        "line breaks": b"\n" * (BODY - 3) + b"{",
        "empty texts": repeat('"",', "[", '""]'),
        "no UTF-8": b"\xff" * BODY,
    }


def _forms() -> dict[str, bytes]:
    return {
        "fields": repeat("a=1&"),
        "empty fields": b"&" * BODY,
        "1000 fields": "&".join(f"k{n}={'x' * 90}" for n in range(999)).encode(),
        "percent": b"title=" + b"%25" * 33_000,
        "brackets": repeat("a[b][c]=1&"),
    }


def requests() -> Iterator[Request]:
    """Yield the requests."""
    for (path, name), body in _bodies():
        yield post(f"POST {path}: {name}", path, body)
    for name, (path, body) in _changes().items():
        yield post(name, path, body)
    for name, text in _raw_bodies().items():
        yield raw(f"body: {name}", "application/json", text)
    for name, text in _forms().items():
        yield raw(f"form: {name}", "application/x-www-form-urlencoded", text)
    yield raw("multipart", "multipart/form-data; boundary=x", repeat("--x\r\n\r\n\r\n"))
