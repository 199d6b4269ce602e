"""May the caller of this request call this method, and on which rows?"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from flask import Flask, current_app
from marshmallow import ValidationError
from sqlalchemy import Column, ColumnElement, false
from werkzeug.exceptions import HTTPException

from app.config import ConfigurationError
from app.errors import AccessDenied, AuthorizationRequired, ModelNotFound

from .identity import current_identity
from .rules import MethodRules, Rule, Verdict, check_methods, parse_rules


@dataclass(frozen=True)
class Grant:
    """A permission: whose call it is (None is anybody), and which rows it covers."""

    user_id: int | None
    verdict: Verdict

    def scope(self, owner: Column[Any] | None) -> list[ColumnElement[bool]]:
        """Return the conditions that keep a query to the rows that are covered."""
        if self.verdict.own == self.verdict.others:
            return []
        if owner is None:
            # Rows without an owner are nobody's own.
            return [] if self.verdict.others else [false()]
        return [owner == self.user_id if self.verdict.own else owner != self.user_id]

    @property
    def only_own(self) -> bool:
        """Whether it covers the caller's rows and no others."""
        return self.verdict.own and not self.verdict.others

    def covers(self, owner: str) -> bool:
        """Tell whether the rows of a user are covered, by the id as a path has it."""
        return self.verdict.own if owner == str(self.user_id) else self.verdict.others


def install_rules(
    app: Flask, model: str, methods: Mapping[str, str], rules: Iterable[Rule]
) -> None:
    """Compile a model's rules, or those that ACLS has in their place, for each of its methods.

    `methods` maps each method's name to its access type. Raises ConfigurationError for a rule of
    a method that does not exist.
    """
    try:
        replaced = (app.config["ACLS"] or {}).get(model)
        rules = list(rules) if replaced is None else parse_rules(replaced, methods)
        check_methods(rules, methods)
    except (ValidationError, ValueError, TypeError) as error:
        source = "the rules of" if replaced is None else "ACLS for"
        raise ConfigurationError(f"{source} {model} cannot be used: {error}") from None
    compiled = app.extensions.setdefault("rules", {})
    for method, access in methods.items():
        compiled[model, method] = MethodRules(rules, method, access)


def check_acls(app: Flask) -> None:
    """Raise ConfigurationError for rules of a model that does not exist."""
    models = sorted({model for model, _ in app.extensions["rules"]})
    for model in app.config["ACLS"] or {}:
        if model not in models:
            raise ConfigurationError(f"ACLS has rules for {model}; there are {', '.join(models)}")


def authorize(model: str, method: str, row_id: object = None) -> Grant:
    """Return what the caller may do by calling this method; raise what `refusal` returns."""
    grant = permission(model, method)
    if not grant.verdict:
        raise refusal(model, row_id)
    return grant


def permission(model: str, method: str) -> Grant:
    """Return what the caller may do by calling this method, which may be nothing."""
    rules: MethodRules = current_app.extensions["rules"][model, method]
    identity = current_identity()
    roles = identity.roles & rules.roles if rules.roles else frozenset()
    return Grant(identity.user_id, rules.verdict(identity.user_id, roles))


def refusal(model: str, row_id: object = None) -> HTTPException:
    """Return 401 for an anonymous caller, and what ACL_ERROR_STATUS says for any other."""
    identity = current_identity()
    if identity.session is None:
        return identity.unauthorized()
    status = current_app.config["ACL_ERROR_STATUS"]
    if status == 404:
        return ModelNotFound(model, row_id)
    return AuthorizationRequired() if status == 401 else AccessDenied()
