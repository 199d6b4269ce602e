"""The options of a call: all defaults, and which layer of settings takes precedence.

The docs' tables are generated from these defaults, which have the names, units and values of the
settings.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from app.connector.types import JsonObject, JsonValue, Settings

_MEGABYTE = 1024 * 1024
# The statuses and methods of calls that are retried, unless the settings name others; the methods
# are the idempotent ones of RFC 9110, section 9.2.2.
_RETRIED_STATUSES = (408, 425, 429, 500, 502, 503, 504)
_RETRIED_METHODS = ("GET", "HEAD", "OPTIONS", "PUT", "DELETE", "TRACE")
#: Maximum bytes of a response of a public data source, which anyone may request, unless
#: `maxResponseBytes` is set.
PUBLIC_MAX_RESPONSE = 2 * _MEGABYTE
#: Maximum values and names in the JSON of a response of a public data source, and of one with the
#: rows of a model at a data source, unless `maxResponseValues` is set.
# Reading and writing them takes up to 0.1 s.
PUBLIC_MAX_VALUES = 200_000
_PUBLIC = {"maxResponseBytes": PUBLIC_MAX_RESPONSE, "maxResponseValues": PUBLIC_MAX_VALUES}
# `param` is the query entry that selects a page, `start` its first value.
PAGINATE_STYLES: dict[str, Settings] = {
    "link": {},
    "next": {},
    "page": {"param": "page", "start": 1},
    "offset": {"param": "offset", "start": 0},
    "cursor": {"param": "cursor"},
}
_MERGED_BY_ENTRY = ("headers", "query", "retry")
# Options that are objects of options.
_GROUPS = ("timeout", "retry", "pool")
_TYPE_HEADERS = ("accept", "content-type")
# JSON with any suffix or parameters, or a type that only a call determines.
_JSON_TYPE = re.compile(r"[^;]*(json|{)[^;]*(;.*)?", re.IGNORECASE)
_TEMPLATE_OPTION_KEYS = ("headers", "query", "timeout", "json")


class Option(NamedTuple):
    """The default of an option, and what the option does."""

    value: JsonValue
    meaning: str


OPTIONS: dict[str, Option] = {
    "baseURL": Option("", "what relative urls start with; needed for resources"),
    "headers": Option(
        {"Accept-Encoding": "gzip, deflate", "User-Agent": "ostiary"},
        "headers of every request; null leaves one out",
    ),
    "query": Option({}, "query entries of every request; `qs` is another name"),
    "auth": Option({}, "credentials: basic, bearer, API key or OAuth 2 client credentials"),
    "timeout": Option({}, "milliseconds to connect and to wait for data, or the object below"),
    "timeout.connect": Option(5_000, "milliseconds to connect"),
    "timeout.read": Option(30_000, "milliseconds to wait for the next part of the response"),
    "timeout.total": Option(
        60_000, "milliseconds for the call with its retries and redirects; at least twice read"
    ),
    "retry": Option({}, "which calls are retried, see below"),
    "retry.maxAttempts": Option(1, "maximum number of attempts; 1 means no retry"),
    "retry.statuses": Option(_RETRIED_STATUSES, "the statuses after which a call is retried"),
    "retry.methods": Option(
        _RETRIED_METHODS,
        "the methods that are retried: the idempotent ones",
    ),
    "retry.maxDelay": Option(10_000, "the maximum delay between two attempts, in milliseconds"),
    "retry.respectRetryAfter": Option(True, "whether Retry-After replaces the computed delay"),
    "strictSSL": Option(True, "whether certificates are verified"),
    "ca": Option(None, "file of the certificate authorities to trust instead of the usual ones"),
    "cert": Option(None, "file of the client certificate; `clientCert` is another name"),
    "key": Option(None, "file of its key; `clientKey` is another name"),
    "proxy": Option(None, "url of the proxy; the environment is not read"),
    "pool": Option({}, "the pool of connections, see below"),
    "pool.maxSockets": Option(20, "connections that are kept for each host"),
    "pool.maxConcurrent": Option(
        None, "maximum concurrent calls of the data source; others wait until their time-out"
    ),
    "followRedirect": Option(True, "whether redirects of GET and HEAD are followed"),
    "followAllRedirects": Option(False, "whether redirects of other methods are followed too"),
    "maxRedirects": Option(10, "maximum number of redirects that one call follows"),
    "useQuerystring": Option(False, "whether a list is `a=1&a=2` rather than `a[0]=1&a[1]=2`"),
    "json": Option(True, "whether JSON is requested and parsed"),
    "allowedHosts": Option((), "patterns of hosts that may be called in addition to those of urls"),
    "maxResponseBytes": Option(10 * _MEGABYTE, "maximum bytes of the decompressed body"),
    "maxResponseValues": Option(
        None, "maximum values and names in JSON, counted by its commas, colons, `[` and `{`"
    ),
}


TEMPLATE: dict[str, Option] = {
    "method": Option("GET", "the HTTP method"),
    "url": Option("", "absolute, or relative to baseURL"),
    "responseSelect": Option("all", "all matches, the first, or according to the response path"),
    "onNoMatch": Option("empty", "the result of a response path without a match"),
    "fullResponse": Option(False, "whether status and headers are returned with the body"),
    "omitMissing": Option(False, "whether entries without a value are omitted from the body"),
}

AUTH: dict[str, Option] = {
    "pass": Option("", "the password beside `user`"),
    "name": Option("X-Api-Key", "the header or query entry that carries `apiKey`"),
    "in": Option("header", "where `apiKey` is sent"),
}

PAGINATE: dict[str, Option] = {
    "limitParam": Option("limit", "the query entry for the size of a page, sent with `limit`"),
    "maxPages": Option(1000, "pages after which iterating ends with an error"),
}


def default_values(table: Mapping[str, Option], prefix: str = "") -> JsonObject:
    """Return the defaults with a prefix such as `retry.`; by default those of the top level."""
    names = {name.removeprefix(prefix): name for name in table if name.startswith(prefix)}
    return {short: table[name].value for short, name in names.items() if "." not in short}


def source_options(loaded: JsonObject) -> JsonObject:
    """Return the options that a data source passes on to its operations."""
    return merge(
        default_values(OPTIONS),
        _PUBLIC if loaded.get("public") else {},
        *source_layers(loaded).values(),
    )


def source_layers(loaded: JsonObject) -> dict[str, JsonObject]:
    """Return the layers of options of a data source by their paths, lowest precedence first."""
    return {
        "defaults": loaded.get("defaults", {}),
        "": loaded,
        "options": loaded.get("options", {}),
    }


def template_defaults(template: Settings) -> JsonObject:
    """Return the defaults of a template's keys; with paging, the result is a list."""
    values = default_values(TEMPLATE)
    return {**values, "responseSelect": "auto"} if "paginate" in template else values


