"""Access rules for the methods of a model, scored as in LoopBack 3 when one is first called."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from operator import itemgetter
from types import MappingProxyType
from typing import NamedTuple, Protocol

from marshmallow import ValidationError
from sqlalchemy import ColumnElement

from app.ids import Id

# The principal that is every caller.
EVERYONE = "$everyone"
# Callers with a valid access token.
AUTHENTICATED = "$authenticated"
# Callers without one.
UNAUTHENTICATED = "$unauthenticated"
# The user whom a row belongs to.
OWNER = "$owner"
# Callers who logged in with several factors, or with a passkey that verified them.
STRONG = "$strong"
# All other logged-in callers, and callers with a personal token.
WEAK = "$weak"
# The access type of methods that read; other methods of every collection are WRITE.
READ = "READ"
# The access type of methods that change rows.
WRITE = "WRITE"
# The access type of other methods. Rules with this type apply to READ and WRITE, too.
EXECUTE = "EXECUTE"

# The rank of a rule by its principal. Other roles have ROLE_RANK, including those that LoopBack 3
# does not have: there, the application would resolve them. A denial to $weak therefore applies to
# owners, too.
ROLE_RANK = 5
PRINCIPAL_RANKS = {
    STRONG: ROLE_RANK,
    WEAK: ROLE_RANK,
    OWNER: 4,
    AUTHENTICATED: 2,
    UNAUTHENTICATED: 2,
    EVERYONE: 1,
}


class UserPrincipal(NamedTuple):
    """A user as the principal of a rule; a plain string is the name of a role."""

    id: Id


Principal = str | UserPrincipal

# A dynamic role: returns the condition under which the user with an id has it for a row.
DynamicRole = Callable[[Id], ColumnElement[bool]]


@dataclass(frozen=True)
class Rule:
    """A rule that allows or denies: `properties` are method names or `*`, `access` a type or `*`.

    `allow` and `deny` are shorter. Raises TypeError for a user's id as the principal, which must be
    a UserPrincipal.
    """

    principal: Principal
    allow: bool
    access: str = "*"
    properties: frozenset[str] = frozenset({"*"})

    def __post_init__(self) -> None:
        """Raise TypeError for an id, which would be taken for the name of a role."""
        if not isinstance(self.principal, str | UserPrincipal):
            raise TypeError(
                f"the user {self.principal!r} is UserPrincipal({self.principal!r}) in a rule"
            )

    def score(self, method: str, access: str) -> int | None:
        """Return how specifically the rule matches a method, or None if it does not match.

        As in LoopBack 3, an exact match precedes a wildcard for the property, then for the access
        type; then a user precedes a role, a narrower role a wider one, and DENY precedes ALLOW.
        """
        by_property = _specificity(self.properties, method)
        # EXECUTE counts as an exact match for READ and WRITE, too.
        by_access = 3 if self.access == EXECUTE else _specificity({self.access}, access)
        if not by_property or not by_access:
            return None
        specificity = by_property * 4 + by_access
        if isinstance(self.principal, UserPrincipal):
            kind, rank = 4, 0
        else:
            kind, rank = 2, PRINCIPAL_RANKS.get(self.principal, ROLE_RANK)
        return ((specificity * 4 + kind) * 8 + rank) * 4 + (0 if self.allow else 3)


def _specificity(names: Collection[str], name: str) -> int:
    if name in names:
        return 3
    return 2 if "*" in names else 0


def allow(principal: Principal, *properties: str, access: str = "*") -> Rule:
    """Return a rule that allows a principal to call these methods, by default all.

    The principal is one of the constants, the name of a role or a UserPrincipal. With `access` the
    rule applies only to methods of this access type.
    """
    return Rule(principal, True, access, frozenset(properties or "*"))


def deny(principal: Principal, *properties: str, access: str = "*") -> Rule:
    """Return a rule that denies these methods to a principal, by default all.

    Takes the arguments of `allow`.
    """
    return Rule(principal, False, access, frozenset(properties or "*"))


class RuledMethod(Protocol):
    """A method that rules decide on, such as an endpoint."""

    @property
    def method(self) -> str:
        """Its name in rules."""

    @property
    def access(self) -> str:
        """Its access type."""

    @property
    def permits(self) -> Principal | None:
        """Whom it permits itself."""

    @property
    def ruled_by(self) -> str:
        """A method whose rules decide on it; EVERYONE if it decides itself; empty: its own."""

    @property
    def owned(self) -> bool:
        """Whether its rows have owners; rules for $owner apply to no others."""

    @property
    def by_row(self) -> bool:
        """Whether it applies the scope of a grant to the rows that it reads, changes or creates.

        Rules for dynamic roles apply to no others.
        """

    @property
    def session_only(self) -> bool | None:
        """Whether no personal token may call it; None counts as False."""

    @property
    def unscoped(self) -> bool:
        """Whether personal tokens may call it whatever their scopes are."""

    @property
    def narrowed_by(self) -> str:
        """A method without which it may not be called, unless rules allow it by name; or empty."""


@dataclass(frozen=True)
class ModelRules:
    """The methods of a model, and the rules that decide on them."""

    model: str
    methods: Sequence[RuledMethod]
    # The rules in addition to those of the methods; those of the setting ACLS replace both.
    rules: Sequence[Rule]
    # Rules that ACLS does not replace.
    kept: Sequence[Rule] = ()
    # The roles that depend on the row.
    dynamic: Mapping[str, DynamicRole] = field(default_factory=dict)
    # The model of users that own rows, its `principal_type`; None: users of any model.
    owners: str | None = None


def rules_of_methods(methods: Iterable[RuledMethod]) -> list[Rule]:
    """Return the rules that allow methods to those whom they permit themselves, by principal."""
    permitted = defaultdict[Principal, list[str]](list)
    for method in methods:
        if method.permits is not None:
            permitted[method.permits].append(method.method)
    return [allow(principal, *names) for principal, names in permitted.items()]


@dataclass(frozen=True)
class Decision:
    """Whether a method may be called on the caller's own rows, and on those of others."""

    own: bool
    others: bool

    def __bool__(self) -> bool:
        return self.own or self.others


