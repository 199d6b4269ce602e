"""Authorization: whether the caller may call a method, and on which rows."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from flask import Flask, current_app
from marshmallow import ValidationError
from sqlalchemy import Column, ColumnElement, false
from werkzeug.exceptions import HTTPException

from app.config import ConfigurationError
from app.errors import AccessDenied, AuthorizationRequired, ModelNotFound
from app.ids import FORMS, Id

from .identity import current_identity
from .rules import OWNER, Decision, MethodRules, Rule, check_methods, check_owners, parse_rules


@dataclass(frozen=True)
class Grant:
    """The caller's permission for a method: the user id (None if anonymous) and the decision."""

    user_id: Id | None
    decision: Decision

    def scope(self, owner: Column[Any] | None) -> list[ColumnElement[bool]]:
        """Return the conditions that limit a query to the permitted rows."""
        if self.decision.own == self.decision.others:
            return []
        if owner is None:
            # Rows without an owner column belong to no user.
            return [] if self.decision.others else [false()]
        return [owner == self.user_id if self.decision.own else owner != self.user_id]

    @property
    def only_own(self) -> bool:
        """Whether only the caller's own rows are permitted."""
        return self.decision.own and not self.decision.others

    def covers(self, owner: Id | None) -> bool:
        """Tell whether the rows of a user are permitted; None is the id of no user."""
        is_own = owner is not None and owner == self.user_id
        return self.decision.own if is_own else self.decision.others


def install_rules(
    app: Flask,
    model: str,
    methods: Mapping[str, str],
    owned: Collection[str],
    rules: Iterable[Rule],
) -> None:
    """Compile a model's rules for each of its methods; ACLS in the settings replaces them.

    `methods` maps each method's name to its access type; `owned` are the methods whose rows have
    owners, and rules for $owner apply to no others. Raises ConfigurationError for a rule of a
    method that does not exist, and for a rule for $owner of a method whose rows have no owners.
    """
    try:
        replaced = (app.config["ACLS"] or {}).get(model)
        form = FORMS[app.config["ID_TYPE"]]
        rules = list(rules) if replaced is None else parse_rules(replaced, methods, form)
        check_methods(rules, methods)
        check_owners(rules, owned)
    except (ValidationError, ValueError, TypeError) as error:
        source = "the rules of" if replaced is None else "ACLS for"
        raise ConfigurationError(f"{source} {model} cannot be used: {error}") from None
    compiled = app.extensions.setdefault("rules", {})
    without_owners = [rule for rule in rules if rule.principal != OWNER]
    for method, access in methods.items():
        chosen = rules if method in owned else without_owners
        compiled[model, method] = MethodRules(chosen, method, access)


def check_acls(app: Flask) -> None:
    """Raise ConfigurationError for rules of a model that does not exist."""
    models = sorted({model for model, _ in app.extensions["rules"]})
    for model in app.config["ACLS"] or {}:
        if model not in models:
            raise ConfigurationError(f"ACLS has rules for {model}; there are {', '.join(models)}")


def roles_in_rules(app: Flask) -> set[str]:
    """Return the roles that some rule mentions; any other role permits nothing."""
    return {str(role) for rules in app.extensions["rules"].values() for role in rules.roles}


def authorize(model: str, method: str, row_id: object = None) -> Grant:
    """Return the caller's grant for a method; raise the `denial` if there is none."""
    grant = find_grant(model, method)
    if not grant.decision:
        raise denial(model, row_id)
    return grant


def find_grant(model: str, method: str) -> Grant:
    """Return the caller's grant for a method, which may permit nothing."""
    rules: MethodRules = current_app.extensions["rules"][model, method]
    identity = current_identity()
    roles = identity.roles & rules.roles if rules.roles else frozenset()
    return Grant(identity.user_id, rules.decision(identity.user_id, roles))


def denial(model: str, row_id: object = None) -> HTTPException:
    """Return the error for a denied call: 401 if anonymous, else as ACL_ERROR_STATUS says."""
    identity = current_identity()
    if identity.session is None:
        return identity.unauthorized()
    status = current_app.config["ACL_ERROR_STATUS"]
    if status == 404:
        return ModelNotFound(model, row_id)
    return AuthorizationRequired() if status == 401 else AccessDenied()
