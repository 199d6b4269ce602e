"""A client: makes calls, keeps ids and tokens, and returns answers that can be compared."""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import requests

from .script import Call

TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


Answer = dict[str, Any]


@dataclass
class Client:
    """Calls an API with the tokens and ids in `kept`, and adds those of its answers."""

    url: str
    kept: dict[str, Any] = field(default_factory=dict)
    # MySQL's times are whole seconds.
    started: datetime = field(default_factory=lambda: datetime.now(UTC).replace(microsecond=0))

    def run(self, calls: Iterable[Call]) -> list[Answer]:
        """Make the calls, one after the other; return what is compared of the answers."""
        with requests.Session() as session:
            return [self._call(session, call) for call in calls]

    def _call(self, session: requests.Session, call: Call) -> Answer:
        headers = {"Authorization": self.kept.get(f"token of {call.by}", "")} if call.by else {}
        response = session.request(
            call.method,
            self.url + self._filled(call.path),
            headers=headers,
            json=None if call.body is None else self._filled_in(call.body),
            files={"file": (*call.file, "text/plain")} if call.file else None,
            timeout=30,
        )
        body = _body(response)
        if call.keep and response.ok:
            self._keep(call.keep, body[0] if isinstance(body, list) else body)
        said = f"{call.by or 'anyone'}: {call.request}"
        return {"call": said, "status": response.status_code, "body": self.plain(body)}

    def _keep(self, name: str, answer: Mapping[str, Any]) -> None:
        self.kept[name] = answer["id"]

    def _filled(self, text: str) -> str:
        return re.sub(r"\{(\w+)\}", lambda match: str(self.kept.get(match[1], match[0])), text)

    def _filled_in(self, body: Any) -> Any:
        if isinstance(body, dict):
            return {name: self._filled_in(value) for name, value in body.items()}
        if isinstance(body, str) and (name := re.fullmatch(r"\{(\w+)\}", body)):
            return self.kept.get(name[1], body)
        return body

    def plain(self, value: Any, key: str = "") -> Any:
        """Name what differs from run to run: new times, and new ids and tokens."""
        if isinstance(value, dict):
            return {name: self.plain(item, name) for name, item in value.items()}
        if isinstance(value, list):
            return [self.plain(item, key) for item in value]
        if isinstance(value, str) and TIME.fullmatch(value):
            return "now" if datetime.fromisoformat(value) >= self.started else value
        if isinstance(value, str) and key.lower().endswith("id"):
            names = [name for name, kept in self.kept.items() if kept == value]
            return f"{{{names[0]}}}" if names else value
        return value


def _body(response: requests.Response) -> Any:
    if not response.content:
        return None
    if "json" in response.headers.get("Content-Type", ""):
        return json.loads(response.content)
    return response.text
