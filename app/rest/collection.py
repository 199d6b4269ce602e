"""Collections: resources as an app serves them."""

from collections.abc import Callable, Mapping
from collections.abc import Collection as Container
from dataclasses import replace
from functools import cached_property
from typing import Any, TypeVar

from flask import Flask
from sqlalchemy import inspect

from app import ids
from app.access.policy import (
    Grant,
    authorize,
    authorize_related,
    denial,
    find_grant,
    is_in_scope,
    unlimited_grant,
)
from app.database.statements import readers
from app.errors import ModelNotFound
from app.fields.base import Schema, validation_cost
from app.fields.files import file_fields
from app.settings import Settings, is_compatible
from app.state import AppState

from .computed import computed_columns, with_computed
from .filters import sql
from .filters.columns import kinds_of, visible
from .filters.kinds import LOWER_TEXT
from .filters.parser import lenient, parse_leniently, read_filter, read_where
from .filters.related import FilteredModel, Properties, refusing
from .filters.searches import count_given
from .filters.sql import Column
from .filters.tree import OTHERS, Filter
from .related_rows import RelatedRows, filtered_model, included_model
from .relations import Relation, filter_within
from .requests.compatibility import loader
from .resource import Resource, schema_of_new_rows, shown_columns, written_properties
from .rows.cursors import Cursors
from .rows.hooks import SavedValues
from .rows.json_values import EmbeddedObjects
from .rows.limits import Limits
from .rows.references import AnyReference, Reference, references_of
from .rows.scopes import WriteScope
from .rows.values import Condition, Conditions, Row, Values
from .rows.writer import Writer, writers
from .visibility import Visibility

Result = TypeVar("Result")

#: Maximum values of the rows that one request creates, which are loaded in 50 to 100 ms; a `format`
#: counts by the number of ways in which it may match.
MAX_VALUES = 4000


