"""The endpoints of a collection that do not depend on where its rows are stored."""

from dataclasses import replace

from flask import current_app, jsonify
from flask.typing import ResponseReturnValue

from app.access.policy import Grant
from app.access.rules import READ, WRITE
from app.errors import ModelNotFound
from app.ids import Id
from app.rest.collection import Collection
from app.rest.endpoint import declare
from app.rest.requests.bodies import Body, read_body
from app.rest.requests.parameters import read_parameter
from app.rest.rows.dependents import DELETION_ERRORS
from app.rest.rows.scopes import WriteScope
from app.rest.rows.values import Row
from app.rest.writing import delete_one, update_one
from app.settings import is_compatible

from .representations import (
    check_first,
    read_check,
    respond_row,
    respond_selected,
    without_echo,
)


class RowViews:
    """The views of a collection that do not depend on where its rows are stored.

    Methods and paths are LoopBack 3's.
    """

    def __init__(self, collection: Collection) -> None:
        self.collection = collection
        self.rows = collection.rows

    @declare(
        "findOne",
        READ,
        "GET /findOne",
        query="filter",
        answer="{}WithRelations",
        finds_row=True,
        summary="Show the first {row} that a filter selects",
    )
    def find_one(self, grant: Grant) -> ResponseReturnValue:
        """Show the first row that a filter selects."""
        filter_ = self.collection.parse({**(read_parameter("filter") or {}), "limit": 1})
        # All properties are needed for the entity tag.
        rows = self.rows.find(self.rows.scope(grant), replace(filter_, fields=None)).rows
        row = self.collection.or_404("undefined", rows[0] if rows else None)
        return respond_selected(self.collection, row, filter_)

    @declare(
        "count",
        READ,
        "GET /count",
        query="where",
        answer="Count",
        summary="Count the {row}s that a where selects",
    )
    def count(self, grant: Grant) -> ResponseReturnValue:
        """Count the rows that a `where` selects."""
        return jsonify({"count": self.count_rows(grant)})

    @declare(
        "patchAttributes",
        WRITE,
        "PATCH /<id>",
        body="{}Partial",
        answer="{}",
        finds_row=True,
        has_preconditions=True,
        summary="Change some properties of a {row}",
    )
    def patch_attributes(self, grant: Grant, id: str) -> ResponseReturnValue:
        """Change some properties of a row."""
        row_id = self.collection.authorize_id(grant, id)
        scope = self.collection.write_scope(grant)
        return self._update_one(row_id, scope, read_body(), partial=True)

    @declare(
        "replaceById",
        WRITE,
        "PUT /<id>",
        "POST /<id>/replace",
        body="{}Replacement",
        answer="{}",
        finds_row=True,
        has_preconditions=True,
        summary="Replace a {row}; properties that are not sent get their defaults",
    )
    def replace_by_id(self, grant: Grant, id: str) -> ResponseReturnValue:
        """Replace a row; properties that are not sent get their defaults."""
        row_id = self.collection.authorize_id(grant, id)
        scope = self.collection.write_scope(grant)
        return self._update_one(row_id, scope, read_body(), partial=False)

    @declare(
        "deleteById",
        WRITE,
        "DELETE /<id>",
        answer="Count",
        errors=DELETION_ERRORS,
        finds_row=True,
        has_preconditions=True,
        summary="Delete a {row}",
    )
    def delete_by_id(self, grant: Grant, id: str) -> ResponseReturnValue:
        """Delete a row."""
        try:
            row_id = self.collection.authorize_id(grant, id)
            check = read_check(self.collection)
            delete_one(self.collection, row_id, self.rows.scope(grant), check)
        except ModelNotFound:
            # As in LoopBack 3; a row that the caller may not delete does not count as missing.
            if not (grant.covers_all and self._may_miss_deleted()):
                raise
            return jsonify({"count": 0})
        return jsonify({"count": 1})

    def count_rows(self, grant: Grant) -> int:
        """Return the number of rows that the request's `where` selects."""
        filter_ = self.collection.parse({"where": read_parameter("where")})
        return self.rows.count(self.rows.scope(grant), filter_)

    def respond_to_head(self, grant: Grant, id: str) -> ResponseReturnValue:
        """Answer as `findById` if the caller may call that on the row, else with the status only.

        The headers of the response reveal the contents of the row.
        """
        row_id = self.collection.authorize_id(grant, id)
        readable = [*self.rows.scope(grant), *self.collection.readable]
        row = self.rows.get(row_id, readable)
        if row is not None:
            return self.show(row)
        self.collection.read(grant, row_id)
        return jsonify({"exists": True})

    def show(self, row: Row) -> ResponseReturnValue:
        """Return the response with one row."""
        return respond_row(self.collection, row)

    def _may_miss_deleted(self) -> bool:
        """Return True if deleting a row that does not exist is no error."""
        return is_compatible(current_app.config) and not self.collection.resource.finds_deleted

    def _update_one(
        self, row_id: Id, scope: WriteScope, body: Body, partial: bool
    ) -> ResponseReturnValue:
        check = check_first(self.collection, row_id, scope.conditions)
        changes = without_echo(self.collection, row_id, scope.conditions, body)
        row = update_one(self.collection, row_id, scope, changes, partial, check)
        return respond_row(self.collection, row)
