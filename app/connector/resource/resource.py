"""A model bound to a conventional REST resource: create, find, update, patch, delete."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from app.connector.errors import (
    MissingVariableError,
    NotFoundError,
    NotSupportedError,
    ResponseError,
    VariableError,
)
from app.connector.http.call import Call
from app.connector.http.client import Client
from app.connector.problems import ErrorCollector, type_name
from app.connector.request.builder import RequestBuilder, SourceContext
from app.connector.request.model import Request
from app.connector.request.url import percent_encode
from app.connector.response import Response
from app.connector.settings.options import TEMPLATE, default_values
from app.connector.values import MISSING, to_text

from .filters import FILTER_STYLES, filter_query
from .record import Record


class Resource:
    """A model bound to `/<segment>` of the remote."""

    def __init__(
        self,
        name: str,
        segment: str,
        properties: Mapping[str, Any],
        id_name: str,
        filter_style: str,
        context: SourceContext,
        client: Client,
    ) -> None:
        if filter_style not in FILTER_STYLES:
            raise NotSupportedError(f"filter_style must be one of {', '.join(FILTER_STYLES)}")
        self.name = name
        self.id_name = id_name
        self.path = "/" + percent_encode(segment.strip("/"), safe="/")
        self._dates = [key for key, kind in properties.items() if _is_date(kind)]
        self._style = filter_style
        self._client = client
        errors = ErrorCollector()
        template = {**default_values(TEMPLATE), "url": self.path}
        self._builder = RequestBuilder(template, context, errors, "define")
        errors.raise_any(name)

    def __repr__(self) -> str:
        return f"<Resource {self.name} {self.path}>"

    def create(self, data: Any) -> Any:
        """POST an object, or each of a list; the record has the fields of the response too."""
        if isinstance(data, list):
            return [self.create(item) for item in data]
        return self._save("create", "POST", "", data)

    def find(self, filter: Mapping[str, Any] | None = None, /, **named: Any) -> list[Record]:
        """GET the objects that match a filter: `limit=5, order="email", username="ray"`."""
        query = filter_query(self._style, filter or {}, named)
        body = self._send("find", "GET", "", query=query)
        if not isinstance(body, list):
            raise ResponseError(f"{self.name}.find: the response is not a list")
        return [self._record(item) for item in body]

    def find_one(self, filter: Mapping[str, Any] | None = None, /, **named: Any) -> Record | None:
        """GET the first object that matches a filter, or None."""
        found = self.find(filter, **{**named, "limit": 1})
        return found[0] if found else None

    def find_by_id(self, identifier: Any) -> Record:
        """GET one object; NotFoundError if it does not exist."""
        return self._record(self._send("find_by_id", "GET", self._segment(identifier)))

    findById = find_by_id  # noqa: N815 - the spelling of the interface

    def exists(self, identifier: Any) -> bool:
        """Tell whether GET finds the object."""
        try:
            self._send("exists", "GET", self._segment(identifier))
        except NotFoundError:
            return False
        return True

    def update(self, data: Any) -> Record:
        """PUT the whole object, which must have an id."""
        return self._save("update", "PUT", self._segment(_fields(data).get(self.id_name)), data)

    def patch(self, identifier: Any, changes: Any) -> Record:
        """PATCH some fields of an object."""
        return self._save("patch", "PATCH", self._segment(identifier), changes)

    def delete(self, identifier: Any) -> None:
        """DELETE one object."""
        self._send("delete", "DELETE", self._segment(identifier))

    def destroy_all(self, where: Mapping[str, Any] | None = None, *, confirm: bool = False) -> None:
        """DELETE the whole collection; it needs `confirm=True` and cannot take a condition."""
        if where is not None:
            raise NotSupportedError(
                f"{self.name}.destroy_all cannot take a condition; write a template operation"
            )
        if confirm is not True:
            raise NotSupportedError(
                f"{self.name}.destroy_all deletes everything; pass confirm=True to confirm it"
            )
        self._send("destroy_all", "DELETE", "")

    def count(self, *_args: Any, **_named: Any) -> int:
        """Raise NotSupportedError: there is no conventional request for a count."""
        raise NotSupportedError(f"{self.name}.count is not supported; write a template operation")

    def update_all(self, *_args: Any, **_named: Any) -> None:
        """Raise NotSupportedError: there is no conventional request for a bulk update."""
        raise NotSupportedError(
            f"{self.name}.update_all is not supported; write a template operation"
        )

    def _segment(self, identifier: Any) -> str:
        if isinstance(identifier, Mapping | Record):
            raise VariableError(f"{self.name}: an id is needed, not an object")
        text = to_text(identifier, f"{self.name}.{self.id_name}")
        if not text:
            raise MissingVariableError(f"{self.name}: {self.id_name} has no value")
        if text in (".", ".."):
            raise VariableError(f"'{text}' cannot be used as a path segment")
        return "/" + percent_encode(text)

    def _save(self, action: str, method: str, segment: str, data: Any) -> Record:
        values = _fields(data)
        body = self._send(action, method, segment, body=values)
        return self._record({**values, **(body if isinstance(body, dict) else {})})

    def _send(
        self, action: str, method: str, segment: str, *, query: Any = None, body: Any = MISSING
    ) -> Any:
        request: Request = self._builder.build({})
        request.method = method
        request.url += segment
        request.query.update(query or {})
        request.body = body
        call = Call(f"{self.name}.{action}", request, self._builder.options, _body)
        self._client.execute(call)
        return call.result

    def _record(self, values: Any) -> Record:
        if not isinstance(values, dict):
            raise ResponseError(f"{self.name}: the response is not an object")
        dates = {key: _as_date(values[key]) for key in self._dates if key in values}
        return Record(self, {**values, **dates})


def _body(response: Response) -> Any:
    return response.body


def _fields(data: Any) -> dict[str, Any]:
    if isinstance(data, Record):
        return data.to_dict()
    if not isinstance(data, Mapping):
        raise VariableError(f"the data must be an object, got {type_name(data)}")
    return dict(data)


def _is_date(kind: Any) -> bool:
    name = kind.get("type") if isinstance(kind, Mapping) else kind
    return str(name).lower() == "date"


def _as_date(value: Any) -> Any:
    try:
        return datetime.fromisoformat(value)
    except (TypeError, ValueError):
        return value
