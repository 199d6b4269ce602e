"""A resource: a model with its schemas, rules and relations, from which endpoints are made."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial, wraps
from typing import Any, cast

import marshmallow
from flask import Response, jsonify
from sqlalchemy import false, inspect
from sqlalchemy.orm import InstrumentedAttribute
from werkzeug.exceptions import HTTPException

from app import ids
from app.access.identity import current_identity
from app.access.policy import DynamicRole, Grant, authorize, denial, find_grant
from app.access.rules import Rule
from app.database.session import in_transaction, transaction
from app.errors import MalformedBody, ModelNotFound, ValidationError
from app.state import AppState

from .endpoint import Endpoint, Route, View
from .fields.base import PASSTHROUGH_SERIALIZERS, Field, Schema, validation_cost
from .fields.ids import Id
from .filters.filter import Filter
from .filters.targets import OTHERS, Column, has_short_ids
from .filters.where import translate
from .relations import BELONGS_TO, Relation
from .requests.compatibility import Load
from .rows import hooks
from .rows.hooks import Hook, LoadEvent, SavedValues
from .rows.owners import check_owner, owner_to_fix
from .rows.references import Reference, check_changed_references, check_references
from .rows.repository import Conditions, Repository, Values
from .rows.undeclared import ATTRIBUTE, flatten, merge_others

#: Values of the rows that one request creates, which are loaded in 50 to 100 ms; a `format` counts
#: by the ways in which it may match.
MAX_VALUES = 4000

# Changes the rows that fulfil conditions; returns them as they now are.
Store = Callable[[Conditions, Values], Sequence[Any]]


@dataclass(frozen=True, eq=False)
class Resource:
    """A model served as a collection: its schemas, rules, relations and own endpoints."""

    name: str
    singular: str
    model: type[Any]
    schema: type[Schema]
    # Returns the access rules, given the settings.
    rules: Callable[[Mapping[str, Any]], Sequence[Rule]]
    # The attribute that holds the id of a row's owner, for rules with the principal $owner.
    owner: InstrumentedAttribute[Any] | None = None
    relations: Mapping[str, Relation] = field(default_factory=dict)
    # Functions that return, for a user's id, under which condition the user has a role for a row;
    # by the names that rules have for the roles.
    roles: dict[str, DynamicRole] = field(default_factory=dict)
    # The schema of a body that creates a row, if it differs from `schema`.
    create_schema: type[Schema] | None = None
    # The function that inserts rows, if that takes more than storing values.
    insert_with: Callable[[Sequence[Any]], Sequence[Any]] | None = None
    # What is done before the transaction of a change, such as asking for a password; it returns the
    # function that changes the rows.
    update_with: Callable[[Conditions, Values], Store] | None = None
    # What is done to the values before the transaction that inserts them, because it takes long or
    # must not be undone; returns what `insert_with` inserts.
    prepare_with: Callable[[Sequence[Values]], Sequence[Any]] | None = None
    # The function that deletes rows, if that takes more than a statement; it returns their number.
    delete_with: Callable[[Conditions], int] | None = None
    # The property of a body whose value `prepare_with` or `update_with` hashes.
    hashed: str | None = None
    # The most rows that one request may create, if they do not have more than MAX_VALUES.
    max_create: int = 1000
    # Errors of `insert_with` and `update_with`, by the method that calls them.
    errors: Mapping[str, Sequence[HTTPException]] = field(default_factory=dict)
    # The endpoints beyond those of every collection, as they are declared.
    own_endpoints: list[Endpoint] = field(default_factory=list)
    # The segment of the path below the base path, in any case; None: the name.
    path: str | None = None
    # belongsTo relations without endpoints: their foreign keys are checked as those of `relations`.
    foreign_keys: Sequence[Relation] = ()
    # Properties that included rows do not have.
    protected: frozenset[str] = frozenset()
    # Properties that the service reads, such as foreign keys, and that never leave it.
    withheld: frozenset[str] = frozenset()
    # A filter whose `where` all rows fulfil, and whose other parts hold unless a request has them.
    default_filter: Mapping[str, Any] = field(default_factory=dict)
    # Whether it has endpoints; otherwise its rows are only reached by the relations of others.
    is_public: bool = True
    # Methods that are switched off and on, as LoopBack 3's `sharedMethods`; in addition to the
    # setting SHARED_METHODS.
    shared_methods: Mapping[str, bool] = field(default_factory=dict)
    # Whether `PUT` replaces a row; otherwise it changes what is sent, as `PATCH` does.
    replaces_on_put: bool = True
    # Whether clients may choose the id of a row that they create.
    id_on_create: bool = False
    # Whether they must; so it is where none is generated.
    id_required: bool = False
    # Loads a body by one of the schemas.
    load: Load = marshmallow.Schema.load
    # Sent when a row is created or changed, with a SaveEvent; `before_save` may change the values.
    before_save: Hook = field(default_factory=Hook)
    after_save: Hook = field(default_factory=Hook)
    # Sent when a row is deleted, with a DeleteEvent.
    before_delete: Hook = field(default_factory=Hook)
    after_delete: Hook = field(default_factory=Hook)
    # Sent when a row leaves the service, with a LoadEvent, which may be changed.
    loaded: Hook = field(default_factory=Hook)

    def __post_init__(self) -> None:
        """Give a copy made by `replace` endpoints, dynamic roles and hooks of its own."""
        object.__setattr__(self, "own_endpoints", list(self.own_endpoints))
        object.__setattr__(self, "roles", dict(self.roles))
        for name in ("before_save", "after_save", "before_delete", "after_delete", "loaded"):
            object.__setattr__(self, name, getattr(self, name).copy())

    def endpoint(
        self, method: str, access: str, *routes: str, **declared: Any
    ) -> Callable[[View], View]:
        """Declare an additional endpoint, served at routes such as `POST /<id>/archive`.

        With `<id>` in the path the view is called with the row of that id, if the rules allow the
        caller to call the method on it; with `finds_row=False` it is called with the id as text,
        whether there is such a row or not. If `body` is a marshmallow schema, the view gets the
        loaded data as `body`. `declared` are further fields of Endpoint. Raises ValueError if only
        some of the routes have `<id>`.
        """
        by_id = "<id>" in routes[0]
        if any(("<id>" in route) != by_id for route in routes):
            raise ValueError(f"either all routes of {method} have <id>, or none")
        declared = {"finds_row": by_id, **declared}
        where = tuple(map(Route.parse, routes))

        def decorate(view: View) -> View:
            endpoint = Endpoint(method=method, access=access, routes=where, view=view, **declared)
            self.own_endpoints.append(endpoint)
            return view

        return decorate

    def bound_endpoints(self) -> list[Endpoint]:
        """Return the own endpoints with views that authorize the id and get the row."""
        return [self._bind(each) for each in self.own_endpoints]

    def _bind(self, endpoint: Endpoint) -> Endpoint:
        view, many = endpoint.view, isinstance(endpoint.answer, list)
        schema = endpoint.answer[0] if many else endpoint.answer
        # The app's own schema may extend the one of the declaration.
        if isinstance(schema, type) and issubclass(self.schema, schema):
            view = self._dumping(view, schema(), many)
        adapt = self._with_row if endpoint.finds_row else _without_grant
        owned = endpoint.finds_row and self.owner is not None
        return replace(endpoint, view=adapt(view), owned=owned, by_row=endpoint.finds_row)

    def _dumping(self, view: View, schema: Schema, many: bool) -> View:
        """Wrap a view so that the rows which it returns are told to `loaded`."""

        @wraps(view)
        def call(*arguments: Any, **named: Any) -> Any:
            result = view(*arguments, **named)
            if isinstance(result, Response):
                return result
            rows = result if many else [result]
            objects = [self.leave(row, flatten(schema.dump(row))) for row in rows]
            return jsonify(objects if many else objects[0])

        return call

    def _with_row(self, view: View) -> View:
        """Wrap a view so that it gets the row with the id in the path, if it is permitted."""

        @wraps(view)
        def call(grant: Grant, id: str, **arguments: Any) -> Any:
            row_id = self.authorize_id(grant, id)
            row = self.rows.get(row_id, grant.scope(self.rows.owner))
            return view(self.or_denied(row_id, row), **arguments)

        return call

    @cached_property
    def rows(self) -> Repository:
        """The rows of the model in the database."""
        owner = None if self.owner is None else self._table_columns[self.owner.key]
        where = self.default_filter.get("where")
        restriction = [translate(where, self.properties)] if where else []
        return Repository(self.model, self.properties, owner, restriction)

    @cached_property
    def is_owner_model(self) -> bool:
        """Whether a row is its own owner, as it is with users."""
        return self.rows.owner is self.rows.key

    def has_owner(self, method: str) -> bool:
        """Return whether the rows of a method have owners; one that is being created has none."""
        return self.owner is not None and method != "create"

    @cached_property
    def schema_instance(self) -> Schema:
        """An instance of the schema of responses and updates."""
        return self.schema()

    @cached_property
    def create_schema_instance(self) -> Schema:
        """An instance of the schema of bodies that create a row."""
        schema = self.create_schema or self.schema
        if self.id_on_create:
            name, required = schema.__name__, self.id_required or has_short_ids(self.rows.key)
            id_field = Id(self.rows.key.type, data_key=self.id_name, required=required)
            schema = cast("type[Schema]", schema.from_dict({"id": id_field}, name=name))
        return schema()

    @cached_property
    def most_new_rows(self) -> int:
        """The most rows that one request may create: `max_create`, fewer of wide models."""
        values = self.create_schema_instance.load_fields.values()
        cost = sum(1 + sum(map(validation_cost, each.validators)) for each in values)
        return max(1, min(self.max_create, MAX_VALUES // max(1, cost)))

    @cached_property
    def properties(self) -> dict[str, Column]:
        """The columns that clients may read, filter and order by, by their JSON names."""
        columns = {
            field_.data_key or name: self._table_columns.get(field_.attribute or name)
            for name, field_ in self.schema_instance.dump_fields.items()
        }
        return {name: column for name, column in columns.items() if column is not None}

    @cached_property
    def shown(self) -> dict[str, Column]:
        """The properties that are not withheld, which filters may name."""
        if not self.withheld:
            return self.properties
        return {name: each for name, each in self.properties.items() if name not in self.withheld}

    @cached_property
    def _table_columns(self) -> Mapping[str, Column]:
        columns: Mapping[str, Column] = inspect(self.model).columns
        return columns

    @cached_property
    def _serialized_fields(self) -> list[tuple[str, Field]]:
        """The fields whose JSON value differs from the column's value."""
        fields = {
            field_.data_key or name: field_
            for name, field_ in self.schema_instance.dump_fields.items()
        }
        return [
            (name, field_)
            for name, field_ in fields.items()
            if name not in self.properties or type(field_)._serialize not in PASSTHROUGH_SERIALIZERS
        ]

    def dump(self, row: Any) -> Values:
        """Return the JSON object of a row: the result of the schema's `dump`, but faster."""
        dumped = dict(zip(self.properties, row, strict=False))
        for name, field_ in self._serialized_fields:
            dumped[name] = field_._serialize(dumped.get(name), name, row)
        if OTHERS in dumped:
            dumped = flatten(dumped)
        return self.leave(row, dumped) if self.loaded.receivers or self.withheld else dumped

    def leave(self, row: Any, dumped: Values) -> Values:
        """Send `loaded` for a row with its JSON object; return what its receivers leave of that.

        Without the properties that are withheld.
        """
        if self.withheld:
            dumped = {name: each for name, each in dumped.items() if name not in self.withheld}
        if not self.loaded.receivers:
            return dumped
        event = LoadEvent(current_identity(), dumped, row)
        self.loaded.send(self, event=event)
        return event.values

    def parse(self, raw: Mapping[str, Any] | None) -> Filter:
        """Read a filter for this resource; raise InvalidFilter."""
        if self.default_filter:
            raw = self._with_defaults(raw)
        return self._keep_included(Filter.parse(raw, self.shown))

    def parse_included(self, raw: Mapping[str, Any] | None) -> Filter:
        """Read a filter for rows that are included into others; raise InvalidFilter."""
        usual = self._with_defaults(raw, without=("where", "include"))
        if not self.protected:
            return self._keep_included(Filter.parse(usual, self.shown))
        shown = {name: self.shown[name] for name in self.shown.keys() - self.protected}
        filter_ = Filter.parse(usual, shown)
        return self._keep_included(
            filter_ if filter_.fields else replace(filter_, fields=set(shown))
        )

    def _keep_included(self, filter_: Filter) -> Filter:
        """Return a filter that reads the properties by which it includes something."""
        if filter_.fields is None or not filter_.include:
            return filter_
        relations = (self.relations.get(name) for name in filter_.include)
        attributes = {each.foreign_key for each in relations if each}
        kept = [name for name, column in self.properties.items() if column.key in attributes]
        return replace(filter_, kept=kept)

    def _with_defaults(
        self, raw: Mapping[str, Any] | None, without: Collection[str] = ("where",)
    ) -> Mapping[str, Any]:
        """Return a filter with the parts of the default one that it does not have."""
        usual = {name: value for name, value in self.default_filter.items() if name not in without}
        return {**usual, **(raw or {})}

    @cached_property
    def id_name(self) -> str:
        """The property that has the id."""
        return next(name for name, column in self.properties.items() if column is self.rows.key)

    @cached_property
    def id_form(self) -> ids.IdForm:
        """The form of the ids; each app has resources of its own."""
        form: ids.IdForm = self.rows.key.type.form
        return form

    def parse_id(self, text: str) -> ids.Id:
        """Return the id in a path; raise ModelNotFound for text that is not an id."""
        row_id: ids.Id = self.or_404(text, self.id_form.parse(text))
        return row_id

    def authorize_id(self, grant: Grant, text: str) -> ids.Id:
        """Return the id in a path; raise ModelNotFound for text that is not an id.

        If the rows are users, raises the access error for an id of another user.
        """
        row_id = self.id_form.parse(text)
        if self.is_owner_model and not grant.covers(row_id):
            raise denial(self.name, text)
        if row_id is None:
            raise ModelNotFound(self.singular, text)
        return row_id

    def owned_by(self, user_id: ids.Id | None) -> Values:
        """Return the values that make this user the owner of a new row."""
        return {} if self.owner is None or self.is_owner_model else {self.owner.key: user_id}

    def scope(self, method: str) -> Conditions:
        """Return the conditions for the rows on which the caller may call a method.

        Raises the access error if there are none.
        """
        return authorize(self.name, method).scope(self.rows.owner)

    @property
    def readable(self) -> Conditions:
        """The conditions for the rows that the caller may read, which may be none."""
        grant = find_grant(self.name, "findById")
        return grant.scope(self.rows.owner) if grant.decision else [false()]

    def read(self, grant: Grant, row_id: ids.Id) -> Any:
        """Return one row that a grant covers; raise ModelNotFound."""
        if grant.only_own and self.owner is not None:
            return self.or_404(row_id, self.rows.get_own(row_id, grant.user_id))
        return self.or_404(row_id, self.rows.get(row_id, grant.scope(self.rows.owner)))

    def create(
        self, body: Values | list[Any], user_id: ids.Id | None, fixed: Values | None = None
    ) -> Sequence[Any]:
        """Create one row, or every row of a list, in one transaction; `user_id` is the caller's.

        `fixed` are values by attribute that the client does not choose. Raises ValidationError,
        which names the item of a list.
        """
        return self.insert(self.prepare(body, user_id, fixed))

    def prepare(
        self, body: Values | list[Any], user_id: ids.Id | None, fixed: Values | None = None
    ) -> Sequence[Any]:
        """Return what `insert` takes, from the arguments of `create`; not in a transaction."""
        many = isinstance(body, list)
        if many and len(body) > self.most_new_rows:
            raise MalformedBody(f"The array must not have more than {self.most_new_rows} items.")
        fixed = fixed or {}
        own = self.owned_by(user_id)
        usual = {**own, **fixed}
        given = [self._with_fixed(each, usual) for each in (body if many else [body])]
        loaded = self.load(self.create_schema_instance, given if many else given[0], many=many)
        new = loaded if many else [loaded]
        if self.written_owner:
            fixed = {**owner_to_fix(self.name, own, fixed, new), **fixed}
        else:
            fixed = usual
        check_references(self.references, new, many, fixed)
        items = [{**each, **fixed} for each in new]
        return self.prepare_with(items) if self.prepare_with else items

    def insert(self, items: Sequence[Any]) -> Sequence[Any]:
        """Store what `prepare` returned; return the new rows."""
        if self.before_save.receivers or self.after_save.receivers:
            return hooks.insert(self, items, self._insert)
        return self._insert(items)

    def _insert(self, items: Sequence[Any]) -> Sequence[Any]:
        if self.insert_with:
            return self.rows.from_entities(self.insert_with(items))
        return self.rows.insert(items)

    @cached_property
    def new_values(self) -> SavedValues:
        """The values of new rows, as hooks see them."""
        return SavedValues(self._table_columns, self.create_schema_instance)

    @cached_property
    def changed_values(self) -> SavedValues:
        """The values of changes, as hooks see them."""
        return SavedValues(self._table_columns, self.schema_instance)

    @cached_property
    def read_only(self) -> set[str]:
        """The properties that clients read and cannot write."""
        loaded = self.schema_instance.load_fields.items()
        return self.properties.keys() - {field_.data_key or name for name, field_ in loaded}

    @cached_property
    def written_owner(self) -> tuple[str, str] | None:
        """The property of the owner and its attribute, if clients may write it."""
        if self.owner is None or self.is_owner_model:
            return None
        fields = self.schema_instance.load_fields.items()
        names = {field_.attribute or name: field_.data_key or name for name, field_ in fields}
        key = self.owner.key
        return (names[key], key) if key in names else None

    @cached_property
    def references(self) -> list[Reference]:
        """The properties that hold the id of another row and that clients may write."""
        writable = {
            field_.attribute or name: field_.data_key or name
            for schema in (self.schema_instance, self.create_schema_instance)
            for name, field_ in schema.load_fields.items()
        }
        return [
            Reference(
                writable[relation.foreign_key],
                relation.foreign_key,
                partial(_find_readable, relation.target),
            )
            for relation in (*self.relations.values(), *self.foreign_keys)
            if relation.kind == BELONGS_TO and relation.foreign_key in writable
        ]

    def _with_fixed(self, body: Any, fixed: Values) -> Any:
        """Return the body of a new row with the fixed values that clients may write.

        Without those that they cannot write, if they are right, and without an empty id.
        """
        if not isinstance(body, dict) or (not self.references and self.read_only.isdisjoint(body)):
            return body
        by_name = {
            name: fixed[column.key]
            for name, column in self.properties.items()
            if column.key in fixed
        }
        anyway = {self.id_name: None, **by_name}
        rest = {
            name: value
            for name, value in body.items()
            if name not in anyway or value not in (None, anyway[name])
        }
        return {name: by_name[name] for name in by_name.keys() - self.read_only} | rest

    def update(self, conditions: Conditions, values: Values) -> Sequence[Any]:
        """Change every row that fulfils the conditions; return them as they now are."""
        store: Store = self.rows.update
        if self.update_with:
            conditions = list(conditions)
            change = self.update_with(conditions, values)
            store = lambda *changes: self.rows.from_entities(change(*changes))  # noqa: E731
        if self.before_save.receivers or self.after_save.receivers:
            return hooks.update(self, conditions, values, store)
        return store(conditions, values)

    def update_all(self, conditions: Conditions, values: Values) -> int:
        """Change every row that fulfils the conditions; return how many those were.

        Raises ValidationError.
        """
        if others := values.get(ATTRIBUTE):
            raise ValidationError({name: ["can be changed by its id only"] for name in others})
        if self.written_owner:
            check_owner(self.name, *self.written_owner, values)
        check_references(self.references, [values], many=False)
        if self.update_with or self.before_save.receivers or self.after_save.receivers:
            return len(self.update(conditions, values))
        return self.rows.update_all(conditions, values)

    def update_one(self, row_id: ids.Id, scope: Conditions, body: Values, partial: bool) -> Any:
        """Update (`partial`) or replace one row within a scope from a body; return it.

        Raises ValidationError, or what `or_denied` does.
        """
        values = self.load(self.schema_instance, body, partial=partial)

        def find_row() -> Any:
            return self.or_denied(row_id, self.rows.get(row_id, scope))

        def find_value(name: str) -> Any:
            return self.rows.value(find_row(), name)

        if self.written_owner:
            name, key = self.written_owner
            if name not in body:
                # Replacing a row without naming its owner keeps it.
                values.pop(key, None)
            check_owner(self.name, name, key, values, find_value)
        check_changed_references(self.references, values, find_value)
        if not values:
            return find_row()
        if partial and values.get(ATTRIBUTE):
            with transaction():
                self.rows.lock(row_id)
                merge_others(values, find_row)
                return self._store(row_id, scope, values)
        return self._store(row_id, scope, values)

    def _store(self, row_id: ids.Id, scope: Conditions, values: Values) -> Any:
        rows = self.update([self.rows.key == row_id, *scope], values)
        return self.or_denied(row_id, rows[0] if rows else None)

    def delete_one(self, row_id: ids.Id, scope: Conditions) -> None:
        """Delete one row within a scope; raise what `or_denied` does."""
        count = self.delete([self.rows.key == row_id, *scope])
        self.or_denied(row_id, count or None)

    def delete(self, conditions: Conditions) -> int:
        """Delete every row that fulfils the conditions; return how many those were."""
        store = self.delete_with or self.rows.delete
        if self.before_delete.receivers or self.after_delete.receivers:
            return hooks.delete(self, conditions, store)
        return store(conditions)

    def lock(self, row_id: ids.Id) -> None:
        """Lock a row until the end of the transaction: others that lock it wait.

        Raises RuntimeError outside of a transaction.
        """
        if not in_transaction():
            raise RuntimeError("a row is locked until the end of a transaction: there is none")
        self.rows.lock(row_id)

    def or_404(self, row_id: object, row: Any) -> Any:
        """Return the row; raise ModelNotFound if there is none."""
        if row is None:
            raise ModelNotFound(self.singular, row_id)
        return row

    def or_denied(self, row_id: ids.Id, row: Any, within: Conditions = ()) -> Any:
        """Return the row; if it is None, raise the error for a call on a row that was not found.

        That is the access error for a row within these conditions that the caller may read, else
        ModelNotFound.
        """
        if row is None and self.rows.get(row_id, [*within, *self.readable]) is not None:
            raise denial(self.name, row_id)
        return self.or_404(row_id, row)


# The resources of an app by their names, also those that only relations lead to.
served_resources = AppState[dict[str, Resource]]("resources", factory=lambda _app: {})


def _find_readable(name: str, row_ids: Collection[ids.Id]) -> set[ids.Id]:
    """Return those of the ids that are of rows of a resource which the caller may read."""
    target = served_resources.current[name]
    return target.rows.existing(row_ids, target.readable)


def _without_grant(view: View) -> View:
    """Wrap a view so that it is called without the grant, which only matters for rows."""

    @wraps(view)
    def call(grant: Grant, **arguments: Any) -> Any:
        return view(**arguments)

    return call