class MethodRules:
    """The rules that match a method of a model; a call that no rule matches is denied."""

    def __init__(
        self,
        rules: Iterable[Rule],
        method: str,
        access: str,
        dynamic: Mapping[str, DynamicRole] = MappingProxyType({}),
        session_only: bool = False,
        spares_admins: bool = False,
        unscoped: bool = False,
        narrowed_by: str = "",
        owners: str | None = None,
    ) -> None:
        """Keep the rules, to rank them at first use; `dynamic` are the model's dynamic roles."""
        # The model of users that own rows; None: users of any model.
        self.owners = owners
        self.method, self.access = method, access
        # Whether the method changes users; only admins may change admins.
        self.spares_admins = spares_admins
        # Whether personal tokens may not call the method.
        self.session_only = session_only
        # Whether they may call it whatever their scopes are.
        self.unscoped = unscoped
        self._rules, self._dynamic = list(rules), dict(dynamic)
        self._narrowed_by = narrowed_by

    @cached_property
    def _ranked(self) -> list[Rule]:
        """The rules that match the method, the most specific first."""
        return _rank(self._rules, self.method, self.access)

    @cached_property
    def _principals(self) -> set[Principal]:
        return {rule.principal for rule in self._ranked}

    @cached_property
    def _user_ids(self) -> set[Id]:
        return {each.id for each in self._principals if isinstance(each, UserPrincipal)}

    @cached_property
    def dynamic(self) -> Mapping[str, DynamicRole]:
        """The dynamic roles that a decision depends on."""
        return {name: role for name, role in self._dynamic.items() if name in self._principals}

    @cached_property
    def roles(self) -> frozenset[str]:
        """The stored roles that it depends on; if there are none, the caller's are not queried."""
        stored = self._principals - PRINCIPAL_RANKS.keys() - self.dynamic.keys()
        return frozenset(role for role in stored if isinstance(role, str))

    @cached_property
    def depends_on_strength(self) -> bool:
        """Whether a decision depends on how the caller has logged in."""
        return not self._principals.isdisjoint({STRONG, WEAK})

    @cached_property
    def _for_anonymous(self) -> Decision:
        return self._decide({EVERYONE, UNAUTHENTICATED})

    @cached_property
    def _for_users(self) -> Decision:
        return self._decide({EVERYONE, AUTHENTICATED, WEAK})

    def decision(self, user_id: Id | None, roles: Collection[str] = ()) -> Decision:
        """Return the decision for a user with these roles, or for an anonymous caller (None).

        Users with a strong session have the role STRONG, others have WEAK.
        """
        if user_id is None:
            return self._for_anonymous
        if not roles and user_id not in self._user_ids:
            return self._for_users
        return self._decide(_held(user_id, roles))

    def applicable(self, user_id: Id, roles: Collection[str] = ()) -> list[Rule]:
        """Return the rules that may decide for a user with these roles, in the order of their rank.

        The roles are those of `decision`. Rules for $owner or a dynamic role depend on the row; the
        list ends with the first rule that decides for every row.
        """
        held = _held(user_id, roles)
        chosen: list[Rule] = []
        for rule in self._ranked:
            if rule.principal in held:
                return [*chosen, rule]
            if rule.principal == OWNER or rule.principal in self.dynamic:
                chosen.append(rule)
        return chosen

    @cached_property
    def narrowed_by(self) -> str:
        """The method that the caller must be allowed to call, too; empty if there is none.

        A rule that allows this method by its name decides without it.
        """
        is_named = any(rule.allow and self.method in rule.properties for rule in self._ranked)
        return "" if is_named else self._narrowed_by

    @property
    def names_users(self) -> bool:
        """Whether the decision may differ between users with the same roles."""
        return bool(self._user_ids)

    @property
    def allows_somebody(self) -> bool:
        """Whether some caller may call the method; roles without members count, too."""
        for rule in self._ranked:
            if rule.allow or rule.principal == EVERYONE:
                return rule.allow
        return False

    def _decide(self, principals: set[Principal]) -> Decision:
        own = principals | {OWNER} if AUTHENTICATED in principals else principals
        return Decision(own=self._first_match(own), others=self._first_match(principals))

    def _first_match(self, principals: set[Principal]) -> bool:
        """Return whether the highest-ranked rule for one of these principals allows the call."""
        for rule in self._ranked:
            if rule.principal in principals:
                return rule.allow
        return False


