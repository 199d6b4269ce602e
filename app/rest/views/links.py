"""Endpoints of relations through another model, whose rows link both sides."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from flask import Response, current_app
from flask.typing import ResponseReturnValue
from sqlalchemy import delete, exists, insert, select

from app.access.policy import CREATE_RELATED, Grant, find_grant
from app.access.rules import READ, WRITE
from app.database.session import connection, transaction
from app.errors import UNKNOWN_PROPERTY, TooManyRows, ValidationError
from app.ids import Id
from app.rest.answers import NO_CONTENT
from app.rest.collection import Collection, served_collections
from app.rest.endpoint import declare
from app.rest.relations import Relation
from app.rest.requests.bodies import read_body, read_items
from app.rest.rows.dependents import DELETION_ERRORS
from app.rest.rows.values import Condition, Conditions, NewRow, Row, Values
from app.rest.rows.writer import MAX_ROWS
from app.rest.writing import check_linked, delete_one, prepare_rows
from app.settings import is_compatible

from .related import Related
from .representations import read_check, respond_created


class Links:
    """The links of a relation: rows of the model in between, or of its table if it is not served.

    Linking two rows requires no permission of that model, but calls its hooks.
    """

    def __init__(self, relation: Relation) -> None:
        self._relation = relation

    @property
    def model(self) -> Collection | None:
        """The collection of the model in between, if it is served."""
        served = served_collections.current.values()
        return next(
            (collection for collection in served if collection.model is self._relation.through),
            None,
        )

    def of(self, parent_id: Id) -> Condition:
        """Return the condition for a parent's links."""
        return self._relation.link(self._relation.foreign_key) == parent_id

    def between(self, parent_id: Id, row_id: Id) -> Conditions:
        """Return the conditions for links between a parent and a row of the target."""
        return [self.of(parent_id), self._relation.link(self._relation.target_key) == row_id]

    def exist(self, conditions: Conditions) -> bool:
        """Return True if there is a link that meets the conditions."""
        with connection() as database:
            return bool(database.scalar(select(exists().where(*conditions))))

    def prepare(
        self,
        parent_id: Id,
        row_ids: Sequence[Id],
        user_id: Id | None,
        body: Values | None = None,
        many: bool = False,
    ) -> Sequence[NewRow]:
        """Return the values for `insert`, for links between a parent and rows of the target.

        `body` has the properties of each link besides both ids; as a row of its model it belongs to
        the user. Raises ValidationError, which names the link if there may be `many`.
        """
        relation, model = self._relation, self.model
        links = [{relation.foreign_key: parent_id, relation.target_key: id} for id in row_ids]
        if model is None:
            return [{**link, **relation.new_link_id()} for link in links]
        bodies = [{**self._given_id(model), **(body or {})} for _ in links]
        return prepare_rows(model, bodies if many else bodies[0], user_id, each=links)

    def _given_id(self, model: Collection) -> Values:
        """Return the id of a new link, if clients choose it and the database does not."""
        new = self._relation.new_link_id() if model.resource.id_on_create else {}
        return {model.id_name: new["id"]} if new else {}

    def insert(self, links: Sequence[Any], required: Sequence[Condition] = ()) -> None:
        """Store links; as rows of their model they must meet the required conditions."""
        if model := self.model:
            model.insert(links, required)
        elif links:
            column = self._relation.link
            rows = [{column(name).key: value for name, value in link.items()} for link in links]
            # All in one statement, with a returned column.
            statement = insert(self._relation.links).returning(column(self._relation.target_key))
            with connection() as database:
                database.execute(statement, rows)

    def delete(self, conditions: Conditions) -> int:
        """Delete the links that meet the conditions; return their number."""
        if model := self.model:
            return model.delete(conditions)
        with connection() as database:
            return database.execute(delete(self._relation.links).where(*conditions)).rowcount