def template_options(template: Settings) -> JsonObject:
    """Return the options that a template sets itself."""
    direct = _json_by_headers(template.get("headers", {}))
    direct.update({key: template[key] for key in _TEMPLATE_OPTION_KEYS if key in template})
    if isinstance(direct.get("query"), str):
        # The query is one variable, whose value is an object.
        del direct["query"]
    return merge(template.get("options", {}), direct)


def _json_by_headers(headers: Settings) -> dict[str, bool]:
    """Return the option `json` as LoopBack 3 derives it from the last header with a type."""
    types = [text for name, text in headers.items() if name.lower() in _TYPE_HEADERS]
    return {"json": _JSON_TYPE.fullmatch(str(types[-1])) is not None} if types else {}


def allowed_hosts(layers: Iterable[Settings]) -> list[str]:
    """Return the host patterns of all layers, which apply to the whole data source."""
    return [host for layer in layers for host in layer.get("allowedHosts", [])]


def token_urls(layers: Iterable[Settings]) -> list[str]:
    """Return the OAuth 2 token endpoints of all layers."""
    auths = [layer.get("auth", {}) for layer in layers]
    return [auth["oauth2"]["tokenUrl"] for auth in auths if "oauth2" in auth]


def merge(*layers: Settings) -> JsonObject:
    """Merge layers of options; later ones win, and headers, query and retry are merged by entry."""
    merged: JsonObject = {}
    for layer in layers:
        for name in layer.keys() & OPTIONS.keys():
            value = layer[name]
            if name in _MERGED_BY_ENTRY:
                fold = str.lower if name == "headers" else str
                replaced = set(map(fold, value))
                kept = {k: v for k, v in merged.get(name, {}).items() if fold(k) not in replaced}
                value = {**kept, **value}
            merged[name] = value
    return merged


def options_in_effect(merged: Settings) -> JsonObject:
    """Return merged options by the names of the table, such as `retry.maxAttempts`."""
    options = {key: value for key, value in merged.items() if key not in _GROUPS}
    for group in _GROUPS:
        entries = {**default_values(OPTIONS, f"{group}."), **merged[group]}
        options.update({f"{group}.{key}": value for key, value in entries.items()})
    if "total" not in merged["timeout"]:
        options["timeout.total"] = max(options["timeout.total"], 2 * options["timeout.read"])
    return {name: options[name] for name in OPTIONS if name in options}


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Which calls are retried, how often, and the maximum delay in seconds."""

    max_attempts: int
    statuses: frozenset[int]
    methods: frozenset[str]
    max_delay: float
    respect_retry_after: bool


@dataclass(frozen=True, slots=True)
class CallOptions:
    """How a request is sent and its response is read; time-outs are in seconds.

    `total_timeout` includes the retries and redirects of a call.
    """

    connect_timeout: float
    read_timeout: float
    total_timeout: float
    retry: RetryPolicy
    verify: bool | str
    certificate: str | tuple[str, str] | None
    proxies: dict[str, str]
    follow_redirects: bool
    follow_all_redirects: bool
    max_redirects: int
    max_bytes: int
    max_values: int | None
    expects_json: bool
    repeat_lists: bool


def read_options(merged: Settings) -> CallOptions:
    """Return the options of a call from merged ones; time-outs are converted to seconds."""
    options = options_in_effect(merged)
    proxy, cert, key = options["proxy"], options["cert"], options["key"]
    return CallOptions(
        connect_timeout=options["timeout.connect"] / 1000,
        read_timeout=options["timeout.read"] / 1000,
        total_timeout=options["timeout.total"] / 1000,
        retry=RetryPolicy(
            max_attempts=options["retry.maxAttempts"],
            statuses=frozenset(options["retry.statuses"]),
            methods=frozenset(word.upper() for word in options["retry.methods"]),
            max_delay=options["retry.maxDelay"] / 1000,
            respect_retry_after=options["retry.respectRetryAfter"],
        ),
        verify=(options["ca"] or True) if options["strictSSL"] else False,
        certificate=(cert, key) if cert and key else cert,
        proxies={"http": proxy, "https": proxy} if proxy else {},
        follow_redirects=options["followRedirect"],
        follow_all_redirects=options["followAllRedirects"],
        max_redirects=options["maxRedirects"],
        max_bytes=options["maxResponseBytes"],
        max_values=options["maxResponseValues"],
        expects_json=options["json"],
        repeat_lists=options["useQuerystring"],
    )
