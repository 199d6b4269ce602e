"""Paths and header fields that are to cost as much as they can."""

import base64
import string
from collections.abc import Iterator
from urllib.parse import quote

from .request import CALLER, TARGET, Request, get

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
        "Forwarded": {"Forwarded": ",".join(["for=1.1.1.1;proto=http"] * 340)},
        "Origin": {"Origin": "https://" + "a." * 3900},
        "Authorization, Basic of colons": {"Authorization": "Basic " + "Ojo6" * 1970},
        "Content-Type": {"Content-Type": "application/json" + "; a=b" * 1500},
        "Content-Type, quoted": {"Content-Type": 'application/json; a="' + '\\"' * 3900},
        "Content-Type, continued": {
            "Content-Type": "application/json" + "".join(f"; a*{n}=b" for n in range(900))
        },
        "100 fields": {
            f"X-{name}{n}": "a" * 400 for n in range(3) for name in string.ascii_letters[:30]
        },
    }


def _preflights() -> dict[str, dict[str, str]]:
    origin = "https://app49.example.com"
    method = {"Access-Control-Request-Method": "POST"}
    names = ",".join(["authorization"] * 560)
    return {
        "names": {"Origin": origin, **method, "Access-Control-Request-Headers": names},
        "commas": {"Origin": origin, **method, "Access-Control-Request-Headers": "," * 7900},
        "long origin": {"Origin": "https://" + "a." * 3900, **method},
        "long method": {"Origin": origin, "Access-Control-Request-Method": "A" * 7900},
        "origins": {"Origin": ",".join([origin] * 300), **method},
    }


def requests() -> Iterator[Request]:
    """Yield the requests."""
    for name, path in PATHS.items():
        yield get(f"path: {name}", path[:TARGET])
    for name, headers in _headers().items():
        yield Request(f"headers: {name}", "GET", "/api/todos/1", headers={**CALLER, **headers})
    for name, headers in _preflights().items():
        yield Request(f"preflight: {name}", "OPTIONS", "/api/todos/1", headers=headers)
