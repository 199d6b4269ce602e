"""Rules of who may call which method of a model: scored as the reference does, once, at start."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any

from marshmallow import Schema, ValidationError, fields, validate

EVERYONE, AUTHENTICATED, UNAUTHENTICATED, OWNER = (
    "$everyone",
    "$authenticated",
    "$unauthenticated",
    "$owner",
)
READ, WRITE, EXECUTE = "READ", "WRITE", "EXECUTE"

# How much a rule outranks another by the kind of its principal; any other role counts 5.
PRINCIPAL_RANKS = {OWNER: 4, AUTHENTICATED: 2, UNAUTHENTICATED: 2, EVERYONE: 1}
ROLE_RANK = 5


@dataclass(frozen=True)
class Rule:
    """One ALLOW or DENY. `properties` are method names, or `*`; `access` is a kind, or `*`."""

    principal: str | int
    allow: bool
    access: str = "*"
    properties: frozenset[str] = frozenset({"*"})

    def score(self, method: str, access: str) -> int | None:
        """Return how closely the rule fits a method, or None when it does not.

        The figures are the reference's: exact beats wildcard for property, then for access type;
        then a user beats a role, a closer principal a wider one, and DENY beats ALLOW.
        """
        by_property = _closeness(self.properties, method)
        # EXECUTE covers reading and writing as well, as closely as their own names do.
        by_access = 3 if self.access == EXECUTE else _closeness({self.access}, access)
        if not by_property or not by_access:
            return None
        closeness = by_property * 4 + by_access
        if isinstance(self.principal, int):
            kind, rank = 4, 0
        else:
            kind, rank = 2, PRINCIPAL_RANKS.get(self.principal, ROLE_RANK)
        return ((closeness * 4 + kind) * 8 + rank) * 4 + (0 if self.allow else 3)


def _closeness(given: Collection[str], wanted: str) -> int:
    if wanted in given:
        return 3
    return 2 if "*" in given else 0


def allow(principal: str, *properties: str, access: str = "*") -> Rule:
    """Return the rule that lets a principal call these methods, or all."""
    return Rule(principal, True, access, frozenset(properties or "*"))


@dataclass(frozen=True)
class Verdict:
    """Whether a method may be called, for the caller's own rows and for those of others."""

    own: bool
    others: bool

    def __bool__(self) -> bool:
        return self.own or self.others


class MethodRules:
    """What the rules of a model say about one method; by default nobody may call it."""

    def __init__(self, rules: Iterable[Rule], method: str, access: str) -> None:
        scored = [(rule.score(method, access), rule) for rule in rules]
        fitting = [(score, rule) for score, rule in scored if score is not None]
        self._ranked = [rule for _, rule in sorted(fitting, key=lambda each: -each[0])]
        principals = {rule.principal for rule in self._ranked}
        self._users = {principal for principal in principals if isinstance(principal, int)}
        # The roles that a verdict may depend on; a caller who holds none needs no look-up.
        self.roles = principals - self._users - PRINCIPAL_RANKS.keys()
        self._for_strangers = self._judge({EVERYONE, UNAUTHENTICATED})
        self._for_users = self._judge({EVERYONE, AUTHENTICATED})

    def verdict(self, user_id: int | None, roles: Collection[str] = ()) -> Verdict:
        """Judge a caller: nobody in particular, or a user with these roles."""
        if user_id is None:
            return self._for_strangers
        if not roles and user_id not in self._users:
            return self._for_users
        return self._judge({EVERYONE, AUTHENTICATED, user_id, *roles})

    def _judge(self, principals: set[str | int]) -> Verdict:
        own = principals | {OWNER} if AUTHENTICATED in principals else principals
        return Verdict(own=self._first(own), others=self._first(principals))

    def _first(self, principals: set[str | int]) -> bool:
        """Return what the highest rule says that speaks of one of these principals."""
        for rule in self._ranked:
            if rule.principal in principals:
                return rule.allow
        return False


class RuleSchema(Schema):
    """A rule as settings write it, in the reference's form."""

    principalType = fields.String(validate=validate.OneOf(["ROLE", "USER"]), load_default="ROLE")  # noqa: N815
    principalId = fields.Raw(required=True)  # noqa: N815
    permission = fields.String(required=True, validate=validate.OneOf(["ALLOW", "DENY"]))
    accessType = fields.String(  # noqa: N815
        validate=validate.OneOf([READ, WRITE, EXECUTE, "*"]), load_default="*"
    )
    property = fields.Raw(load_default="*")


def parse_rules(settings: Any, methods: Collection[str]) -> list[Rule]:
    """Read rules in LoopBack 3's form for a model with these methods.

    Raises ValidationError for what means nothing.
    """
    rules = [_parse(each) for each in RuleSchema(many=True).load(settings)]
    check_methods(rules, methods)
    return rules


def check_methods(rules: Iterable[Rule], methods: Collection[str]) -> None:
    """Raise ValidationError for a rule of a method that does not exist: it would never match."""
    for rule in rules:
        if unknown := rule.properties - set(methods) - {"*"}:
            known = ", ".join(sorted(methods))
            raise ValidationError(f"there is no method {min(unknown)!r}; there are {known}")


def _parse(settings: dict[str, Any]) -> Rule:
    named = settings["property"]
    properties = frozenset([named] if isinstance(named, str) else named)
    principal = settings["principalId"]
    if settings["principalType"] == "USER":
        principal = int(principal)
    elif not isinstance(principal, str):
        raise ValidationError(f"the role {principal!r} must be text")
    return Rule(principal, settings["permission"] == "ALLOW", settings["accessType"], properties)
