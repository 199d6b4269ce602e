"""A model bound to a conventional REST resource: create, find, update, patch, delete."""

import copy
from collections.abc import Mapping
from datetime import datetime
from operator import attrgetter
from typing import Protocol, Self

from app.problems import Problems, type_name

from .errors import (
    MissingVariableError,
    NotFoundError,
    NotSupportedError,
    ResponseError,
    VariableError,
    raise_problems,
)
from .filters import FILTER_STYLES, filter_query, wanted_id
from .http.client import Call, HttpClient
from .operation.operation import takes_callback
from .request.request import RequestBuilder, SourceContext
from .request.url import percent_encode
from .settings.options import TEMPLATE, default_values
from .types import JsonObject, JsonValue, Values
from .values import MISSING, to_text


class _Binding(Protocol):
    """The resource of a record, which creates and saves it."""

    name: str
    id_name: str

    def create(self, data: Values, /) -> "Record": ...
    def update(self, data: Values, /) -> "Record": ...
    def update_attributes(self, identifier: object, changes: Values, /) -> "Record": ...
    def delete(self, identifier: object, /) -> JsonValue: ...


class Record:
    """One object of a resource; its fields are attributes and items.

    >>> mary = User.find_by_id(1)
    >>> mary.name
    'Mary'
    >>> mary.name = "Mary Ann"
    >>> mary.save().to_dict()
    {'id': 1, 'name': 'Mary Ann'}
    """

    _resource: _Binding
    _values: JsonObject

    def __init__(self, resource: _Binding, values: Values) -> None:
        self.__dict__["_resource"] = resource
        self.__dict__["_values"] = dict(values)

    def __getattr__(self, name: str) -> JsonValue:
        if name not in self._values:
            raise AttributeError(f"{self._resource.name} has no field '{name}'")
        return self._values[name]

    def __copy__(self) -> "Record":
        return Record(self._resource, self._values)

    def __deepcopy__(self, memo: dict[int, object]) -> "Record":
        return Record(self._resource, copy.deepcopy(self._values, memo))

    def __setattr__(self, name: str, value: object) -> None:
        self._values[name] = value

    def __getitem__(self, name: str) -> JsonValue:
        return self._values[name]

    def __setitem__(self, name: str, value: object) -> None:
        self._values[name] = value

    def __contains__(self, name: str) -> bool:
        return name in self._values

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Record) and self._values == other._values

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<{self._resource.name} {self._id!r}>"

    def to_dict(self) -> JsonObject:
        """Return the fields as a new dict."""
        return dict(self._values)

    @takes_callback
    def save(self) -> Self:
        """PUT the object if it has an id, else POST it, and update it from the response."""
        send = self._resource.create if self._id is None else self._resource.update
        return self._updated(send(self._values))

    @takes_callback
    def update_attributes(self, changes: Values) -> Self:
        """PUT some fields, and update the object with them and from the response."""
        return self._updated(self._resource.update_attributes(self._id, changes))

    @takes_callback
    def destroy(self) -> JsonValue:
        """Delete the object at the remote."""
        return self._resource.delete(self._id)

    # LoopBack 3's names.
    updateAttributes = patchAttributes = update_attributes  # noqa: N815

    @property
    def _id(self) -> JsonValue:
        return self._values.get(self._resource.id_name)

    def _updated(self, saved: "Record") -> Self:
        self._values.update(saved.to_dict())
        return self


