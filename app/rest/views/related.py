"""Both sides of a relation: the parent, and the rows of the target that belong to it.

The rules of both sides apply to each call, unless those of the parent decide alone.
"""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

from flask.typing import ResponseReturnValue
from sqlalchemy import and_, cast, select

from app.access.identity import current_identity
from app.access.policy import CREATE, CREATE_RELATED, Grant
from app.database.ids import key_value
from app.ids import Id
from app.rest.collection import Collection
from app.rest.relations import Relation
from app.rest.requests.bodies import read_body
from app.rest.rows.scopes import WriteScope
from app.rest.rows.values import Condition, Conditions, Element, Statement, Values
from app.rest.served_relations import target_of
from app.rest.writing import update_one

from .representations import check_first, respond_row, without_echo


class Creation(NamedTuple):
    """The user who creates rows of the target, and the conditions that they must meet."""

    user_id: Id | None
    required: Sequence[Condition]


class Related:
    """The parent and the target of one relation."""

    def __init__(self, parent: Collection, name: str, relation: Relation) -> None:
        self.parent = parent
        self.name = name
        self.relation = relation

    @cached_property
    def target(self) -> Collection:
        """The target's collection, within the scope of the relation."""
        return target_of(self.relation)

    def parent_id(self, grant: Grant, text: str) -> Id:
        """Return the id of a parent that the caller's permission covers; raise ModelNotFound."""
        parent_id = self.parent.authorize_id(grant, text)
        # The token proves that the caller exists; other rows must be looked up.
        owners = self.parent.resource.owners
        is_caller = self.parent.is_owner_model and parent_id == grant.user_id
        if owners is not None and owners != current_identity().principal_type:
            is_caller = False
        if grant.by_row or not is_caller:
            self.parent.read(grant, parent_id)
        return parent_id

    def belonging(self, key: object) -> Condition:
        """Return the condition that a row of the target belongs to a parent, by its `key`."""
        if self.relation.through is None:
            column = self.target.rows.column
            return and_(*(column(name) == value for name, value in self._linked_by(key).items()))
        link = self.relation.link
        linked = select(link(self.relation.target_key))
        belongs = link(self.relation.foreign_key) == key
        # The model in between may be the target itself, whose table the query already uses.
        is_linked: Condition = self.target.rows.key.in_(linked.where(belongs).correlate(None))
        return is_linked

    def _belonging_to(self, parents: Statement) -> Condition:
        """Return the condition that a row of the target belongs to one of several parents' ids."""
        relation = self.relation
        if relation.through is None:
            key = self.target.rows.column(relation.foreign_key)
            of_type = self._of_type().items()
            return and_(
                key.in_(parents),
                *(self.target.rows.column(name) == value for name, value in of_type),
            )
        linked = select(relation.link(relation.target_key))
        belongs = relation.link(relation.foreign_key).in_(parents)
        is_linked: Condition = self.target.rows.key.in_(linked.where(belongs).correlate(None))
        return is_linked

    def key(self, parent_id: Id) -> Id:
        """Return the id of a parent in the foreign key's type."""
        if not self.relation.discriminator:
            return parent_id
        return key_value(self.target.rows.column(self.relation.foreign_key), parent_id)

    def link_to(self, parent_id: Id) -> Values:
        """Return the values by attribute of a target's row that belongs to a parent."""
        return self._linked_by(self.key(parent_id))

    def _linked_by(self, key: object) -> Values:
        return {self.relation.foreign_key: key, **self._of_type()}

    def _of_type(self) -> Mapping[str, str]:
        relation = self.relation
        return {relation.discriminator: relation.type_name} if relation.discriminator else {}

    def scope(self, grant: Grant, text: str, target_method: str) -> Conditions:
        """Return the conditions for the parent's rows on which the target's method is allowed."""
        parent_id = self.parent_id(grant, text)
        return [self.belonging(self.key(parent_id)), *self.target_scope(target_method)]

    def write_scope(self, grant: Grant, text: str, target_method: str) -> WriteScope:
        """Return the scope for changing a parent's rows by a method of the target."""
        belonging = self.belonging(self.key(self.parent_id(grant, text)))
        permission, target = self.permission(target_method), self.target
        # Unless the target's rules decide too, a caller may not move a row to another parent.
        decides_alone = target.resource.ruled_by_parent and not grant.covers_all
        kept = self._of_permitted_parent(grant) if decides_alone else self.kept(grant)
        return WriteScope(target.rows, permission, [belonging], kept)

    def kept(self, grant: Grant) -> list[Condition]:
        """Return the conditions that rows written by the relation must meet.

        If the caller's permission depends on the parent, they must belong to one that it covers.
        """
        by_row = self.parent.rows.written_scope(grant)
        return self._of_permitted_parent(grant) if by_row else []

    def _of_permitted_parent(self, grant: Grant) -> list[Condition]:
        rows = self.parent.rows
        key: Element = rows.key
        if self.relation.discriminator:
            # The id in a key for several tables may be text.
            key = cast(key, self.target.rows.column(self.relation.foreign_key).type)
        parents = select(key).where(*rows.scope(grant), *rows.restriction)
        return [self._belonging_to(parents.correlate(None))]

    def permission(self, target_method: str) -> Grant:
        """Return the caller's permission for a method of the target; raise the access error."""
        return self.target.related_grant(target_method, self.name)

    def target_scope(self, target_method: str) -> Conditions:
        """Return the conditions for the target's rows on which its method is allowed."""
        return self.target.rows.scope(self.permission(target_method))

    def child_id(self, parent_id: str, text: str, scope: Conditions) -> Id:
        """Return the id of a parent's row within a scope.

        Raises the access error for a row that the caller may read, else ModelNotFound, also for a
        row of another parent, regardless of the body.
        """
        row_id = self.target.parse_id(text)
        belonging = self.belonging(self.key(self.parent.parse_id(parent_id)))
        self.target.or_denied(row_id, self.target.rows.get(row_id, scope), [belonging])
        return row_id

    def creation(self) -> Creation:
        """Return the target's rules for creating rows; raise the access error."""
        target = self.target
        # A new user has no owner.
        method = CREATE if target.is_owner_model else CREATE_RELATED
        permission = self.permission(method)
        # $owner may create a row through a relation, regardless of its owner.
        required = target.rows.written_scope(permission, is_own=True)
        return Creation(permission.user_id, required)

    def update(self, row_id: Id, scope: WriteScope) -> ResponseReturnValue:
        """Change some properties of a row of the target."""
        conditions = scope.conditions
        body, check = read_body(), check_first(self.target, row_id, conditions)
        changes = without_echo(self.target, row_id, conditions, body)
        row = update_one(self.target, row_id, scope, changes, partial=True, check=check)
        return respond_row(self.target, row)
