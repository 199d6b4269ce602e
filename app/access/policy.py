"""Authorization: whether the caller may call a method, and on which rows."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from flask import Flask, current_app
from marshmallow import ValidationError
from sqlalchemy import ColumnElement, and_, false, func, not_, or_, true
from werkzeug.exceptions import HTTPException

from app.database.columns import AnyColumn
from app.errors import (
    AccessDenied,
    AuthorizationRequired,
    InsufficientScope,
    ModelNotFound,
    StrongerLoginRequired,
)
from app.ids import FORMS, Id
from app.problems import ConfigurationError
from app.state import AppState

from .admins import is_admin
from .identity import Identity, current_identity
from .parsing import parse_rules
from .roles import ADMIN
from .rules import (
    EVERYONE,
    OWNER,
    READ,
    STRONG,
    Decision,
    DynamicRole,
    MethodRules,
    ModelRules,
    Principal,
    Rule,
    allow,
    check_dynamic,
    check_methods,
    check_owners,
    rules_of_methods,
)

CREATE = "create"
# The name of the rules for rows that are created through a relation, for which $owner may be the
# caller. They are applied after access to the parent row was checked.
CREATE_RELATED = "create through a relation"

# The models of users by the names of their resources, each as the `principal_type` of its users.
principal_types = AppState[dict[str, str]]("models of users", factory=lambda _app: {"users": ""})

# The decision for callers whom no rule, or no scope, permits a method.
NOTHING = Decision(own=False, others=False)

# Functions of features that return the kinds of factors that a user has, such as `totp`.
factor_kinds = AppState[list[Callable[[Id], Iterable[str]]]](
    "kinds of factors", factory=lambda _app: []
)

# The rules of each model and method.
compiled_rules = AppState[dict[tuple[str, str], MethodRules]](
    "compiled rules", factory=lambda _app: {}
)


@dataclass(frozen=True)
class Grant:
    """The caller's permission for a method: the user id (None if anonymous) and the decision."""

    user_id: Id | None
    decision: Decision
    # Whether only some of the rows of one owner may be permitted.
    by_row: ClassVar[bool] = False

    def scope(self, owner: AnyColumn | None) -> list[ColumnElement[bool]]:
        """Return the conditions that limit a query to the permitted rows."""
        if self.decision.own == self.decision.others:
            return []
        if owner is None:
            # Rows without an owner column belong to no user.
            return [] if self.decision.others else [false()]
        return [owner == self.user_id if self.decision.own else owner != self.user_id]

    def written_scope(
        self, owner: AnyColumn | None, is_own: bool = False
    ) -> list[ColumnElement[bool]]:
        """Return the conditions that rows must meet after they were written.

        None, unless the permission depends on the row; the owner given in a body is checked
        separately. With `is_own` the caller counts as the owner of all rows.
        """
        return []

    @property
    def only_own(self) -> bool:
        """Whether only the caller's own rows are permitted."""
        return self.decision.own and not self.decision.others

    @property
    def covers_all(self) -> bool:
        """Whether every row is permitted."""
        return self.decision.own and self.decision.others and not self.by_row

    def covers(self, owner: Id | None) -> bool:
        """Return True if rows of this owner are permitted; None stands for rows without one."""
        is_own = owner is not None and owner == self.user_id
        return self.decision.own if is_own else self.decision.others


@dataclass(frozen=True)
class RowGrant(Grant):
    """A permission that depends on dynamic roles, which a user may have for only some rows."""

    user_id: Id
    # The rules that may decide, in the order of their rank.
    rules: Sequence[Rule]
    dynamic: Mapping[str, DynamicRole]
    by_row: ClassVar[bool] = True

    def scope(self, owner: AnyColumn | None) -> list[ColumnElement[bool]]:
        """Return the condition that the first rule that applies to a row allows the call."""
        is_own = false() if owner is None else func.coalesce(owner == self.user_id, false())
        return [self._permitted(is_own)]

    def written_scope(
        self, owner: AnyColumn | None, is_own: bool = False
    ) -> list[ColumnElement[bool]]:
        """Return the condition of the scope: written rows must be within it, too."""
        return [self._permitted(true())] if is_own else self.scope(owner)

    @property
    def only_own(self) -> bool:
        """Return False: other users' rows may be permitted."""
        return False

    def covers(self, owner: Id | None) -> bool:
        """Return True if rows of a user may be permitted."""
        return bool(self.decision)

    def _permitted(self, is_own: ColumnElement[bool]) -> ColumnElement[bool]:
        """Return the condition of the rules; `is_own` is the one that a row is the caller's."""
        permitted: ColumnElement[bool] = false()
        for rule in reversed(self.rules):
            applies = self._applies(rule.principal, is_own)
            permitted = or_(applies, permitted) if rule.allow else and_(not_(applies), permitted)
        return permitted

    def _applies(self, principal: Principal, is_own: ColumnElement[bool]) -> ColumnElement[bool]:
        """Return the condition that a rule for this principal applies to a row; never NULL."""
        if principal in self.dynamic:
            return func.coalesce(self.dynamic[str(principal)](self.user_id), false())
        return is_own if principal == OWNER else true()


