"""Requests of at most 100 kB that are to cost as much as they can, and what they are sent to."""

import base64
import json
import random
import string
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from flask import Flask
from sqlalchemy import insert

from app.extensions import Model, app_metadata, db, now
from app.ids import Id
from app.users.models import AccessToken, User

# Bytes of a body, the default of MAX_BODY_BYTES; characters of a path with its query, which fit
# into a request line; bytes of one header field, and of all of them.
BODY, TARGET, FIELD, HEAD = 100_000, 16_000, 8_000, 48_000
# Rows of each table, and characters of their texts and JSON: as many as one response may list, and
# as long as they may be.
ROWS, TEXT, JSON = 1000, 10_000, 20_000

OPEN = [
    {"principalType": "ROLE", "principalId": "$authenticated", "permission": "ALLOW"},
]
# Models in JSON, with every kind of property and relation that a filter or body can be about.
DOCUMENT = {
    "name": "Document",
    "properties": {
        "title": {"type": "string", "required": True, "length": 255},
        "text": "string",
        "rating": "number",
        "price": {"type": "decimal", "precision": 18, "scale": 4},
        "boughtAt": "date",
        "code": "uuid",
        "extra": "object",
        "tags": ["string"],
        "place": "geopoint",
    },
    "relations": {
        "parts": {"type": "embedsMany", "model": "Part", "property": "_parts"},
        "folder": {"type": "belongsTo", "model": "Folder", "foreignKey": "folderId"},
    },
    "acls": OPEN,
}
PART = {"name": "Part", "properties": {"name": "string", "size": "number"}, "acls": OPEN}
FOLDER = {
    "name": "Folder",
    "properties": {"name": "string"},
    "relations": {"documents": {"type": "hasMany", "model": "Document", "foreignKey": "folderId"}},
    "acls": OPEN,
}
# Its format takes long to match: 200 x 175 ways.
LABEL = {
    "name": "Label",
    "properties": {
        "text": {"type": "string", "length": 175, "validates": {"format": "[a-z]{1,200}!"}}
    },
    "acls": OPEN,
}
MODELS = {"document": DOCUMENT, "part": PART, "folder": FOLDER, "label": LABEL}
USER_PROPERTIES = {
    "profile": {"type": "object"},
    "tags": {"type": ["string"]},
    "nickname": {"type": "string"},
}


@dataclass(frozen=True)
class Request:
    """One request; `{token}` in a header is the caller's token, `{round}` in a body differs."""

    name: str
    method: str
    path: str
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)


def fill(app: Flask, token: str, rows: int) -> None:
    """Store a user with this token, and so many rows of each model that belong to the user."""
    chance = random.Random(0)

    def text(length: int) -> str:
        return "".join(chance.choices("ab ", k=length))

    with app.app_context():
        user = User(email="ada@example.com", password_hash="!", username="ada")
        db.session.add(user)
        db.session.flush()
        db.session.add(AccessToken.issue(token, user.id, 86_400, None))
        db.session.commit()
        db.session.execute(insert(Model.metadata.tables["todos"]), _todos(text, user.id, rows))
        tables = app_metadata(app).tables
        db.session.execute(insert(tables["folder"]), [{"id": 1, "name": "one"}])
        db.session.execute(insert(tables["document"]), _documents(text, rows))
        db.session.commit()


def _todos(text: Callable[[int], str], owner: Id, rows: int) -> list[dict[str, Any]]:
    return [
        {"title": text(255), "desc": text(TEXT), "created": now(), "owner_id": owner}
        | {"is_complete": False}
        for _ in range(rows)
    ]


