"""Make the calls of a case with `app.connector`."""

import json
import re
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from app.connector import (
    ConnectorError,
    DataSource,
    HTTPStatusError,
    NotSupportedError,
    Record,
    Response,
    TransportError,
    VariableError,
)

from .cases import Call, Case, Outcome, comparable, kept_headers
from .remote import Remote


def replay(case: Case, remote: Remote, settings: Mapping[str, Any]) -> list[Outcome]:
    """Return the outcome of each call of a case; ConfigError if its settings are refused."""
    remote.answers = case.answers
    observed: list[Any] = []
    with DataSource.from_config(settings, name=case.name) as source:
        models = {name: _define(source, name, entry) for name, entry in case.models.items()}
        for hook in case.hooks:
            source.observe(hook["event"], observe(hook, observed))
        return [_outcome(source, models, call, remote, observed) for call in case.calls]


def _define(source: DataSource, name: str, entry: Mapping[str, Any]) -> Any:
    options = entry["options"]
    segment = options.get("resourceName", options.get("plural"))
    return source.define(name, entry["properties"], resource_name=segment)


def observe(hook: Mapping[str, Any], observed: list[Any]) -> Callable[[Any], None]:
    """Return the hook that a case describes; it adds what it reads to `observed`."""

    def record_and_change(context: Any) -> None:
        for name in hook.get("read", []):
            observed.append([name, plain(_value_at(context, name.split(".")))])
        for name, value in hook.get("set", {}).items():
            *path, last = name.split(".")
            _assign(_value_at(context, path), last, value)
        if "end" in hook:
            context.end(hook["end"])

    return record_and_change


def _value_at(value: Any, path: list[str]) -> Any:
    for name in path:
        value = value[name] if isinstance(value, Mapping) else getattr(value, name)
    return value


def _assign(target: Any, name: str, value: Any) -> None:
    if isinstance(target, Mapping):
        target[name] = value  # type: ignore[index]
    else:
        setattr(target, name, value)


def _outcome(
    source: DataSource, models: Mapping[str, Any], call: Call, remote: Remote, observed: list[Any]
) -> Outcome:
    remote.sent.clear()
    observed.clear()
    target = models[call.given["model"]] if "model" in call.given else source
    try:
        for step in [call.given, *call.given.get("then", [])]:
            target = found = _perform(target, step)
    except Exception as error:
        found = {"error": describe_error(error)}
    else:
        if not call.given.get("callback"):
            found = {"returned": plain(target)}
    if observed:
        found["observed"] = list(observed)
    return comparable({"sent": list(remote.sent), **found})


def _perform(target: Any, step: Mapping[str, Any]) -> Any:
    method = _method(target, step.get("function") or step.get("method") or "invoke")
    args = [step["invoke"]] if "invoke" in step else step.get("arguments", [])
    if not step.get("callback"):
        return method(*args, **step.get("keywords", {}))
    outcomes: list[Outcome] = []
    method(*args, lambda *given: outcomes.append(_callback_outcome(*given)))
    return outcomes[0]


def _method(target: Any, name: str) -> Any:
    snake_case = re.sub(r"[A-Z]", lambda found: f"_{found[0].lower()}", name)
    return getattr(target, name, None) or getattr(target, snake_case)


def _callback_outcome(error: Exception | None, body: Any, response: Response | None) -> Outcome:
    found: Outcome = {"error": describe_error(error)} if error else {"returned": plain(body)}
    if response is not None:
        found["callback"] = {"status": response.status_code, "body": plain(response.body)}
    return found


def describe_error(error: Exception) -> dict[str, Any]:
    """Return an error in the form in which record.js writes one."""
    if isinstance(error, HTTPStatusError):
        return {"kind": "status", "status": error.status_code}
    if isinstance(error, TransportError):
        return {"kind": "transport", "code": type(error).__name__}
    if isinstance(error, VariableError):
        return {"kind": "thrown", "message": str(error)}
    if isinstance(error, NotSupportedError):
        return {"kind": "thrown", "message": "Not supported"}
    kind = "failed" if isinstance(error, ConnectorError) else "crash"
    return {"kind": kind, "message": f"{type(error).__name__}: {error}"}


def plain(value: Any) -> Any:
    """Return a result as JSON has it."""
    if isinstance(value, Response):
        headers = kept_headers(value.headers)
        return {"statusCode": value.status_code, "headers": headers, "body": plain(value.body)}
    return json.loads(json.dumps(value, default=_plain_object))


def _plain_object(value: Any) -> Any:
    if isinstance(value, Record):
        return value.to_dict()
    if isinstance(value, datetime):
        return value.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    if isinstance(value, Mapping):
        return dict(value)
    return repr(value)
