"""The options of a call: the layers of settings merged, and what they mean."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .retry import RetryPolicy

_MEGABYTE = 1024 * 1024
_MERGED = ("headers", "query", "retry")


@dataclass(frozen=True, slots=True)
class Timeouts:
    """The time-outs of a call in seconds; `total` bounds it with its retries and redirects."""

    connect: float = 5.0
    read: float = 30.0
    total: float = 60.0


@dataclass(frozen=True, slots=True)
class Options:
    """What an operation's merged settings mean for sending its request."""

    timeouts: Timeouts = field(default_factory=Timeouts)
    retry: RetryPolicy = field(default_factory=RetryPolicy)
    verify: bool | str = True
    certificate: str | tuple[str, str] | None = None
    proxies: dict[str, str] = field(default_factory=dict)
    follow_redirects: bool = True
    follow_all_redirects: bool = False
    max_redirects: int = 10
    max_bytes: int = 10 * _MEGABYTE
    expects_json: bool = True
    repeat_lists: bool = False


def merge(*layers: Mapping[str, Any]) -> dict[str, Any]:
    """Merge layers of settings, the later wins; headers, query and retry merge by entry."""
    merged: dict[str, Any] = {}
    for layer in layers:
        for key, value in _renamed(layer).items():
            if key in _MERGED:
                value = _merge_entries(merged.get(key, {}), value, ignore_case=key == "headers")
            merged[key] = value
    return merged


def _renamed(layer: Mapping[str, Any]) -> dict[str, Any]:
    old = {"qs": "query", "clientCert": "cert", "clientKey": "key"}
    return {old.get(key, key): value for key, value in layer.items()}


def _merge_entries(
    lower: Mapping[str, Any], upper: Mapping[str, Any], *, ignore_case: bool
) -> dict[str, Any]:
    replaced = {key.lower() for key in upper} if ignore_case else set(upper)
    kept = {k: v for k, v in lower.items() if (k.lower() if ignore_case else k) not in replaced}
    return {**kept, **upper}


def read_options(merged: Mapping[str, Any]) -> Options:
    """Give merged settings their meaning."""
    strict = merged.get("strictSSL", True)
    proxy = merged.get("proxy")
    return Options(
        timeouts=_timeouts(merged.get("timeout", {})),
        retry=RetryPolicy.from_settings(merged.get("retry", {})),
        verify=merged.get("ca", True) if strict else False,
        certificate=_certificate(merged.get("cert"), merged.get("key")),
        proxies={"http": proxy, "https": proxy} if proxy else {},
        follow_redirects=merged.get("followRedirect", True),
        follow_all_redirects=merged.get("followAllRedirects", False),
        max_redirects=merged.get("maxRedirects", 10),
        max_bytes=merged.get("maxResponseBytes", 10 * _MEGABYTE),
        expects_json=merged.get("json", True),
        repeat_lists=merged.get("useQuerystring", False),
    )


def _timeouts(settings: Mapping[str, int]) -> Timeouts:
    connect = settings.get("connect", 5000) / 1000
    read = settings.get("read", 30000) / 1000
    total = settings["total"] / 1000 if "total" in settings else max(60.0, 2 * read)
    return Timeouts(connect, read, total)


def _certificate(cert: str | None, key: str | None) -> str | tuple[str, str] | None:
    return (cert, key) if cert and key else cert
