"""May the caller of this request call this method, and on which rows?"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from flask import Flask, current_app, g
from marshmallow import ValidationError
from sqlalchemy import Column, ColumnElement
from werkzeug.exceptions import HTTPException

from app.config import ConfigurationError
from app.errors import AccessDenied, AuthorizationRequired, ModelNotFound

from .roles import roles_of
from .rules import MethodRules, Rule, Verdict, parse_rules


@dataclass(frozen=True)
class Grant:
    """A permission: whose call it is (None is anybody), and which rows it covers."""

    user_id: int | None
    verdict: Verdict

    def scope(self, owner: Column[Any] | None) -> list[ColumnElement[bool]]:
        """Return the conditions that keep a query to the rows that are covered."""
        if owner is None or self.verdict.own == self.verdict.others:
            return []
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

    `methods` maps each method's name to its access type.
    """
    try:
        replaced = (app.config["ACLS"] or {}).get(model)
        rules = list(rules) if replaced is None else parse_rules(replaced, methods)
    except (ValidationError, ValueError, TypeError) as error:
        raise ConfigurationError(f"ACLS for {model} cannot be used: {error}") from None
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
    rules: MethodRules = current_app.extensions["rules"][model, method]
    token = session_token()
    user_id = None if token is None else token.user_id
    verdict = rules.verdict(user_id, _roles(token) & rules.roles if rules.roles else ())
    if not verdict:
        raise refusal(model, row_id)
    return Grant(user_id, verdict)


def session_token() -> Any:
    """Return the request's access token, if it is one that a login gave; else None."""
    token = g.access_token
    return token if token is not None and token.scope is None else None


def require_session() -> Any:
    """Return the request's access token; raise 401 unless it is one that a login gave."""
    if (token := session_token()) is None:
        raise g.token_error or AuthorizationRequired()
    return token


def require_scope(scope: str) -> Any:
    """Return the request's access token; raise 401 unless it has this scope."""
    if g.access_token is None or g.access_token.scope != scope:
        raise g.token_error or AuthorizationRequired()
    return g.access_token


def refusal(model: str, row_id: object = None) -> HTTPException:
    """Return 401 for a caller nobody knows, and for one who may not what ACL_ERROR_STATUS says."""
    if session_token() is None:
        return g.token_error or AuthorizationRequired()
    status = current_app.config["ACL_ERROR_STATUS"]
    if status == 404:
        return ModelNotFound(model, row_id)
    return AuthorizationRequired() if status == 401 else AccessDenied()


def _roles(token: Any) -> set[str]:
    """Return the caller's roles; the token's query knows already who has none."""
    if token is None or not token.has_roles:
        return set()
    if "roles" not in g:
        g.roles = roles_of(token.user_id)
    held: set[str] = g.roles
    return held