class Collection:
    """A resource as served by an app: rows, schemas, properties, and the caller's permissions.

    The hooks of its `resource` have the receivers of all apps, and may have some of this app only.
    """

    def __init__(self, resource: Resource, settings: Settings) -> None:
        """Serve a resource in an app with these settings."""
        # The hooks and endpoints of this copy belong to this app.
        self.resource = resource = replace(resource)
        self.name, self.singular = resource.name, resource.singular
        self.model, self.relations = resource.model, resource.relations
        self.path = resource.path or resource.name
        self.load = loader(settings)
        self._row_ids = ids.FORMS[settings["ID_TYPE"]]
        self.computed = computed_columns(self, self._row_ids, _find_served)
        # The schema of responses and updates.
        self.schema = with_computed(resource.schema, self.computed)()
        # The columns that clients may read, filter and order by, by their JSON names.
        self.properties = shown_columns(resource.model, self.schema) | self.computed
        self._is_lenient = is_compatible(settings)
        self.files = file_fields(self.schema)
        # The visibility of a row's values.
        self.visibility = Visibility(self._withheld(), dict(resource.embedded))
        self._columns: Mapping[str, Column] = inspect(resource.model).columns
        owner = None if resource.owner is None else self._columns[resource.owner.key]
        where = resource.default_filter.get("where")
        parsed = read_where(where, self._without_relations()) if where else ()
        restriction = sql.conditions(parsed, self.properties)
        self.rows = resource.repository(resource.model, self.properties, owner, restriction)
        self.rows.relations = RelatedRows(self)
        hidden = self.visibility.withheld
        self.rows.cursors = Cursors(
            resource.loaded, self.name, self.rows.key, self.properties, hidden
        )
        self.is_owner_model = resource.holds_users
        # The attribute of a row's owner, unless the row is the owner itself.
        self.owner_key = "" if resource.owner is None or self.is_owner_model else resource.owner.key
        self.serializer = resource.serializer(
            resource, self.schema, self.properties, self.visibility, resource.loaded
        )
        new = SavedValues(self._columns, lambda: self.create_schema)
        changed = SavedValues(self._columns, lambda: self.schema)
        limits = resource.limits
        self.limits = Limits(resource.name, limits, _find_served) if limits else None
        self.writer = Writer(resource, self.rows, new, changed, self.limits)
        # Called by application code, in addition to `rows`.
        self.insert, self.lock = self.writer.insert, self.writer.lock
        self.update, self.delete = self.writer.update, self.writer.delete

    @property
    def filterable(self) -> Properties:
        """The kinds of the properties that filters may use."""
        return self.filtered_model.properties

    @cached_property
    def filtered_model(self) -> FilteredModel:
        """What filters may use of the rows."""
        return filtered_model(self, visible(self._kinds(), self.visibility))

    @cached_property
    def included_model(self) -> FilteredModel:
        """What filters may use of rows that are included into others."""
        shown = self.visibility
        included = Visibility(shown.withheld | self.resource.protected, shown.inner)
        return included_model(self, visible(self._kinds(), included))

    def _without_relations(self) -> FilteredModel:
        """Return what the filters of a declaration may use: stored properties, no relations."""
        kinds = self._kinds()
        stored = {name: kind for name, kind in kinds.items() if name not in self.computed}
        return FilteredModel(stored, refusing(self.relations, self.computed))

    def _kinds(self) -> Properties:
        """Return the kinds of the properties; foreign keys have theirs once all tables exist."""
        kinds = kinds_of(self.properties, self._row_ids)
        kinds |= {name: column.result.kind for name, column in self.computed.items()}
        kinds.update(dict.fromkeys(self.resource.in_lower_case & kinds.keys(), LOWER_TEXT))
        if self._is_lenient:
            kinds = {name: lenient(kind) for name, kind in kinds.items()}
        return kinds | {name: replace(kinds[name], is_computed=True) for name in self.computed}

    def _withheld(self) -> frozenset[str]:
        """Return the properties that clients do not see.

        If clients may request undeclared names, this includes properties that are only written: a
        row may have a value from before they were declared.
        """
        withheld = self.resource.withheld
        if OTHERS not in self.properties:
            return withheld
        return withheld | (written_properties(self.schema).values() - self.properties.keys())

    def add_to(self, app: Flask) -> None:
        """Make the collection known to its app, to relations and to the OpenAPI document."""
        if self.rows.may_lag:
            self.rows.reader = readers.of(app)
            self.writer.before_write = self.rows.reader.note_write
        served_collections.of(app)[self.name] = self
        writers.of(app)[self.name] = self.writer

    @cached_property
    def shown_relations(self) -> Mapping[str, Relation]:
        """The relations that are not hidden, which filters may include."""
        withheld = self.visibility.withheld
        return {name: relation for name, relation in self.relations.items() if name not in withheld}

    @cached_property
    def id_name(self) -> str:
        """The property of the id; empty if clients do not see it."""
        return next((name for name, each in self.properties.items() if each is self.rows.key), "")

    @cached_property
    def id_form(self) -> ids.IdForm:
        """The form of the ids."""
        form: ids.IdForm = self.rows.key.type.form
        return form

    @cached_property
    def create_schema(self) -> Schema:
        """The schema of bodies that create a row."""
        schema = schema_of_new_rows(self.resource, self.rows.key, self.id_name)
        return with_computed(schema, self.computed)()

    @cached_property
    def most_new_rows(self) -> int:
        """The most rows that one request may create: `max_create`, or fewer for wide models."""
        return max(1, min(self.resource.max_create, MAX_VALUES // self.new_values_cost))

    @cached_property
    def new_values_cost(self) -> int:
        """The values of a new row that count towards MAX_VALUES."""
        fields = self.create_schema.load_fields.values()
        return max(1, sum(1 + sum(map(validation_cost, field.validators)) for field in fields))

    @cached_property
    def read_only(self) -> set[str]:
        """The properties that clients can read but not write."""
        return self.properties.keys() - written_properties(self.schema).values()

    @cached_property
    def embedded_objects(self) -> EmbeddedObjects:
        """The properties with objects of which clients see only a part."""
        shown = {
            name: (self.properties[name].key, visibility)
            for name, visibility in self.resource.embedded.items()
            if name in self.properties and visibility.hides_anything()
        }
        return EmbeddedObjects(self.rows, shown)

    @cached_property
    def _declared(self) -> set[str]:
        """The names of all properties, including those that clients do not see."""
        fields = {**self.schema.fields, **self.create_schema.fields}
        return {field.data_key or name for name, field in fields.items()}

    @cached_property
    def written_on_create(self) -> dict[str, str]:
        """The properties that clients may write when they create a row, by attribute."""
        return written_properties(self.create_schema)

    @cached_property
    def written_owner(self) -> tuple[str, str] | None:
        """The property of the owner and its attribute, if clients may write it."""
        written = written_properties(self.schema) | self.written_on_create
        return (written[self.owner_key], self.owner_key) if self.owner_key in written else None

    @cached_property
    def references(self) -> list[AnyReference]:
        """The properties with the id of another row that clients may write."""
        written = written_properties(self.schema) | self.written_on_create
        relations = (*self.relations.values(), *self.resource.foreign_keys)
        free_key = self.owner_key if self.resource.owner_may_change else ""
        references = references_of(relations, written, _find_served, free_key)
        known = {reference.attribute for reference in references}
        if self.written_owner and self.written_owner[1] not in known:
            # Without a relation, the id may be anybody's.
            references.append(Reference(*self.written_owner, find_readable=set))
        return references

    def parse(self, raw: Mapping[str, object] | None) -> Filter:
        """Read a filter for these rows; raise InvalidFilter."""
        usual = self._with_defaults(raw) if self.resource.default_filter else raw
        filter_ = self._parse_filter(usual, self.filtered_model)
        count_given(filter_, raw)
        return self._keep_included(filter_)

    def parse_included(self, raw: Mapping[str, object] | None) -> Filter:
        """Read a filter for rows that are included into others; raise InvalidFilter."""
        usual = self._with_defaults(raw, without=("where", "include"))
        filter_ = self._parse_filter(usual, self.included_model)
        count_given(filter_, raw)
        return self._keep_included(replace(filter_, withheld=self.resource.protected))

    def show_included(self, row: Any, dumped: Values) -> Values:
        """Return the visible part of a row's JSON object that is included into another."""
        shown = self.serializer.emit_loaded(row, dumped)
        protected = self.resource.protected
        return {name: value for name, value in shown.items() if name not in protected}

    def usual_filter(self, scope: Mapping[str, object]) -> Filter:
        """Return the default filter within the scope of a relation: where, order and fields."""
        usual = filter_within(self.resource.default_filter, scope)
        given = {name: usual.get(name) for name in ("where", "order")}
        filter_ = self._parse_filter(given, self._without_relations())
        shown = self._parse_filter({"fields": usual.get("fields")}, FilteredModel(self._kinds()))
        return replace(filter_, fields=shown.fields)

    def target(self, relation: Relation) -> "Collection":
        """Return the collection that a relation leads to, without its scope."""
        return served_collections.current[relation.target]

    def _parse_filter(self, raw: Mapping[str, object] | None, model: FilteredModel) -> Filter:
        """Read a filter that may use what a model has; raise InvalidFilter."""
        if self._is_lenient:
            return parse_leniently(raw, model, self._declared)
        return read_filter(raw, model)

    def _keep_included(self, filter_: Filter) -> Filter:
        """Return a filter that also reads the properties needed by its includes."""
        if not filter_.include:
            return filter_
        included = [self.relations[name] for name in filter_.include if name in self.relations]
        keys = {key for relation in included for key in relation.attributes}
        kept = [name for name, column in self.properties.items() if column.key in keys]
        return replace(filter_, kept=kept)

    def _with_defaults(
        self, raw: Mapping[str, object] | None, without: Container[str] = ("where",)
    ) -> Mapping[str, object]:
        """Return a filter completed by the default one."""
        default = self.resource.default_filter
        usual = {name: value for name, value in default.items() if name not in without}
        return {**usual, **(raw or {})}

    def parse_id(self, text: str) -> ids.Id:
        """Return the id in a path; raise ModelNotFound for an invalid id."""
        row_id = self.id_form.parse(text)
        if row_id is None:
            raise ModelNotFound(self.singular, text)
        return row_id

    def authorize_id(self, grant: Grant, text: str) -> ids.Id:
        """Return the id in a path; raise ModelNotFound for an invalid id.

        If the rows are users, raises the access error for another user's id.
        """
        row_id = self.id_form.parse(text)
        if self.is_owner_model and not grant.covers(row_id):
            raise denial(self.name, text)
        if row_id is None:
            raise ModelNotFound(self.singular, text)
        return row_id

    def scope(self, method: str) -> Conditions:
        """Return the conditions for the rows on which the caller may call a method.

        Raises the access error if there are no such rows.
        """
        return self.rows.scope(authorize(self.name, method))

    def related_grant(self, method: str, relation: str) -> Grant:
        """Return the caller's grant for a method that a relation calls; raise the access error."""
        if self.resource.ruled_by_parent:
            return unlimited_grant(self.name, method)
        return authorize_related(self.name, method, relation)

    @property
    def related_readable(self) -> Conditions:
        """The conditions for rows that the caller may read by a relation; they may exclude all."""
        if self.resource.ruled_by_parent and is_in_scope(self.name, "findById"):
            return []
        return self.readable

    @property
    def readable(self) -> Conditions:
        """The conditions for rows that the caller may read; they may exclude all rows."""
        grant = find_grant(self.name, "findById")
        return self.rows.scope(grant) if grant.decision else [self.rows.nothing]

    def read(self, grant: Grant, row_id: ids.Id) -> Row:
        """Return one row that a grant covers; raise ModelNotFound."""
        row = self.rows.read(row_id, grant)
        if row is None:
            raise ModelNotFound(self.singular, row_id)
        return row

    def or_404(self, row_id: object, found: Result | None) -> Result:
        """Return what was found of a row; raise ModelNotFound if it is None."""
        if found is None:
            raise ModelNotFound(self.singular, row_id)
        return found

    def or_denied(self, row_id: ids.Id, found: Result | None, within: Conditions = ()) -> Result:
        """Return what was found of a row; if it is None, raise the error of a call on such a row.

        The access error if the caller may read the row within these conditions, else ModelNotFound.
        """
        if found is None and self.rows.get(row_id, [*within, *self.readable]) is not None:
            raise denial(self.name, row_id)
        return self.or_404(row_id, found)

    def write_scope(self, grant: Grant, *within: Condition) -> WriteScope:
        """Return a grant's scope for changes of the rows that meet conditions."""
        return WriteScope(self.rows, grant, within)


# The collections of an app by name, including those that only relations lead to.
served_collections = AppState[dict[str, Collection]]("collections", factory=lambda _app: {})
# The resources of models in JSON by name, also before they are served.
declared_resources = AppState[dict[str, Resource]]("resources", factory=lambda _app: {})
# Returns True if something else replaces a sample model.
replaced_by_others = AppState[Callable[[Resource], bool]](
    "replaced samples", factory=lambda _app: lambda _sample: False
)


def get_resource(name: str) -> Resource:
    """Return the resource with this name as served by the current app; raise LookupError.

    Use it for models in JSON. In `extend`, their hooks and endpoints may not be complete yet.
    Receivers connected to its hooks belong to this app only.

    Example::

        books = get_resource("books")
        books.insert([{"title": "Emma"}])
        titles = db.session.scalars(select(books.model.title))
    """
    served = served_collections.current
    if name in served:
        return served[name].resource
    declared = declared_resources.current
    if name not in declared:
        known = ", ".join(sorted({*served, *declared}))
        raise LookupError(f"there is no resource {name!r}; there are {known}")
    return declared[name]


def _find_served(name: str) -> Collection:
    return served_collections.current[name]