class BoundModel:
    """A model bound to `/<segment>` of the remote, made by `define` of a data source.

    >>> User = source.define("users", {"name": "string", "joinedAt": "date"})
    >>> mary = User.create({"name": "Mary"})
    >>> User.find({"where": {"name": "Mary"}, "limit": 5})
    [<users 1>]
    >>> User.find_by_id(1).name
    'Mary'
    """

    def __init__(
        self,
        name: str,
        segment: str,
        properties: Values,
        id_name: str,
        filter_style: str,
        context: SourceContext,
        client: HttpClient,
    ) -> None:
        if filter_style not in FILTER_STYLES:
            raise NotSupportedError(f"filter_style must be one of {', '.join(FILTER_STYLES)}")
        self.name = name
        self.id_name = id_name
        self.path = "/" + percent_encode(segment.strip("/"), safe="/")
        self._dates = [key for key, kind in properties.items() if _is_date(kind)]
        self._declares_id = id_name in properties
        self._style = filter_style
        self._client = client
        problems = Problems()
        template = {**default_values(TEMPLATE), "url": self.path}
        self._builder = RequestBuilder(template, context, problems, "define")
        raise_problems(problems, name)

    def __repr__(self) -> str:
        return f"<BoundModel {self.name} {self.path}>"

    @takes_callback
    def create(self, data: object) -> JsonValue:
        """POST an object, or each of a list; the record has the fields of the response too."""
        if isinstance(data, list):
            return [self.create(item) for item in data]
        return self._save("create", "POST", "", data)

    @takes_callback
    def find(self, filter: Values | None = None, /, **named: object) -> list[Record]:
        """GET the objects that match a filter, or the query entries `limit=5, name="Mary"`."""
        query = filter_query(self._style, filter or {}, named)
        identifier = wanted_id(query, self.id_name)
        if identifier is not None:
            return [self.find_by_id(identifier)]
        body = self._send("find", "GET", "", query=query)
        if not isinstance(body, list):
            raise ResponseError(f"{self.name}.find: the response is not a list")
        return [self._record(item) for item in body]

    @takes_callback
    def find_one(self, filter: Values | None = None, /, **named: object) -> Record | None:
        """GET the first object that matches a filter, or None."""
        if named and filter is None:
            found = self.find(**{**named, "limit": 1})
        else:
            found = self.find({**(filter or {}), "limit": 1}, **named)
        return found[0] if found else None

    @takes_callback
    def find_by_id(self, identifier: object) -> Record:
        """GET one object; raise NotFoundError if it does not exist."""
        return self._record(self._send("find_by_id", "GET", self._segment(identifier)))

    @takes_callback
    def find_by_ids(self, identifiers: object, filter: Values | None = None, /) -> list[Record]:
        """GET the objects with these ids, in their order, that also match a filter."""
        if not isinstance(identifiers, list | tuple):
            raise VariableError(f"{self.name}: a list of ids is needed")
        if not identifiers:
            return []
        given = dict(filter or {})
        where: JsonObject = {self.id_name: {"inq": list(identifiers)}}
        given["where"] = {"and": [where, given["where"]]} if given.get("where") else where
        found = {str(record.to_dict().get(self.id_name)): record for record in self.find(given)}
        return [found[text] for text in dict.fromkeys(map(str, identifiers)) if text in found]

    @takes_callback
    def exists(self, identifier: object) -> bool:
        """Return True if GET finds the object."""
        try:
            self._send("exists", "GET", self._segment(identifier))
        except NotFoundError:
            return False
        return True

    @takes_callback
    def count(self, where: Values | None = None, /, **named: object) -> int:
        """GET the number of objects from `/count`, which LoopBack remotes have."""
        style = "flat" if self._style == "flat" else "brackets"
        query = filter_query(style, {"where": where}, named)
        try:
            body = self._send("count", "GET", "/count", query=query)
        except NotFoundError:
            raise self._refusal("count: the remote has no count") from None
        if not isinstance(body, dict) or not isinstance(body.get("count"), int):
            raise ResponseError(f"{self.name}.count: the response has no count")
        return int(body["count"])

    @takes_callback
    def update(self, data: object) -> Record:
        """PUT the whole object, which must have an id."""
        return self._save("update", "PUT", self._segment(_fields(data).get(self.id_name)), data)

    @takes_callback
    def upsert(self, data: object) -> JsonValue:
        """PUT the fields of an object that GET finds, else POST it.

        If GET does not find the id, the object is created if the properties declare the id.
        """
        values = _fields(data)
        identifier = values.get(self.id_name)
        if identifier is None:
            return self.create(values)
        try:
            record = self.find_by_id(identifier)
        except NotFoundError:
            if not self._declares_id:
                raise
            return self.create(values)
        return record.update_attributes(values)

    @takes_callback
    def update_attributes(self, identifier: object, changes: object) -> Record:
        """PUT some fields of an object with its id, as LoopBack 3 does."""
        data = {**_fields(changes), self.id_name: identifier}
        return self._save("update_attributes", "PUT", self._segment(identifier), data)

    @takes_callback
    def patch(self, identifier: object, changes: object) -> Record:
        """PATCH some fields of an object."""
        return self._save("patch", "PATCH", self._segment(identifier), changes)

    @takes_callback
    def delete(self, identifier: object) -> JsonValue:
        """DELETE one object; return the body of the response."""
        return self._send("delete", "DELETE", self._segment(identifier))

    @takes_callback
    def destroy_all(self, where: Values | None = None, *, confirm: bool = False) -> JsonValue:
        """DELETE the whole collection; requires `confirm=True` and takes no condition."""
        if where is not None:
            raise self._refusal("destroy_all cannot take a condition")
        if confirm is not True:
            raise NotSupportedError(
                f"{self.name}.destroy_all deletes everything; pass confirm=True to confirm it"
            )
        return self._send("destroy_all", "DELETE", "")

    def update_all(self, *_args: object, **_named: object) -> None:
        """Raise NotSupportedError: there is no conventional request for a bulk update."""
        raise self._refusal("update_all is not supported")

    # LoopBack 3's names.
    findOne = find_one  # noqa: N815
    findById = find_by_id  # noqa: N815
    findByIds = find_by_ids  # noqa: N815
    updateOrCreate = upsert  # noqa: N815
    updateAttributes = update_attributes  # noqa: N815
    deleteById = destroyById = delete  # noqa: N815
    destroyAll = destroy_all  # noqa: N815

    def _refusal(self, reason: str) -> NotSupportedError:
        return NotSupportedError(f"{self.name}.{reason}; write a template operation")

    def _segment(self, identifier: object) -> str:
        if isinstance(identifier, Mapping | Record):
            raise VariableError(f"{self.name}: an id is needed, not an object")
        text = to_text(identifier, f"{self.name}.{self.id_name}")
        if not text:
            raise MissingVariableError(f"{self.name}: {self.id_name} has no value")
        if text in (".", ".."):
            raise VariableError(f"'{text}' cannot be used as a path segment")
        return "/" + percent_encode(text)

    def _save(self, action: str, method: str, segment: str, data: object) -> Record:
        values = _fields(data)
        body = self._send(action, method, segment, body=values)
        return self._record({**values, **body} if isinstance(body, dict) else values)

    def _send(
        self,
        action: str,
        method: str,
        segment: str,
        *,
        query: Values | None = None,
        body: object = MISSING,
    ) -> JsonValue:
        request = self._builder.build({})
        request.method = method
        request.url += segment
        request.query.update(query or {})
        request.body = body
        call = Call(f"{self.name}.{action}", request, self._builder.options, attrgetter("body"))
        return self._client.execute(call).result

    def _record(self, values: object) -> Record:
        if not isinstance(values, dict):
            raise ResponseError(f"{self.name}: the response is not an object")
        dates = {key: _as_date(values[key]) for key in self._dates if key in values}
        return Record(self, {**values, **dates} if dates else values)


def _fields(data: object) -> JsonObject:
    if isinstance(data, Record):
        return data.to_dict()
    if not isinstance(data, Mapping):
        raise VariableError(f"the data must be an object, got {type_name(data)}")
    return dict(data)


def _is_date(kind: object) -> bool:
    name = kind.get("type") if isinstance(kind, Mapping) else kind
    return str(name).lower() == "date"


def _as_date(value: JsonValue) -> JsonValue:
    try:
        return datetime.fromisoformat(value)
    except (TypeError, ValueError):
        return value