@dataclass(frozen=True)
class SparingGrant(Grant):
    """A permission to change users for a caller who is not an admin: admins are excluded.

    Rules cannot grant more: a caller who changes the email of an admin could log in as one.
    """

    granted: Grant
    by_row: ClassVar[bool] = True

    def scope(self, owner: AnyColumn | None) -> list[ColumnElement[bool]]:
        """Return the conditions of the permission, and that a row is not an admin's."""
        others = false() if owner is None else not_(is_admin(owner))
        return [*self.granted.scope(owner), others]

    def written_scope(
        self, owner: AnyColumn | None, is_own: bool = False
    ) -> list[ColumnElement[bool]]:
        """Return the conditions of the permission: no write makes a user an admin."""
        return self.granted.written_scope(owner, is_own)

    @property
    def only_own(self) -> bool:
        """Return False: other users' rows are permitted."""
        return False

    def covers(self, owner: Id | None) -> bool:
        """Return True if rows of a user may be permitted."""
        return self.granted.covers(owner)


def install_rules(app: Flask, declared: ModelRules) -> None:
    """Compile a model's rules for each of its methods; rules in ACLS replace those of the model.

    Raises ConfigurationError for a rule of a method that does not exist or cannot have it.
    """
    model, dynamic = declared.model, declared.dynamic
    methods = {method.method: method.access for method in declared.methods}
    # Rules that name another one would have no effect.
    named = {method.method: method.access for method in declared.methods if not method.ruled_by}
    owned = {method.method for method in declared.methods if method.owned}
    by_row = {method.method for method in declared.methods if method.by_row}
    session_only = {method.method for method in declared.methods if method.session_only}
    narrowed_by = {method.method: method.narrowed_by for method in declared.methods}
    replaced = (app.config["ACLS"] or {}).get(model)
    try:
        given = [*rules_of_methods(declared.methods), *declared.rules]
        if replaced is not None:
            given = parse_rules(replaced, named, FORMS[app.config["ID_TYPE"]])
        rules = [*declared.kept, *given]
        check_methods(rules, named)
        check_owners(rules, owned)
        check_dynamic(rules, by_row, dynamic)
    except (ValidationError, ValueError, TypeError) as error:
        source = "the rules of" if replaced is None else "ACLS for"
        raise ConfigurationError(f"{source} {model} cannot be used: {error}") from None
    unscoped = {method.method for method in declared.methods if method.unscoped}
    compiled, is_of_users = compiled_rules.of(app), model in principal_types.of(app)
    for method, access in methods.items():
        applicable = _applicable(rules, method in owned, () if method in by_row else dynamic)
        compiled[model, method] = MethodRules(
            applicable,
            method,
            access,
            dynamic,
            session_only=method in session_only,
            # A method that changes existing users, which may be admins.
            spares_admins=is_of_users and access != READ and method in by_row - {CREATE},
            unscoped=method in unscoped,
            narrowed_by=narrowed_by[method],
            owners=declared.owners,
        )
    for ruled in declared.methods:
        if ruled.ruled_by == EVERYONE:
            permitted = [allow(EVERYONE, ruled.method)]
            compiled[model, ruled.method] = MethodRules(
                permitted, ruled.method, ruled.access, unscoped=True
            )
        elif ruled.ruled_by:
            compiled[model, ruled.method] = compiled[model, ruled.ruled_by]
    if CREATE in methods:
        barred = () if CREATE in by_row else dynamic
        applicable = _applicable(rules, bool(owned), barred)
        compiled[model, CREATE_RELATED] = MethodRules(applicable, CREATE, methods[CREATE], dynamic)


def _applicable(rules: Iterable[Rule], has_owner: bool, barred: Collection[str]) -> list[Rule]:
    """Return the rules for a method: those for $owner only if its rows have owners."""
    return [
        rule
        for rule in rules
        if rule.principal not in barred and (has_owner or rule.principal != OWNER)
    ]


def related_method(method: str) -> str:
    """Return the name of the rules for a method of a model that a relation calls."""
    return CREATE_RELATED if method == CREATE else method


def check_acls(app: Flask, off: Collection[str]) -> None:
    """Raise ConfigurationError for rules of a model that does not exist; `off` are switched off."""
    models = sorted({model for model, _ in compiled_rules.of(app)})
    for model in app.config["ACLS"] or {}:
        if model not in models and model not in off:
            raise ConfigurationError(f"ACLS has rules for {model}; there are {', '.join(models)}")


def roles_in_rules(app: Flask) -> set[str]:
    """Return the roles that rules mention; other roles permit nothing."""
    return {role for rules in compiled_rules.of(app).values() for role in rules.roles}


def authorize(model: str, method: str, row_id: object = None) -> Grant:
    """Return the caller's grant for a method; raise the `denial` if nothing is permitted."""
    grant = find_grant(model, method)
    if not grant.decision:
        raise _refusal(model, method, row_id)
    return grant


