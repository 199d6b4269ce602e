"""The OpenAPI security schemes, and the security requirements that follow from the rules."""

from collections.abc import Iterator

from flask import Flask
from werkzeug.exceptions import HTTPException

from app import errors
from app.access.identity import QUERY, token_transports
from app.access.policy import compiled_rules, related_method
from app.database.ids import app_id_form
from app.ids import Id
from app.rest.endpoint import Endpoint

from .schemas import Json

# An id that no user has, for a logged-in user whom no rule names.
ANY_USER_ID = 0
UNSAFE = {"POST", "PUT", "PATCH", "DELETE"}


def security_schemes(app: Flask) -> dict[str, Json]:
    """Return the security schemes of this app, one for each token transport."""
    schemes: dict[str, Json] = {}
    for location, name, description in token_transports.of(app):
        if location == QUERY and not app.config["TOKEN_IN_QUERY"]:
            continue
        scheme = {"type": "apiKey", "in": location, "name": name}
        key = location if location not in schemes else f"{location}.{name}"
        schemes[key] = {**scheme, "description": description} if description else scheme
    # The Authorization header may also carry a Bearer token.
    return {**schemes, "bearer": {"type": "http", "scheme": "bearer"}}


class Security:
    """Who may call an endpoint, according to the compiled rules."""

    def __init__(self, app: Flask, name: str, endpoint: Endpoint, is_owner_id: bool) -> None:
        model = name.partition(".")[0]
        required = related_method(endpoint.requires)
        keys = [(model, endpoint.method), (endpoint.subject or model, required)]
        compiled = compiled_rules.of(app)
        self._rules = [compiled[key] for key in keys if key in compiled]
        # Those for creating the row that an upsert does not find.
        self._creation = [*self._rules, compiled[model, "create"]] if endpoint.may_create else []
        self._app = app
        self._endpoint = endpoint
        # Whether the id in the path is that of a user, so that another user's is denied.
        self._is_owner_id = is_owner_id
        decisions = [rules.decision(ANY_USER_ID) for rules in self._rules]
        self.anonymous = all(rules.decision(None) for rules in self._rules)
        self.user = all(decisions)
        self.any_row = all(decision.own and decision.others for decision in decisions)

    def requirements(self) -> list[Json]:
        """Return the alternative security requirements: a scheme each, with the roles it needs."""
        schemes = security_schemes(self._app)
        if self._endpoint.token_optional:
            return [{}, *({scheme: []} for scheme in schemes)]
        if self._endpoint.scope:
            return [{scheme: [self._endpoint.scope]} for scheme in schemes]
        if self.anonymous:
            return []
        # OpenAPI 3.1 lets a requirement of any scheme list roles.
        roles = [] if self.user else [[role] for role in self._roles()]
        return [{scheme: names} for names in roles or [[]] for scheme in schemes]

    def description(self) -> str:
        """Return a sentence that says who may call the endpoint."""
        if self._endpoint.scope:
            return f"Needs a token of the scope `{self._endpoint.scope}`, and no other."
        if self._endpoint.token_optional:
            return "Needs a token, presented or in the body."
        if self.anonymous:
            return "Open to everyone."
        roles = [f"the role `{role}`" for role in self._roles()]
        roles += [f"those who have the role `{role}` for the row" for role in self._dynamic()]
        if self.user:
            who = ["everybody who is logged in"] if self.any_row else ["the owner", *roles]
        else:
            who = roles or ["nobody by default"]
        return f"For {' and '.join(who)}."

    def errors(self, verb: str) -> Iterator[HTTPException]:
        """Yield the errors of callers who are not authorized."""
        if not self.anonymous or self._endpoint.scope or not self._may_create(None):
            yield errors.AuthorizationRequired()
            yield errors.InvalidToken()
            if not self._endpoint.scope and self._may_deny():
                yield self._denial()
        if self._app.config["TOKEN_MIDDLEWARE"] and verb in UNSAFE:
            yield errors.AccessDenied()

    def _may_deny(self) -> bool:
        """Tell whether a logged-in user may be denied access."""
        if (self._is_owner_id and not self.any_row) or not self._may_create(ANY_USER_ID):
            return True
        return (
            not self.user
            or any(rules.dynamic for rules in self._rules)
            or any(
                not rules.decision(ANY_USER_ID, [str(role)])
                for rules in self._rules
                for role in rules.roles
            )
        )

    def _may_create(self, user_id: Id | None) -> bool:
        """Tell whether a caller may create the row that an upsert does not find."""
        return all(rules.decision(user_id).others for rules in self._creation)

    def _denial(self) -> HTTPException:
        status = self._app.config["ACL_ERROR_STATUS"]
        if status == 404:
            return errors.ModelNotFound("user", app_id_form().example)
        return errors.AuthorizationRequired() if status == 401 else errors.AccessDenied()

    def _dynamic(self) -> list[str]:
        """Return the dynamic roles with which a user may call the endpoint."""
        named = {
            str(rule.principal)
            for rules in self._rules
            for rule in rules.applicable(ANY_USER_ID)
            if rule.allow and rule.principal in rules.dynamic
        }
        return sorted(named)

    def _roles(self) -> list[str]:
        """Return the roles each of which is sufficient to call the endpoint."""
        named = {str(role) for rules in self._rules for role in rules.roles}
        return [
            role
            for role in sorted(named)
            if all(rules.decision(ANY_USER_ID, [role]) for rules in self._rules)
        ]
