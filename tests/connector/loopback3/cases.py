"""The cases, their recordings, and the form in which two outcomes of a call are compared."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote

from .differences import NEED_COMPATIBILITY
from .remote import Remote

FOLDER = Path(__file__).parent
RECORDED: dict[str, Any] = json.loads((FOLDER / "recorded.json").read_text())
# Headers that say how, and not what, is sent.
OMITTED = {
    "connection",
    "content-length",
    "date",
    "host",
    "keep-alive",
    "server",
    "transfer-encoding",
}
# What is sent where the settings say nothing; LoopBack sends none of them unasked.
DEFAULTS = {"accept": "*/*", "accept-encoding": "gzip, deflate", "user-agent": "ostiary"}

Outcome = dict[str, Any]


@dataclass(frozen=True)
class Call:
    """One call of a case: its place in the case, what is called, and LoopBack's outcome."""

    id: str
    function: str
    given: Mapping[str, Any]
    recorded: Outcome


@dataclass(frozen=True)
class Case:
    """The settings of one data source, the calls made with it, and the remote's answers.

    A probe has what applications rarely write, to show a known difference.
    """

    name: str
    is_probe: bool
    settings: dict[str, Any]
    models: Mapping[str, Any]
    hooks: list[dict[str, Any]]
    answers: Mapping[str, Any]
    calls: list[Call]
    loads: bool

    @property
    def loopback_settings(self) -> dict[str, Any]:
        """The settings, with that of compatibility if the case needs it."""
        if self.name not in NEED_COMPATIBILITY:
            return self.settings
        return {**self.settings, "compatibility": "loopback3"}


def read_cases(remote: Remote) -> dict[str, Case]:
    """Return the cases with the remote's address in them."""
    cases: dict[str, Case] = {}
    for path in sorted([*FOLDER.glob("cases/*.json"), *FOLDER.glob("probes/*.json")]):
        is_probe = path.parent.name == "probes"
        for name, entry in json.loads(remote.with_address(path.read_text())).items():
            cases[name] = _case(name, is_probe, entry, remote)
    return cases


def _case(name: str, is_probe: bool, entry: Mapping[str, Any], remote: Remote) -> Case:
    recorded = json.loads(remote.with_address(json.dumps(RECORDED[name])))
    calls = _calls(name, entry["calls"], recorded.get("calls", []))
    return Case(
        name,
        is_probe,
        entry["settings"],
        entry.get("models", {}),
        entry.get("hooks", []),
        entry.get("answers", {}),
        list(calls),
        recorded["loads"],
    )


def _calls(case: str, given: list[Any], recorded: list[Any]) -> Iterator[Call]:
    counts: dict[str, int] = {}
    for index, call in enumerate(given):
        method = call.get("function") or call.get("method") or "invoke"
        steps = [method, *(step["method"] for step in call.get("then", []))]
        name = ".".join([call["model"], *steps] if "model" in call else steps)
        counts[name] = counts.get(name, 0) + 1
        number = f" {counts[name]}" if counts[name] > 1 else ""
        outcome = recorded[index] if recorded else {}
        yield Call(f"{case}: {name}{number}", f"{case}: {name}", call, comparable(outcome))


def comparable(outcome: Outcome) -> Outcome:
    """Return an outcome without what two implementations may do differently."""
    compared = dict(outcome)
    compared["sent"] = [_comparable_request(request) for request in outcome.get("sent", [])]
    if outcome.get("error", {}).get("kind") == "transport":
        compared["error"] = {"kind": "transport"}
    return json.loads(json.dumps(compared))


def _comparable_request(request: Mapping[str, Any]) -> dict[str, Any]:
    kept = kept_headers(request["headers"])
    headers = {name: value for name, value in kept.items() if DEFAULTS.get(name) != value}
    return {
        "method": request["method"],
        "path": [unquote(segment) for segment in request["path"].split("/")],
        "query": _entries(request.get("query", "")),
        "headers": headers,
        "body": _comparable_body(request.get("body"), headers.get("content-type", "")),
    }


def _comparable_body(body: str | None, content_type: str) -> Any:
    if body is None:
        return None
    if content_type.startswith("application/json"):
        return _parsed(body)
    if content_type.startswith("application/x-www-form-urlencoded"):
        return _entries(body)
    return body


def _entries(text: str) -> list[tuple[str, str]]:
    """Return the entries of a query or form, those of one name in their order."""
    return sorted(parse_qsl(text, keep_blank_values=True), key=lambda entry: entry[0])


def _parsed(body: str) -> Any:
    try:
        return json.loads(body)
    except ValueError:
        return body


def kept_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """Return the headers that say what is sent, by names in lower case."""
    lowered = {name.lower(): value for name, value in headers.items()}
    return {name: value for name, value in sorted(lowered.items()) if name not in OMITTED}
