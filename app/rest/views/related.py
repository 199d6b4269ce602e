"""Both sides of a relation: the parent, and the rows of the target that belong to it.

The rules of both sides apply to each call, unless those of the parent decide alone.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from flask.typing import ResponseReturnValue
from sqlalchemy import and_, select

from app.access.policy import CREATE_RELATED, Grant
from app.database.ids import key_value
from app.ids import Id
from app.rest.collection import Collection, served_collections
from app.rest.relations import Relation
from app.rest.requests.bodies import read_body
from app.rest.rows.repository import Conditions

from .read_only import without_echo
from .tagged import check_first, respond_row


class Related:
    """The parent and the target of one relation."""

    def __init__(self, parent: Collection, name: str, relation: Relation) -> None:
        self.parent = parent
        self.name = name
        self.relation = relation

    @property
    def target(self) -> Collection:
        """The collection whose rows these are."""
        return served_collections.current[self.relation.target]

    def parent_id(self, grant: Grant, text: str) -> Id:
        """Return the id of a parent that the caller's permission covers; raise ModelNotFound."""
        parent_id = self.parent.authorize_id(grant, text)
        # The caller exists, as the token proves; whether other rows do must be asked.
        is_caller = self.parent.is_owner_model and parent_id == grant.user_id
        if grant.by_row or not is_caller:
            self.parent.read(grant, parent_id)
        return parent_id

    def belonging(self, key: Any) -> Any:
        """Return the condition that a row of the target belongs to a parent, by its `key`."""
        if self.relation.through is None:
            column = self.target.rows.column
            return and_(*(column(name) == value for name, value in self._linked_by(key).items()))
        link = self.relation.link
        linked = select(link(self.relation.target_key))
        belongs = link(self.relation.foreign_key) == key
        # The model between both may be the target itself, whose table is that of the query.
        return self.target.rows.key.in_(linked.where(belongs).correlate(None))

    def key(self, parent_id: Id) -> Id:
        """Return the id of a parent as the foreign key has it."""
        if not self.relation.discriminator:
            return parent_id
        return key_value(self.target.rows.column(self.relation.foreign_key), parent_id)

    def link_to(self, parent_id: Id) -> Mapping[str, Any]:
        """Return what a row of the target has that belongs to a parent, by attribute."""
        return self._linked_by(self.key(parent_id))

    def _linked_by(self, key: Any) -> Mapping[str, Any]:
        relation = self.relation
        of_type = {relation.discriminator: relation.type_name} if relation.discriminator else {}
        return {relation.foreign_key: key, **of_type}

    def scope(self, grant: Grant, text: str, target_method: str) -> Conditions:
        """Return the conditions for the parent's rows on which the target's method is allowed."""
        parent_id = self.parent_id(grant, text)
        return [self.belonging(self.key(parent_id)), *self.target_scope(target_method)]

    def permission(self, target_method: str) -> Grant:
        """Return the caller's permission for a method of the target; raise the access error."""
        return self.target.related_grant(target_method, self.name)

    def target_scope(self, target_method: str) -> Conditions:
        """Return the conditions for the rows of the target on which its method is allowed."""
        return self.target.rows.scope(self.permission(target_method))

    def child_id(self, parent_id: str, text: str, scope: Conditions) -> Id:
        """Return the id of a row of the parent within a scope.

        Raises the access error for one that the caller may read, else ModelNotFound, also for a row
        of another parent; whatever the body of the request is.
        """
        row_id = self.target.parse_id(text)
        belonging = self.belonging(self.key(self.parent.parse_id(parent_id)))
        self.target.or_denied(row_id, self.target.rows.get(row_id, scope), [belonging])
        return row_id

    def new_row(self, fixed: Mapping[str, Any]) -> Sequence[Any]:
        """Prepare a row of the target from the body, with these values."""
        # A user who is created is nobody's.
        method = "create" if self.target.is_owner_model else CREATE_RELATED
        grant = self.permission(method)
        return self.target.prepare(read_body(), grant.user_id, dict(fixed))

    def update(self, row_id: Id, scope: Conditions) -> ResponseReturnValue:
        """Change some properties of a row of the target."""
        body, check = read_body(), check_first(self.target, row_id, scope)
        changes = without_echo(self.target, row_id, scope, body)
        row = self.target.update_one(row_id, scope, changes, partial=True, check=check)
        return respond_row(self.target, row)
