"""The endpoints of relations through another model, whose rows link those of both sides."""

from collections.abc import Iterator
from contextlib import contextmanager

from flask import Response, current_app
from flask.typing import ResponseReturnValue
from sqlalchemy import delete, exists, insert, select

from app.access.policy import Grant, find_grant
from app.access.rules import READ, WRITE
from app.database.session import connection, transaction
from app.ids import Id
from app.rest.collection import Collection, served_collections
from app.rest.endpoint import NO_CONTENT, declare
from app.rest.rows.repository import Conditions
from app.settings import is_compatible

from .related import Related
from .tagged import respond_row


class ThroughViews(Related):
    """The endpoints that only relations through another model have.

    Linking takes the permission of the relation and to read both rows: its answer, and what it
    changes, is about both. A row that the caller cannot read is as if it did not exist.
    """

    @declare("create", WRITE, "POST /", body="New{}", answer="{}", requires="create")
    def post(self, grant: Grant, id: str) -> ResponseReturnValue:
        """Create a row and link it to the parent."""
        parent_id = self.parent_id(grant, id)
        new = self.new_row(grant, {})
        with transaction():
            rows = self.target.insert(new.items)
            self._insert(grant, parent_id, rows[0].id)
            self.target.writer.check_written([rows[0].id], new.required)
        return respond_row(self.target, rows[0])

    @declare("link", WRITE, "PUT /rel/<fk>", requires="findById")
    def link(self, grant: Grant, id: str, fk: str) -> ResponseReturnValue:
        """Link a row to the parent, unless it is linked already."""
        parent_id, row_id = self._readable_ids(grant, id, fk)
        with self._checked_sides(grant, parent_id, row_id):
            if not self._is_linked(parent_id, row_id):
                self._insert(grant, parent_id, row_id)
        return NO_CONTENT

    @declare("unlink", WRITE, "DELETE /rel/<fk>", requires="findById")
    def unlink(self, grant: Grant, id: str, fk: str) -> ResponseReturnValue:
        """End the link of a row to the parent; the row stays."""
        parent_id, row_id = self._readable_ids(grant, id, fk)
        count = self._unlink(grant, parent_id, self._links(parent_id, row_id))
        if not is_compatible(current_app.config):
            self.target.or_404(row_id, count or None)
        return NO_CONTENT

    @declare("delete", WRITE, "DELETE /", requires="findById")
    def unlink_all(self, grant: Grant, id: str) -> ResponseReturnValue:
        """End the links of the parent to all rows that the caller may read; the rows stay."""
        parent_id, rows = self._readable_parent(grant, id), self.target.rows
        readable = select(rows.key).where(*self.target_scope("findById"), *rows.restriction)
        link = self.relation.link
        linked_to = link(self.relation.target_key).in_(readable.correlate(None))
        links = [link(self.relation.foreign_key) == parent_id, linked_to]
        self._unlink(grant, parent_id, links)
        return NO_CONTENT

    @declare("exists", READ, "HEAD /rel/<fk>", requires="findById")
    def exists(self, grant: Grant, id: str, fk: str) -> ResponseReturnValue:
        """Tell by the status whether a row is linked to the parent."""
        parent_id, row_id = self._readable_ids(grant, id, fk)
        self.target.or_404(row_id, self._is_linked(parent_id, row_id) or None)
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

    @contextmanager
    def _checked_sides(self, grant: Grant, parent_id: Id, row_id: Id) -> Iterator[None]:
        """Change a link in the block, in a transaction; raise the access error for what it leaves.

        The rows of both sides must fulfil the conditions by which the caller may link them.
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
        """End links; raise the access error if the parent then is not as the permission needs it.

        The other side may be: who reads a row by a link may end that.
        """
        required = self.parent.rows.written_scope(grant)
        if not required:
            return self._delete(links)
        with transaction():
            self.parent.rows.lock(parent_id)
            count = self._delete(links)
            self.parent.writer.check_written([parent_id], required)
        return count

    def _links(self, parent_id: Id, row_id: Id) -> Conditions:
        link = self.relation.link
        return [
            link(self.relation.foreign_key) == parent_id,
            link(self.relation.target_key) == row_id,
        ]

    def _is_linked(self, parent_id: Id, row_id: Id) -> bool:
        with connection() as database:
            return bool(database.scalar(select(exists().where(*self._links(parent_id, row_id)))))

    @property
    def _link_collection(self) -> Collection | None:
        """The collection of the model between both, if that is served."""
        served = served_collections.current.values()
        return next(
            (collection for collection in served if collection.model is self.relation.through), None
        )

    def _delete(self, links: Conditions) -> int:
        if model := self._link_collection:
            return model.delete(links)
        with connection() as database:
            return database.execute(delete(self.relation.links).where(*links)).rowcount

    def _insert(self, grant: Grant, parent_id: Id, row_id: Id) -> None:
        """Store a link; as a row of its model, if that is served, which becomes the caller's."""
        keys = {self.relation.foreign_key: parent_id, self.relation.target_key: row_id}
        new = self.relation.new_link_id()
        if model := self._link_collection:
            body = {model.id_name: new["id"]} if new and model.resource.id_on_create else {}
            model.create(body, grant.user_id, keys)
            return
        keys |= new
        values = {self.relation.link(name): value for name, value in keys.items()}
        with connection() as database:
            database.execute(insert(self.relation.links).values(values))


def _place(side: tuple[Collection, Id]) -> tuple[str, str]:
    """Return the place of a row in the order in which rows are locked."""
    collection, row_id = side
    return collection.rows.key.table.name, str(row_id)
