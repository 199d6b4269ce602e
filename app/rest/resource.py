"""Resources: models declared as REST collections."""

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar, cast

from marshmallow.validate import Range
from sqlalchemy import inspect
from sqlalchemy.orm import InstrumentedAttribute
from werkzeug.exceptions import HTTPException

from app.access.rules import DynamicRole, Rule, rules_of_methods
from app.database.columns import AnyColumn
from app.fields import base as fields
from app.fields.base import Schema
from app.ids import MAX_CHOSEN, Id
from app.settings import Settings

from .endpoint import Endpoint, Route, View, described_by
from .filters.columns import has_short_ids
from .relations import Relation
from .rows.computed import Computation
from .rows.hooks import Hook
from .rows.limits import Limit
from .rows.repository import Repository
from .rows.values import Conditions, Row, Values
from .rows.writer import Writer, writers
from .serializer import Serializer
from .visibility import Visibility

Copied = TypeVar("Copied")


class OwnCopy(Generic[Copied]):
    """A dataclass field that copies its value, or creates one by default.

    A copy of the dataclass, made by `replace`, therefore shares its value with no other.
    """

    def __init__(self, make: Callable[[], Copied]) -> None:
        self._make = make

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, instance: object, owner: type) -> Copied:
        """Return the value; on the class, this field, which stands for a missing value."""
        return cast("Copied", self if instance is None else vars(instance)[self._name])

    def __set__(self, instance: object, value: Copied) -> None:
        vars(instance)[self._name] = self._make() if isinstance(value, OwnCopy) else copy(value)