def _documents(text: Callable[[int], str], rows: int) -> list[dict[str, Any]]:
    """Return rows whose JSON is as long as it may be, with many values."""
    names = [f"n{number}" for number in range(JSON // 12)]
    extra = {"deep": {"deep": {"deep": {"city": "a"}}}, **dict.fromkeys(names, 1)}
    return [
        {
            "title": text(100),
            "text": text(TEXT),
            "rating": number / 7,
            # Different in each row, because SQLite keeps the last JSON that it has parsed.
            "extra": {"row": number, **extra},
            "tags": [text(1) for _ in range(JSON // 6)],
            "parts": [{"id": each, "name": text(3)} for each in range(JSON // 27)],
            "place": {"lat": number % 90, "lng": number % 180},
            "folder_id": 1,
        }
        for number in range(rows)
    ]


def requests() -> Iterator[Request]:
    """Yield the requests."""
    filters = {"todos": {**TODO_FILTERS, **_wide_filters()}, "documents": DOCUMENT_FILTERS}
    for model, chosen in filters.items():
        for name, filter_ in chosen.items():
            yield _get(f"{model}: {name}", f"/api/{model}?filter={_json(filter_)}")
    for name, path in PATHS.items():
        yield _get(f"path: {name}", path[:TARGET])
    for name, headers in _headers().items():
        yield Request(f"headers: {name}", "GET", "/api/todos/1", headers={**CALLER, **headers})
    yield from _with_bodies()


def _with_bodies() -> Iterator[Request]:
    for (path, name), body in _bodies():
        yield _post(f"POST {path}: {name}", path, body)
    for name, (path, body) in _changes().items():
        yield _post(name, path, body)
    for name, text in _raw_bodies().items():
        yield _raw(f"body: {name}", "application/json", text)
    for name, text in _forms().items():
        yield _raw(f"form: {name}", "application/x-www-form-urlencoded", text)
    yield _raw("multipart", "multipart/form-data; boundary=x", _repeat("--x\r\n\r\n\r\n"))


def _nested(levels: int, inner: Any) -> Any:
    for _ in range(levels):
        inner = {"and": [inner]}
    return inner


CALLER = {"Authorization": "{token}"}
LONG = "a b" * 33
TODO_FILTERS: dict[str, Any] = {
    "whole page": {"limit": 180},
    "whole page, all by text": {},
    "page of short rows": {"fields": ["id", "title"]},
    "skip to the last": {"skip": 999},
    "order of a long text": {"order": ["desc", "title"], "limit": 1},
    "order of 20": {"order": ["title", "desc", "created", "isComplete"] * 5, "limit": 1},
    "inq of 1000 ids": {"where": {"id": {"inq": list(range(1000))}}, "fields": ["id"]},
    "inq of 1000 texts": {"where": {"title": {"inq": [f"{n:09}" for n in range(1000)]}}},
    "nin of 1000 texts": {"where": {"desc": {"nin": [f"{n:09}" for n in range(1000)]}}, "limit": 1},
    "like, 5 literal": {"where": {"and": [{"desc": {"like": f"%{LONG}%"}}] * 5}},
    "nlike, 5 literal": {"where": {"and": [{"desc": {"nlike": f"%{LONG}x%"}}] * 5}, "limit": 1},
    "like of 20 searched": {"where": {"desc": {"like": "%" + "a_" * 5 + "b%" + "_" * 7 + "c"}}},
    "like of % and _": {"where": {"desc": {"like": "%a%b%a%b%a%b%a%b%c"}}},
    "like of a late end": {"where": {"desc": {"like": "%" + "_" * 18 + "c"}}},
    "ilike, 5 literal": {"where": {"and": [{"desc": {"ilike": f"%{LONG}x%"}}] * 5}},
    "ilike of 20 searched": {"where": {"desc": {"ilike": "%a_a_a_a_a_a_a_a_a_c"}}},
    "regexp, 5 classes": {"where": {"and": [{"desc": {"regexp": "[ab][ab]c"}}] * 5}},
    "regexp of wilds": {"where": {"desc": {"regexp": "a.*b.*a.*b.*a.*b.*c"}}},
    "regexp, any case, or": {"where": {"or": [{"desc": {"regexp": "/[a-c]bc/i"}}] * 5}},
    "like, 5 or": {"where": {"or": [{"desc": {"like": "%a c%"}}] * 5}},
    "regexp, alternatives": {"where": {"desc": {"regexp": "|".join(["abc"] * 5)}}},
    "regexp, any case": {"where": {"and": [{"desc": {"regexp": "/[a-z]bc/i"}}] * 5}},
    "include of owners": {"include": "owner", "fields": ["id", "title", "ownerId"]},
    "or of 249": {"where": {"or": [{"desc": f"x{n}"} for n in range(249)]}, "limit": 1},
    "or of 124 times": {"where": {"or": [{"created": {"gt": f"3{n:03}"}} for n in range(124)]}},
    "and of 124 neq": {"where": {"and": [{"desc": {"neq": f"x{n}"}} for n in range(124)]}},
    "brackets of 11": {"where": _nested(5, {"title": "a"})},
}
IN_PATH = "extra.deep.deep.deep.city"
DOCUMENT_FILTERS: dict[str, Any] = {
    "whole page": {},
    "page without JSON": {"fields": ["id", "title"]},
    "a path": {"where": {IN_PATH: "b"}},
    "20 paths": {"where": {"or": [{IN_PATH: f"b{n}"} for n in range(20)]}},
    "20 other paths": {"where": {"or": [{f"extra.n{n}": 2} for n in range(20)]}},
    "20 last names": {"where": {"or": [{f"extra.n{JSON // 12 - n}": 2} for n in range(1, 21)]}},
    "20 missing names": {"where": {"or": [{f"extra.m{n}.x.y.z.w": 2} for n in range(1, 21)]}},
    "20 paths inq": {"where": {IN_PATH: {"inq": [f"b{n}" for n in range(20)]}}},
    "a path like": {"where": {IN_PATH: {"like": "%a_c%"}}},
    "2 items": {"where": {"or": [{"tags": f"x{n}"} for n in range(2)]}},
    "inq of 20 items": {"where": {"tags": {"inq": [f"x{n}" for n in range(20)]}}},
    "an item": {"where": {"tags": "x"}},
    "order of 3 paths": {"order": [f"extra.n{n}" for n in range(3)], "fields": ["id"], "limit": 1},
    "near": {"where": {"place": {"near": "10,10"}}, "limit": 10},
    "near within": {"where": {"place": {"near": "10,10", "maxDistance": 1}}, "fields": ["id"]},
    "include of a folder": {"include": "folder", "fields": ["id", "folderId"]},
    "embedded": {"fields": ["id", "_parts"]},
}


def _wide_filters() -> dict[str, Any]:
    """Return filters that are as long as a request line allows."""
    return {
        "unknown properties": {"where": {f"k{n}": 1 for n in range(240)}},
        "one text": {"where": {"title": "x" * 15_000}},
        "one wide text": {"where": {"title": "\u00e9" * 1900}},
        "list of lists": {"where": {"title": {"inq": [[] for _ in range(900)]}}},
        "empty objects": {"where": {"or": [{} for _ in range(240)]}},
        "many fields": {"fields": ["title", "desc"] * 700},
        "many includes": {"include": ["owner"] * 990},
        "a number of 4300 digits": {"where": {"id": int("9" * 4300)}},
        "numbers of 15 digits": {"where": {"id": {"inq": [10**15 + n for n in range(900)]}}},
    }


PATHS = {
    "brackets, 1400 values": "/api/todos?" + "&".join(["filter[where][id][inq][]=1"] * 600),
    "brackets, names": "/api/todos?" + "&".join(f"filter[where][k{n}]=1" for n in range(800)),
    "brackets, deep": "/api/todos?" + "&".join(f"filter{'[a]' * 11}[{n}]=1" for n in range(400)),
    "brackets, closing": "/api/todos?filter" + "[a]" * 5300,
    "brackets, opening": "/api/todos?filter" + "[" * 15_000,
    "parameters": "/api/todos?" + "&".join(f"a{n}=1" for n in range(2600)),
    "percent signs": "/api/todos?filter=" + "%25" * 5300,
    "percent signs that are none": "/api/todos?filter=" + "%" * 15_900,
    "nested JSON": "/api/todos?filter=" + quote("[" * 5300),
    "an id of 16 kB": "/api/todos/" + "9" * 15_900,
    "slashes": "/api" + "/" * 15_900,
    "segments": "/api" + "/a" * 7900,
    "dots": "/api" + "/.." * 5000,
    "a name of 16 kB": "/" + "a" * 15_900,
    "capitals": "/api/TODOS/" + "%C3%89" * 2600,
    "the OpenAPI document": "/api/openapi.json",
    "the explorer": "/explorer",
    "tokens": "/api/todos?" + "&".join(["access_token=" + "x" * 64] * 200),
    "long token": "/api/todos?access_token=" + "x" * 15_900,
    "confirmation": "/api/users/confirm?uid=1&token=x&redirect=" + "/" * 15_800,
    "confirmation, hosts": "/api/users/confirm?uid=1&token=x&redirect=http://" + "a." * 7800,
    "reset page": "/reset-password?access_token=" + "%00" * 5200,
}


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
    yield ("users", "email of marks"), {"email": _marks(64) + "@example.com", "password": "x" * 9}
    yield ("users", "email of labels"), {"email": "a@" + "\u00e9." * 125, "password": "x" * 9}
    yield ("users", "email, quoted"), {"email": '"' + "\\" * 60 + '"@a.de', "password": "x" * 9}
    yield ("users", "email, xn--"), {"email": "a@" + "xn--a-ecp.ru." * 18, "password": "x" * 9}
    yield ("users", "email of 100 kB"), {"email": "a@" + "\u0301" * 16_000, "password": "x" * 9}
    yield ("users", "username that grows"), {**_new_user(100), "username": "\ufdfa" * 255}
    yield ("users", "username of marks"), {**_new_user(101), "username": _marks(255)}
    yield ("users", "password of 100 kB"), {"email": "a@b.de", "password": "x" * 99_000}
    yield ("users", "password of marks"), {"email": "a@b.de", "password": _marks(16_000)}
    yield ("users/login", "names of 100 kB"), {"username": _marks(16_000), "password": "x"}
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
    where = _json({"desc": {"nin": [f"{n:09}" for n in range(1000)]}})
    return {
        "update of 1000 rows": ("todos/update?where={}", {"desc": "z" * TEXT}),
        "update where nothing": ("todos/update?where=" + where, {"title": "z"}),
        "update of documents": ("documents/update?where={}", {"tags": ["a"] * 4900}),
        "upsert with where": (
            "todos/upsertWithWhere?where=" + _json({"title": "q"}),
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


def _marks(length: int) -> str:
    """Return a letter with combining marks in the order that takes longest to normalize."""
    return "a" + "".join(chr(0x300 + number % 2 * 0x16) for number in range(length - 1))


def _raw_bodies() -> dict[str, bytes]:
    return {
        "brackets": b"[" * BODY,
        "objects, nested": b'{"a":' * (BODY // 5),
        "31 levels": _repeat("[" * 31 + "]" * 31 + ",", "[", "0]"),
        "one name": _repeat('"title":"x",', "{", '"title":"x"}'),
        "names": b"{" + b",".join(b'"%d":0' % n for n in range(9500)) + b"}",
        "exponents": _repeat("1e400,", "[", "0]"),
        "digits": _repeat("9" * 4300 + ",", "[", "0]"),
        "digits as title": b'{"title": ' + b"9" * 4300 + b"}",
        "one number": b"9" * BODY,
        "decimals": b'{"title": 0.' + b"9" * 90_000 + b"}",
        "escapes": b'{"title": "' + rb"\u0061" * 16_000 + b'"}',
        "surrogates": b'{"title": "' + rb"\ud83d\ude00" * 8000 + b'"}',
        "no JSON": b'"' + b"a" * (BODY - 10),
        "spaces": b" " * (BODY - 3) + b"{}",
        "line breaks": b"\n" * (BODY - 3) + b"{",
        "empty texts": _repeat('"",', "[", '""]'),
        "no UTF-8": b"\xff" * BODY,
    }


def _forms() -> dict[str, bytes]:
    return {
        "fields": _repeat("a=1&"),
        "empty fields": b"&" * BODY,
        "1000 fields": "&".join(f"k{n}={'x' * 90}" for n in range(999)).encode(),
        "percent": b"title=" + b"%25" * 33_000,
        "brackets": _repeat("a[b][c]=1&"),
    }


def _headers() -> dict[str, dict[str, str]]:
    """Return header fields; a name that ends in `*` stands for as many as there may be."""
    basic = base64.b64encode(b":" * 5900).decode()
    return {
        "cookies": {"Cookie": "; ".join(f"a{n}=b" for n in range(900))},
        "cookies, quoted": {"Cookie": 'a="' + "\\" * 7900 + '"'},
        "cookie of octals": {"Cookie": 'a="' + "\\101" * 1900 + '"'},
        "cookies, six": {f"Cookie{'*' * n}": "a=b;" * 1990 for n in range(6)},
        "Basic": {"Authorization": f"Basic {basic}"},
        "Digest": {"Authorization": "Digest " + 'a="b",' * 1300},
        "Bearer": {"Authorization": "Bearer " + "x" * 7900},
        "Accept": {"Accept": ",".join(["a/b;q=0.1"] * 790)},
        "Accept, quoted": {"Accept": 'a/b;a="' + "\\" * 7900},
        "Accept-Language": {"Accept-Language": ",".join(["de-DE;q=0.1"] * 660)},
        "If-None-Match": {"If-None-Match": ",".join(['W/"a"'] * 1300)},
        "If-None-Match, open": {"If-None-Match": '"' * 7999},
        "Range": {"Range": "bytes=" + ",".join(["0-1"] * 1900)},
        "X-Request-Id": {"X-Request-Id": "a" * 8000},
        "User-Agent": {"User-Agent": "\u00e9" * 4000},
        "X-Forwarded-For": {"X-Forwarded-For": ",".join(["1.1.1.1"] * 990)},
        "Host": {"Host": "a." * 3900},
        "Content-Type": {"Content-Type": "application/json" + "; a=b" * 1500},
        "Content-Type, quoted": {"Content-Type": 'application/json; a="' + '\\"' * 3900},
        "Content-Type, continued": {
            "Content-Type": "application/json" + "".join(f"; a*{n}=b" for n in range(900))
        },
        "100 fields": {
            f"X-{name}{n}": "a" * 400 for n in range(3) for name in string.ascii_letters[:30]
        },
    }


def _json(value: Any) -> str:
    return quote(json.dumps(value, separators=(",", ":")), safe='[]{}:,"')


def _repeat(part: str, start: str = "", end: str = "") -> bytes:
    return (start + part * ((BODY - 100) // len(part)) + end).encode()


def _get(name: str, path: str) -> Request:
    return Request(name, "GET", path, headers=CALLER)


def _post(name: str, path: str, body: Any) -> Request:
    text = json.dumps(body, separators=(",", ":")).encode()
    return _raw(name, "application/json", text, f"/api/{path}")


def _raw(name: str, kind: str, body: bytes, path: str = "/api/todos") -> Request:
    return Request(name, "POST", path, body, {**CALLER, "Content-Type": kind})
