"""Models whose rows are at a data source: endpoints of a collection, with our rules in front.

The remote service selects the rows. Whose they are is checked here too, as it might not heed a
condition.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from flask import Flask, jsonify, request
from flask.typing import ResponseReturnValue

from app.access.policy import Grant, denial, find_grant
from app.access.rules import READ, WRITE, Rule
from app.config import ConfigurationError
from app.connector import BoundModel, ConfigError, DataSource, NotFoundError
from app.connector import Record as RemoteRecord
from app.connector.settings.options import PUBLIC_MAX_VALUES
from app.errors import (
    InvalidFilter,
    ModelNotFound,
    RemoteError,
    RemoteTimeout,
    TooManyCalls,
    ValidationError,
)
from app.ids import IdForm
from app.rest.endpoint import Endpoint, declare, endpoints_of, register_endpoints
from app.rest.fields.base import Schema
from app.rest.filters.kinds import Kind
from app.rest.filters.parser import parse_filter
from app.rest.filters.remote_query import remote_where
from app.rest.filters.tree import OTHERS, Filter
from app.rest.requests.bodies import read_body
from app.rest.requests.parameters import read_parameter
from app.rest.rows.references import UNKNOWN_REFERENCE
from app.rest.shared_methods import switch_off
from app.rest.views.collection import with_changing_put

from .calls import call_remote
from .endpoints import function_endpoints

Row = dict[str, Any]
# Relations and dynamic conditions need rows in the database.
NO_INCLUDES = "include: the rows are at another service, and have no relations here."
COUNT = {"type": "object", "properties": {"count": {"type": "integer"}}, "required": ["count"]}
CHANGES = {"type": "object"}
EXISTS = {"type": "object", "properties": {"exists": {"type": "boolean"}}, "required": ["exists"]}


@dataclass(frozen=True)
class RemoteModel:
    """A model whose rows are at a data source."""

    name: str
    singular: str
    # The path below the base path, and that below the URL of the data source.
    path: str
    remote_path: str
    schema: type[Schema]
    id_form: IdForm
    # What filters may name, by the names in JSON, and the kinds of the values.
    kinds: Mapping[str, Kind]
    # Returns the rules, given the methods and whether the rows of each have owners.
    rules: Callable[[Mapping[str, bool]], Sequence[Rule]]
    # Returns the methods that are switched off and on, given all.
    shared_methods: Callable[[Sequence[Endpoint]], Mapping[str, bool]]
    replaces_on_put: bool = True
    id_name: str = "id"
    # The property with the id of a row's owner.
    owner: str | None = None
    # Whether properties that are not declared leave too, unless they are hidden.
    is_open: bool = False
    hidden: frozenset[str] = frozenset()


def register_remote_model(app: Flask, model: RemoteModel, source: DataSource) -> None:
    """Serve a model: the functions of its data source, and its rows if that has a `baseURL`."""
    functions = {each.method: each for each in function_endpoints(source)}
    endpoints = [*functions.values()]
    if remote := _bind(model, source):
        views = RemoteViews(model, source.name, remote)
        declared = endpoints_of(views)
        if not model.replaces_on_put:
            declared = [with_changing_put(each) for each in declared]
        rows = [_describe(model, each) for each in declared]
        endpoints += [each for each in rows if each.method not in functions]
    endpoints = switch_off(endpoints, app.config["SHARED_METHODS"], model.shared_methods(endpoints))
    rules = model.rules({each.method: each.owned for each in endpoints})
    register_endpoints(app, model.name, endpoints, rules, model.path)


def _bind(model: RemoteModel, source: DataSource) -> BoundModel | None:
    try:
        return source.define(
            model.singular,
            resource_name=model.remote_path,
            id_name=model.id_name,
            max_values=PUBLIC_MAX_VALUES,
        )
    except ConfigError:
        if not source.operations:
            raise ConfigurationError(
                f"{model.name}: the data source {source.name} has neither a baseURL nor functions"
            ) from None
        return None


def _describe(model: RemoteModel, endpoint: Endpoint) -> Endpoint:
    """Return the endpoint with the schemas of the model and the errors of remote calls."""
    schemas = {"{}": model.schema, "[{}]": [model.schema]}
    return replace(
        endpoint,
        body=schemas.get(str(endpoint.body), endpoint.body),
        answer=schemas.get(str(endpoint.answer), endpoint.answer),
        owned=model.owner is not None and endpoint.method != "create",
        errors=(RemoteError(404), RemoteTimeout(), TooManyCalls()),
    )


class RemoteViews:
    """The views of one model; their methods and paths are those of every collection."""

    def __init__(self, model: RemoteModel, source: str, remote: BoundModel) -> None:
        self._model = model
        self._source = source
        self._remote = remote
        self._schema = model.schema()
        self._fields = {each.data_key or name: each for name, each in self._schema.fields.items()}

    @declare("create", WRITE, "POST /", body="{}", answer="{}")
    def create(self, grant: Grant, body: Row) -> ResponseReturnValue:
        """Create a row."""
        values = self._with_owner(self._values(body), grant.user_id)
        self._check_owner(grant, values)
        return self._respond(self._call("create", lambda: self._remote.create(values).to_dict()))

    @declare("find", READ, "GET /", query="filter", answer="[{}]")
    def find(self, grant: Grant) -> ResponseReturnValue:
        """List the rows that a filter selects."""
        filter_ = self._filter(read_parameter("filter"))
        return self._respond([self._select(each, filter_) for each in self._find(grant, filter_)])

    @declare("findOne", READ, "GET /findOne", query="filter", answer="{}", finds_row=True)
    def find_one(self, grant: Grant) -> ResponseReturnValue:
        """Show the first row that a filter selects."""
        filter_ = self._filter({**(read_parameter("filter") or {}), "limit": 1})
        rows = self._find(grant, filter_)
        if not rows:
            raise ModelNotFound(self._model.singular, "undefined")
        return self._respond(self._select(rows[0], filter_))

    @declare("count", READ, "GET /count", query="where", answer=COUNT)
    def count(self, grant: Grant) -> ResponseReturnValue:
        """Count the rows that a `where` selects; at most 1000 if not all of them are permitted."""
        filter_ = self._filter({"where": read_parameter("where")})
        if _depends_on_owner(grant):
            return jsonify({"count": len(self._find(grant, filter_))})
        where = remote_where(filter_.where)
        return jsonify({"count": self._call("count", lambda: self._remote.count(where))})

    # Before findById, whose GET would answer HEAD too.
    @declare("exists", READ, "GET /<id>/exists", "HEAD /<id>", answer=EXISTS, finds_row=True)
    def exists(self, grant: Grant, id: str) -> ResponseReturnValue:
        """Tell whether there is such a row; to a HEAD, by the status."""
        try:
            self._get(grant, id)
        except ModelNotFound:
            if request.method == "HEAD":
                raise
            return jsonify({"exists": False})
        return jsonify({"exists": True})

    @declare("findById", READ, "GET /<id>", answer="{}", finds_row=True)
    def find_by_id(self, grant: Grant, id: str) -> ResponseReturnValue:
        """Show one row."""
        return self._respond(self._get(grant, id))

    @declare("patchAttributes", WRITE, "PATCH /<id>", body=CHANGES, answer="{}", finds_row=True)
    def patch_attributes(self, grant: Grant, id: str) -> ResponseReturnValue:
        """Change some properties of a row."""
        values = self._values(self._schema.load(read_body(), partial=True))
        return self._change(grant, id, "patch", values)

    @declare(
        "replaceById",
        WRITE,
        "PUT /<id>",
        "POST /<id>/replace",
        body="{}",
        answer="{}",
        finds_row=True,
    )
    def replace_by_id(self, grant: Grant, id: str, body: Row) -> ResponseReturnValue:
        """Replace a row."""
        owner = self._get(grant, id).get(self._model.owner) if self._model.owner else None
        values = self._with_owner(self._values(body), owner)
        return self._change(grant, id, "update_attributes", values)

    @declare("deleteById", WRITE, "DELETE /<id>", answer=COUNT, finds_row=True)
    def delete_by_id(self, grant: Grant, id: str) -> ResponseReturnValue:
        """Delete a row."""
        self._check_own(grant, id)
        self._by_id("delete", id, lambda: self._remote.delete(id))
        return jsonify({"count": 1})

    def _filter(self, raw: Mapping[str, Any] | None) -> Filter:
        filter_ = parse_filter(raw, self._model.kinds)
        if filter_.include:
            raise InvalidFilter(NO_INCLUDES)
        return filter_

    def _find(self, grant: Grant, filter_: Filter) -> list[Row]:
        """Return the rows that a filter selects and the grant covers."""
        where = remote_where(filter_.where)
        if _depends_on_owner(grant):
            owner = grant.user_id if grant.decision.own else {"neq": grant.user_id}
            where = {"and": [where, {self._model.owner: owner}]}
        query = {
            "where": where,
            "order": filter_.raw.get("order"),
            "limit": filter_.limit,
            "skip": filter_.skip,
        }
        query = {name: value for name, value in query.items() if value}
        found: list[RemoteRecord] = self._call("find", lambda: self._found(query))
        rows = (each.to_dict() for each in found)
        # The service may send more rows than it was asked for.
        return list(islice((each for each in rows if self._covers(grant, each)), filter_.limit))

    def _found(self, query: Mapping[str, Any]) -> list[RemoteRecord]:
        try:
            found: list[RemoteRecord] = self._remote.find(query)
            return found
        # The connector asks for a single id by its path.
        except NotFoundError:
            return []

    def _get(self, grant: Grant, id: str) -> Row:
        """Return a row that the grant covers; raise ModelNotFound or the access error."""
        row: Row = self._by_id("findById", id, lambda: self._remote.find_by_id(id).to_dict())
        if self._covers(grant, row):
            return row
        readable = find_grant(self._model.name, "findById")
        if readable.decision and self._covers(readable, row):
            raise denial(self._model.name, id)
        raise ModelNotFound(self._model.singular, id)

    def _check_own(self, grant: Grant, id: str) -> None:
        """Check that a grant covers a row; without asking the service if it covers all."""
        if _depends_on_owner(grant):
            self._get(grant, id)

    def _change(self, grant: Grant, id: str, method: str, values: Row) -> ResponseReturnValue:
        self._check_owner(grant, values)
        self._check_own(grant, id)
        send = getattr(self._remote, method)
        return self._respond(self._by_id(method, id, lambda: send(id, values).to_dict()))

    def _covers(self, grant: Grant, row: Row) -> bool:
        """Tell whether a grant covers a row."""
        if not _depends_on_owner(grant):
            return True
        is_own = str(row.get(str(self._model.owner))) == str(grant.user_id)
        return grant.decision.own if is_own else grant.decision.others

    def _check_owner(self, grant: Grant, values: Row) -> None:
        """Raise ValidationError for an owner whom the caller may not name.

        Those who may change the rows of others may name them.
        """
        named = values.get(str(self._model.owner), grant.user_id)
        if str(named) == str(grant.user_id):
            return
        changes = find_grant(self._model.name, "patchAttributes")
        if not changes.decision or changes.only_own:
            raise ValidationError({str(self._model.owner): [UNKNOWN_REFERENCE]})

    def _with_owner(self, values: Row, owner: Any) -> Row:
        """Return values of a whole row, of this owner if they name none."""
        name = self._model.owner
        return values if name is None or values.get(name) is not None else {**values, name: owner}

    def _by_id(self, method: str, id: str, send: Callable[[], Any]) -> Any:
        """Call the service for one row; raise ModelNotFound if it has none of this id."""
        if self._model.id_form.parse(id) is None:
            # It may name something else there, such as an endpoint of the collection.
            raise ModelNotFound(self._model.singular, id)

        def found() -> list[Any]:
            try:
                return [send()]
            except NotFoundError:
                return []

        rows = self._call(method, found)
        if not rows:
            raise ModelNotFound(self._model.singular, id)
        return rows[0]

    def _call(self, method: str, send: Callable[[], Any]) -> Any:
        return call_remote(self._source, f"{self._model.singular}.{method}", send)

    def _values(self, loaded: Row) -> Row:
        """Return what a schema has loaded as JSON, by the names in JSON."""
        by_attribute = {each.attribute or each.name: name for name, each in self._fields.items()}
        values = {
            by_attribute[attribute]: self._fields[by_attribute[attribute]]._serialize(
                value, attribute, loaded
            )
            for attribute, value in loaded.items()
        }
        return {**values.pop(OTHERS, {}), **values}

    def _select(self, row: Row, filter_: Filter) -> Row:
        """Return the properties that a filter asks for."""
        if filter_.fields is None:
            return row
        return {name: value for name, value in row.items() if name in filter_.fields}

    def _shown(self, row: Row) -> Row:
        """Return what clients may see: no hidden property, and no other than the declared ones."""
        return {
            name: value
            for name, value in row.items()
            if name not in self._model.hidden
            and (not self._fields[name].load_only if name in self._fields else self._model.is_open)
        }

    def _respond(self, rows: Row | list[Row]) -> ResponseReturnValue:
        shown = list(map(self._shown, rows)) if isinstance(rows, list) else self._shown(rows)
        try:
            return jsonify(shown)
        except (RecursionError, TypeError, ValueError):
            raise RemoteError() from None


def _depends_on_owner(grant: Grant) -> bool:
    """Tell whether only own rows are permitted, or only those of others."""
    return grant.decision.own != grant.decision.others