@dataclass(frozen=True, eq=False)
class Resource:
    """A model declared as a collection, with its schemas, rules and relations.

    Several apps may serve it. A copy, made by `dataclasses.replace`, has the original's endpoints,
    roles and hooks, and may have further ones.

    Example::

        notes = Resource(
            name="notes",
            singular="note",
            model=Note,
            schema=NoteSchema,
            rules=lambda settings: [allow(AUTHENTICATED, "create"), allow(OWNER)],
            owner=Note.owner_id,
            relations={"owner": belongs_to("users", "owner_id")},
        )
    """

    # The name of the collection in rules and relations, and the name of a row in errors.
    name: str
    singular: str
    # The class mapped to the table.
    model: type[Any]
    # The schema of bodies and responses.
    schema: type[Schema]
    # Returns the access rules for the settings.
    rules: Callable[[Settings], Sequence[Rule]]
    # The attribute of a row's owner, for rules with the principal $owner.
    owner: InstrumentedAttribute[Any] | None = None
    # The model of users that own rows, if there are several; None: users of any. Set when served.
    owners: str | None = None
    # Relations by their names in endpoints and `include`.
    relations: Mapping[str, Relation] = field(default_factory=dict)
    # Functions that return, for a user's id, the condition under which the user has a role for a
    # row; by the role's name in rules.
    roles: OwnCopy[dict[str, DynamicRole]] = OwnCopy(dict)
    # The schema of a body that creates a row, if it differs from `schema`.
    create_schema: type[Schema] | None = None
    # How rows are read and written, if this is not done by plain statements; takes the arguments of
    # Repository.
    repository: Callable[..., Repository] = Repository
    # How rows are serialized to JSON objects.
    serializer: type[Serializer] = Serializer
    # The maximum rows that one request may create, if these have at most MAX_VALUES.
    max_create: int = 1000
    # Errors of the repository, by the method that raises them.
    errors: Mapping[str, Sequence[HTTPException]] = field(default_factory=dict)
    # Endpoints in addition to those of every collection, as declared.
    own_endpoints: OwnCopy[list[Endpoint]] = OwnCopy(list)
    # Returns further endpoints for the collection that serves them; for None as declared, which
    # cannot be called.
    added_endpoints: Callable[[Any], Sequence[Endpoint]] = lambda _collection: ()
    # The segment of the path below the base path, in any case; None: the name.
    path: str | None = None
    # belongsTo relations without endpoints; their foreign keys are checked, too.
    foreign_keys: Sequence[Relation] = ()
    # Text attributes with values in lower case: filters compare them in any case.
    in_lower_case: frozenset[str] = frozenset()
    # Properties that are left out of included rows.
    protected: frozenset[str] = frozenset()
    # Properties that the service reads, such as foreign keys, but that are in no response.
    withheld: frozenset[str] = frozenset()
    # The visibility of objects in JSON properties, by property.
    embedded: Mapping[str, Visibility] = field(default_factory=dict)
    # A filter whose `where` all rows must match, and whose other parts are defaults.
    default_filter: Mapping[str, object] = field(default_factory=dict)
    # How many rows may belong to one row of another model.
    limits: Sequence[Limit] = ()
    # Read-only properties that queries compute: a `select` of one value, or an expression, about a
    # row of the table; if it depends on the caller, a function that returns it.
    computed: Mapping[str, Computation] = field(default_factory=dict)
    # Whether changes of the rows are recorded in the log of changes, which `{"keep": ["status"]}`
    # also makes keep the values of these properties.
    changes: bool | Mapping[str, Sequence[str]] = False
    # Whether the rows are users, each of whom owns its own row.
    holds_users: bool = False
    # Whether it has endpoints; otherwise its rows are only reached through relations.
    is_public: bool = True
    # Whether calls through a relation, and includes of it, are decided by the rules of the model
    # that has the relation alone.
    ruled_by_parent: bool = False
    # Methods that are switched off and on, as in LoopBack 3's `sharedMethods`, in addition to the
    # setting SHARED_METHODS.
    shared_methods: Mapping[str, bool] = field(default_factory=dict)
    # Whether personal tokens may not call its own endpoints by default.
    session_only: bool = False
    # Whether `PUT` replaces a row; otherwise it only changes what is sent, as `PATCH` does.
    replaces_on_put: bool = True
    # Whether deleting a row that does not exist is 404, regardless of COMPATIBILITY.
    finds_deleted: bool = False
    # Whether an owner may give a row to any other user.
    owner_may_change: bool = False
    # Whether clients may choose the id of a new row.
    id_on_create: bool = False
    # Whether clients must choose it, because ids are not generated.
    id_required: bool = False
    # What a row is, for readers of the OpenAPI document.
    description: str = ""
    # Sent before a row is created or changed, with a SaveEvent, whose values may be changed.
    before_save: OwnCopy[Hook] = OwnCopy(Hook)
    # Sent afterwards in the same transaction, with a SaveEvent.
    after_save: OwnCopy[Hook] = OwnCopy(Hook)
    # Sent before a row is deleted, with a DeleteEvent.
    before_delete: OwnCopy[Hook] = OwnCopy(Hook)
    # Sent afterwards in the same transaction, with a DeleteEvent.
    after_delete: OwnCopy[Hook] = OwnCopy(Hook)
    # Sent after a row was serialized, with a LoadEvent, which may be changed.
    loaded: OwnCopy[Hook] = OwnCopy(Hook)

    def endpoint(
        self, method: str, access: str, *routes: str, **declared: Any
    ) -> Callable[[View], View]:
        """Declare an additional endpoint, served at routes such as `POST /<id>/archive`.

        With `<id>` in the path, the view is called with the row of that id, if the rules allow the
        caller the method on it; with `finds_row=False` it is called with the id as text, whether
        the row exists or not. If `body` is a marshmallow schema, the view gets the loaded data as
        `body`. With `atomic=True`, for a view that only reads and writes rows of the database and
        answers with JSON, a batch may call it. `declared` are further fields of Endpoint; without
        `summary`, the view's docstring is `summary` and `description` in the OpenAPI document.
        Raises ValueError if only some of the routes have `<id>`.

        Example::

            @notes.endpoint("star", WRITE, "POST /<id>/star", answer=NoteSchema)
            def star(note):
                [changed] = notes.update([Note.id == note.id], {"stars": Note.stars + 1})
                return changed
        """
        by_id = "<id>" in routes[0]
        if any(("<id>" in route) != by_id for route in routes):
            raise ValueError(f"either all routes of {method} have <id>, or none")
        declared = {"finds_row": by_id, **declared}
        where = tuple(map(Route.parse, routes))

        def decorate(view: View) -> View:
            texts = {} if "summary" in declared else described_by(view)
            endpoint = Endpoint(
                method=method, access=access, routes=where, view=view, **texts, **declared
            )
            self.own_endpoints.append(endpoint)
            return view

        return decorate

    def all_rules(self, settings: Settings) -> list[Rule]:
        """Return the access rules for the settings, with those of its own endpoints."""
        return [*rules_of_methods(self.own_endpoints), *self.rules(settings)]

    @property
    def properties(self) -> dict[str, AnyColumn]:
        """The columns that clients may read, by their JSON names."""
        return shown_columns(self.model, self.schema())

    def insert(self, items: Sequence[Values]) -> Sequence[Row]:
        """Store new rows, calling hooks, without validation; return them in the same order.

        Values are by attribute, and get no defaults of JSON: an endpoint that stores what clients
        send has the `schema` of the resource as its `body`.
        """
        return self._writer.insert(items)

    def update(self, conditions: Conditions, values: Values) -> Sequence[Row]:
        """Change the rows that meet the conditions, calling hooks; return the changed rows.

        `notes.update([Note.stars > 3], {"text": "seen"})`; at most 500 rows if hooks are called,
        and 10,000 if a limit depends on the values.
        """
        return self._writer.update(conditions, values)

    def delete(self, conditions: Conditions) -> int:
        """Delete the rows that meet the conditions, calling hooks; return their number."""
        return self._writer.delete(conditions)

    def lock(self, row_id: Id) -> None:
        """Lock a row until the end of the transaction; others that lock it wait.

        Raises RuntimeError outside of a transaction.
        """
        self._writer.lock(row_id)

    @property
    def _writer(self) -> Writer:
        return writers.current[self.name]


def shown_columns(model: type[Any], schema: Schema) -> dict[str, AnyColumn]:
    """Return the columns of a model that a schema dumps, by their JSON names."""
    columns = inspect(model).columns
    shown = {
        field.data_key or name: field.attribute or name
        for name, field in schema.dump_fields.items()
    }
    return {name: columns[key] for name, key in shown.items() if key in columns}


def written_properties(schema: Schema) -> dict[str, str]:
    """Return the attributes that clients may write by a schema, with their properties."""
    fields = schema.load_fields.items()
    return {field.attribute or name: field.data_key or name for name, field in fields}


def schema_of_new_rows(resource: Resource, key: Any, id_name: str) -> type[Schema]:
    """Return the schema of bodies that create a row, with its id if clients may choose it."""
    schema = resource.create_schema or resource.schema
    if not resource.id_on_create:
        return schema
    required = resource.id_required or has_short_ids(key)
    id_field = fields.Id(key.type, data_key=id_name, required=required)
    if key.type.python_type is int:
        id_field.validators.append(Range(max=MAX_CHOSEN))
    return cast("type[Schema]", schema.from_dict({"id": id_field}, name=schema.__name__))