def find_grant(model: str, method: str) -> Grant:
    """Return the caller's grant for a method, which may permit nothing."""
    rules = compiled_rules.current[model, method]
    identity = current_identity()
    user_id = identity.user_id
    if identity.scopes is not None and not _covers(identity, model, rules):
        return Grant(user_id, NOTHING)
    roles = identity.roles_for(rules)
    if rules.owners is not None and rules.owners != identity.principal_type:
        return _sparing(identity, rules, _grant_without_own(rules, user_id, roles))
    if rules.dynamic and user_id is not None:
        return _sparing(identity, rules, _row_grant(rules, user_id, roles))
    grant = Grant(user_id, rules.decision(user_id, roles))
    return _sparing(identity, rules, grant) if rules.spares_admins else grant


def _sparing(identity: Identity, rules: MethodRules, grant: Grant) -> Grant:
    """Return a grant that excludes admins, if the method changes users other than the caller."""
    if not rules.spares_admins or not (grant.decision.others or grant.by_row):
        return grant
    if ADMIN in identity.roles:
        return grant
    return SparingGrant(grant.user_id, grant.decision, grant)


def _grant_without_own(rules: MethodRules, user_id: Id | None, roles: Collection[str]) -> Grant:
    """Return the grant of a caller who owns no rows: the owners are users of another model."""
    if rules.dynamic and user_id is not None:
        grant = _row_grant(rules, user_id, roles)
        others = [rule for rule in grant.rules if rule.principal != OWNER]
        possible = any(rule.allow for rule in others)
        return replace(grant, decision=replace(grant.decision, own=possible), rules=others)
    decision = rules.decision(user_id, roles)
    return Grant(user_id, Decision(own=decision.others, others=decision.others))


def _row_grant(rules: MethodRules, user_id: Id, roles: Collection[str]) -> RowGrant:
    applicable = rules.applicable(user_id, roles)
    possible = any(rule.allow for rule in applicable)
    # A role for certain rows does not count for users of others in general.
    decision = Decision(own=possible, others=rules.decision(user_id, roles).others)
    return RowGrant(user_id, decision, applicable, rules.dynamic)


def authorize_related(model: str, method: str, relation: str) -> Grant:
    """Return the caller's grant for a method of the model that a relation leads to.

    Raises the `denial`, with the relation in its `details`, if nothing is permitted.
    """
    grant = find_grant(model, method)
    if not grant.decision:
        error: Any = _refusal(model, method)
        error.details = {**getattr(error, "details", {}), "relation": relation}
        raise error
    return grant


def unlimited_grant(model: str, method: str) -> Grant:
    """Return a grant for all rows, for a method that no rules of its model decide on.

    Raises InsufficientScope unless the scopes of a personal token name the method.
    """
    if not is_in_scope(model, method):
        raise InsufficientScope(model, method)
    return Grant(current_identity().user_id, Decision(own=True, others=True))


def is_in_scope(model: str, method: str) -> bool:
    """Return True if the caller has no personal token, or one whose scopes name a method."""
    identity = current_identity()
    return identity.scopes is None or _covers(
        identity, model, compiled_rules.current[model, method]
    )


def _covers(identity: Identity, model: str, rules: MethodRules) -> bool:
    """Return True if the scopes of a personal token name a method that such tokens may call."""
    scopes = identity.scopes
    if scopes is None or rules.session_only:
        return False
    return rules.unscoped or scopes.cover(model, rules.method, rules.access)


def _refusal(model: str, method: str, row_id: object = None) -> HTTPException:
    """Return the error for a method that the caller may not call on any row."""
    identity, rules = current_identity(), compiled_rules.current[model, method]
    if identity.scopes is not None and not _covers(identity, model, rules):
        return InsufficientScope() if rules.session_only else InsufficientScope(model, rules.method)
    if identity.session is not None and _permits_strong(identity, rules):
        return StrongerLoginRequired(kinds=strong_kinds(identity.session.user_id))
    return denial(model, row_id)


def _permits_strong(identity: Identity, rules: MethodRules) -> bool:
    """Return True if the rules would permit a caller the method with a stronger login."""
    if not rules.depends_on_strength or identity.user_id is None:
        return False
    roles = identity.roles_for(rules) | {STRONG}
    return any(rule.allow for rule in rules.applicable(identity.user_id, roles))


def strong_kinds(user_id: Id) -> list[str]:
    """Return the kinds of factors by which a user may make a session a strong one."""
    return [kind for find in factor_kinds.current for kind in find(user_id)]


def denial(model: str, row_id: object = None) -> HTTPException:
    """Return the error for a denied call: 401 if anonymous, else as ACL_ERROR_STATUS says."""
    identity = current_identity()
    if identity.user_id is None:
        return identity.unauthorized()
    status = current_app.config["ACL_ERROR_STATUS"]
    if status == 404:
        return ModelNotFound(model, row_id)
    return AuthorizationRequired() if status == 401 else AccessDenied()


def denial_of_result(model: str) -> HTTPException:
    """Return the error for a write that would leave a row which the caller may not write."""
    error = denial(model)
    if isinstance(error, AccessDenied):
        error.description = "The row would become one that you may not write."
    return error