def _held(user_id: Id, roles: Collection[str]) -> set[Principal]:
    """Return the principals that every user is, and STRONG or WEAK."""
    strength = STRONG if STRONG in roles else WEAK
    return {EVERYONE, AUTHENTICATED, strength, UserPrincipal(user_id), *roles}


def _rank(rules: Iterable[Rule], method: str, access: str) -> list[Rule]:
    """Return the rules that match a method, the most specific first."""
    scores = [(rule, rule.score(method, access)) for rule in rules]
    matching = [(rule, score) for rule, score in scores if score is not None]
    return [rule for rule, _ in sorted(matching, key=itemgetter(1), reverse=True)]


def check_methods(rules: Iterable[Rule], methods: Collection[str]) -> None:
    """Raise ValidationError for a rule of a method that does not exist."""
    for rule in rules:
        if unknown := rule.properties - set(methods) - {"*"}:
            known = ", ".join(sorted(methods))
            raise ValidationError(f"there is no method {min(unknown)!r}; there are {known}")


def check_dynamic(rules: Iterable[Rule], by_row: Collection[str], dynamic: Collection[str]) -> None:
    """Raise ValidationError for a dynamic role with a reserved name or a method without rows."""
    if reserved := PRINCIPAL_RANKS.keys() & set(dynamic):
        raise ValidationError(f"{min(reserved)} cannot be a dynamic role")
    for rule in rules:
        if rule.principal in dynamic and (rowless := rule.properties - set(by_row) - {"*"}):
            raise ValidationError(
                f"the dynamic role {rule.principal} cannot be used for {min(rowless)!r}: it is not "
                "about rows"
            )


def check_owners(rules: Iterable[Rule], owned: Collection[str]) -> None:
    """Raise ValidationError for a rule for $owner of a method whose rows have no owners."""
    for rule in rules:
        if rule.principal == OWNER and not owned:
            raise ValidationError("$owner cannot be used: the rows have no owners")
        if rule.principal == OWNER and (unowned := rule.properties - set(owned) - {"*"}):
            raise ValidationError(
                f"$owner cannot be used for {min(unowned)!r}: it is not about rows with owners"
            )