class ThroughViews(Related):
    """The endpoints that only relations through another model have.

    Linking requires the permission of the relation and to read both rows, because its response and
    its effect concern both. A row that the caller may not read is treated as missing.
    """

    @declare(
        *("create", WRITE, "POST /"),
        body="New{} | [New{}]",
        answer="{} | [{}]",
        requires="create",
        summary="Create a {row} and link it to the {parent}, or all {row}s of an array or none",
    )
    def post(self, grant: Grant, id: str) -> ResponseReturnValue:
        """Create a row and link it to the parent, or all rows of an array or none."""
        parent_id, links = self.parent_id(grant, id), Links(self.relation)
        user_id, required = self.creation()
        body = read_items()
        # Each of them is linked.
        if isinstance(body, list) and (model := links.model):
            check_linked(self.target, body, model)
        new, many = prepare_rows(self.target, body, user_id), isinstance(body, list)

        def link(rows: Sequence[Row]) -> None:
            row_ids = [row.id for row in rows]
            links.insert(links.prepare(parent_id, row_ids, grant.user_id, many=many))

        with transaction():
            rows = self.target.insert(new, required, link)
            of_parent = self.parent.rows.written_scope(grant)
            self.parent.writer.check_written([parent_id], of_parent)
        return respond_created(self.target, rows, body)

    @declare(
        "link",
        WRITE,
        "PUT /rel/<fk>",
        requires="findById",
        reads_parent=True,
        makes_link=True,
        summary="Link a {row} to the {parent}, unless it is already linked",
        description="The body may have further properties of a new link.",
    )
    def link(self, grant: Grant, id: str, fk: str) -> ResponseReturnValue:
        """Link a row to the parent, unless it is already linked."""
        parent_id, row_id = self._readable_ids(grant, id, fk)
        links = Links(self.relation)
        body, required = self._read_link(links.model)
        between = links.between(parent_id, row_id)
        if links.exist(between):
            return NO_CONTENT
        new = links.prepare(parent_id, [row_id], grant.user_id, body)
        with self._checked_sides(grant, parent_id, row_id):
            # A concurrent request may have linked them.
            if not links.exist(between):
                links.insert(new, required)
        return NO_CONTENT

    @declare(
        "unlink",
        WRITE,
        "DELETE /rel/<fk>",
        errors=DELETION_ERRORS,
        requires="findById",
        reads_parent=True,
        summary="Remove the link of a {row} to the {parent}; the {row} is kept",
    )
    def unlink(self, grant: Grant, id: str, fk: str) -> ResponseReturnValue:
        """Remove the link of a row to the parent; the row is kept."""
        parent_id, row_id = self._readable_ids(grant, id, fk)
        between = Links(self.relation).between(parent_id, row_id)
        count = self._unlink(grant, parent_id, between)
        if not is_compatible(current_app.config):
            self.target.or_404(row_id, count or None)
        return NO_CONTENT

    @declare(
        "destroyById",
        WRITE,
        "DELETE /<fk>",
        errors=DELETION_ERRORS,
        requires="deleteById",
        has_preconditions=True,
        summary="Delete one {row} that belongs to the {parent}, with its link",
    )
    def destroy_by_id(self, grant: Grant, id: str, fk: str) -> ResponseReturnValue:
        """Delete one row that belongs to the parent, with its link."""
        target, links = self.target, Links(self.relation)
        parent_id, permitted = self.parent_id(grant, id), self.target_scope("deleteById")
        row_id = self.child_id(id, fk, [self.belonging(parent_id), *permitted])
        check = read_check(target)
        with self._checked_parent(grant, parent_id):
            # Links that are themselves rows of the target are kept, as other rows that refer to it.
            if self.relation.through is not target.model:
                # Before the row, whose deletion would leave the link without it.
                count = links.delete(links.between(parent_id, row_id))
                target.or_404(row_id, count or None)
            delete_one(target, row_id, permitted, check)
        return NO_CONTENT

    @declare(
        "delete",
        WRITE,
        "DELETE /",
        errors=(*DELETION_ERRORS, TooManyRows(MAX_ROWS)),
        requires="findById",
        reads_parent=True,
        summary=(
            "Remove the {parent}'s links to all {row}s that the caller may read; the "
            "{row}s are kept"
        ),
    )
    def unlink_all(self, grant: Grant, id: str) -> ResponseReturnValue:
        """Remove the parent's links to all rows that the caller may read; the rows are kept."""
        parent_id, rows = self._readable_parent(grant, id), self.target.rows
        readable = select(rows.key).where(*self.target_scope("findById"), *rows.restriction)
        linked_to = self.relation.link(self.relation.target_key).in_(readable.correlate(None))
        self._unlink(grant, parent_id, [Links(self.relation).of(parent_id), linked_to])
        return NO_CONTENT

    @declare(
        "exists",
        READ,
        "HEAD /rel/<fk>",
        requires="findById",
        reads_parent=True,
        summary="Answer by the status whether a {row} is linked to the {parent}",
    )
    def exists(self, grant: Grant, id: str, fk: str) -> ResponseReturnValue:
        """Answer by the status whether a row is linked to the parent."""
        parent_id, row_id = self._readable_ids(grant, id, fk)
        links = Links(self.relation)
        self.target.or_404(row_id, links.exist(links.between(parent_id, row_id)) or None)
        return Response()

    def _readable_ids(self, grant: Grant, id: str, fk: str) -> tuple[Id, Id]:
        """Return the ids of the parent and of a row of the target, if the caller may read both."""
        parent_id = self._readable_parent(grant, id)
        row_id, readable = self.target.parse_id(fk), self.target_scope("findById")
        self.target.or_404(row_id, self.target.rows.get(row_id, readable))
        return parent_id, row_id

    def _readable_parent(self, grant: Grant, id: str) -> Id:
        """Return the id of the parent, if the caller may read it."""
        parent_id = self.parent.authorize_id(grant, id)
        conditions = self.parent.rows.scope(grant)
        if not self.target.resource.ruled_by_parent:
            conditions = [*conditions, *self.parent.scope("findById")]
        self.parent.or_404(parent_id, self.parent.rows.get(parent_id, conditions))
        return parent_id

    def _read_link(self, model: Collection | None) -> tuple[Values, Sequence[Condition]]:
        """Return the body's properties of a link, and the conditions that it must meet as a row.

        Properties require the permission to create rows of the model in between: raises the access
        error, and ValidationError if links are not rows of a model.
        """
        body = read_body()
        if not body:
            return body, ()
        if model is not None:
            permission = model.related_grant(CREATE_RELATED, self.name)
            return body, model.rows.written_scope(permission, is_own=True)
        if is_compatible(current_app.config):
            return {}, ()
        raise ValidationError({name: [UNKNOWN_PROPERTY] for name in body})

    @contextmanager
    def _checked_sides(self, grant: Grant, parent_id: Id, row_id: Id) -> Iterator[None]:
        """Change a link in the block, in a transaction; raise the access error.

        The rows of both sides must meet the conditions by which the caller may link them.
        """
        parent, target = self.parent, self.target
        of_parent = parent.rows.written_scope(grant)
        of_target = target.rows.written_scope(self.permission("findById"))
        if not target.resource.ruled_by_parent:
            of_parent += parent.rows.written_scope(find_grant(parent.name, "findById"))
        sides = [(parent, parent_id)] + ([(target, row_id)] if of_target else [])
        with transaction():
            # In the same order by the relation of the other side, which may lock both, too.
            for side, side_id in sorted(sides, key=_place):
                side.rows.lock(side_id)
            yield
            parent.writer.check_written([parent_id], of_parent)
            target.writer.check_written([row_id], of_target)

    def _unlink(self, grant: Grant, parent_id: Id, links: Conditions) -> int:
        """Remove links; raise the errors of `_checked_parent`."""
        with self._checked_parent(grant, parent_id):
            return Links(self.relation).delete(links)

    @contextmanager
    def _checked_parent(self, grant: Grant, parent_id: Id) -> Iterator[None]:
        """Remove links in the block, in a transaction; raise the access error.

        The parent must be in the state that the permission requires. The other side may be in any:
        callers who may read a row by a link may remove the link.
        """
        required = self.parent.rows.written_scope(grant)
        with transaction():
            if required:
                self.parent.rows.lock(parent_id)
            yield
            self.parent.writer.check_written([parent_id], required)


def _place(side: tuple[Collection, Id]) -> tuple[str, str]:
    """Return the position of a row in the order in which rows are locked."""
    collection, row_id = side
    return collection.rows.key.table.name, str(row_id)
