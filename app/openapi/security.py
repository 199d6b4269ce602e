"""The OpenAPI security schemes, and the security requirements that follow from the rules."""

from collections.abc import Iterator

from flask import Flask
from werkzeug.exceptions import HTTPException

from app import errors
from app.access.identity import QUERY, token_transports
from app.access.policy import compiled_rules, related_method
from app.access.rules import STRONG, MethodRules
from app.database.ids import app_id_form
from app.ids import Id
from app.rest.collection import served_collections
from app.rest.endpoint import Endpoint

from .schemas import Json

# An id that no user has, for a logged-in user whom no rule names.
ANY_USER_ID = 0


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
    bearer = {"type": "http", "scheme": "bearer"}
    if app.config["PERSONAL_TOKENS"]:
        bearer["description"] = "An access token, or a personal token: `ost_...`."
    return {**schemes, "bearer": bearer}


class Security:
    """Who may call an endpoint, according to the compiled rules."""

    def __init__(self, app: Flask, name: str, endpoint: Endpoint, is_owner_id: bool) -> None:
        self._rules = _rules_of(app, name, endpoint)
        # Those for creating the row that an upsert does not find.
        creation = name.partition(".")[0], "create"
        self._creation = (
            [*self._rules, compiled_rules.of(app)[creation]] if endpoint.may_create else []
        )
        self._app = app
        self._name = name.partition(".")[0]
        self._endpoint = endpoint
        # Whether the id in the path is that of a user, so that another user's is denied.
        self._is_owner_id = is_owner_id
        decisions = [rules.decision(ANY_USER_ID) for rules in self._rules]
        self.anonymous = all(rules.decision(None) for rules in self._rules)
        self.user = all(decisions)
        self.any_row = all(decision.own and decision.others for decision in decisions)
        # Those of callers with several factors, where it matters.
        self._of_strong = [
            rules.decision(ANY_USER_ID, [STRONG])
            for rules in self._rules
            if any(rules.depends_on_strength for rules in self._rules)
        ]

    def requirements(self) -> list[Json]:
        """Return the alternative security requirements: a scheme each, with the roles it needs."""
        schemes = security_schemes(self._app)
        none: list[Json] = [{}] if self._endpoint.token_optional else []
        return none + [{scheme: names} for names in self._sufficient() for scheme in schemes]

    def _sufficient(self) -> list[list[str]]:
        """Return lists of scopes or roles, of which a token needs one; none without a token."""
        if self._endpoint.token_optional:
            return [[]]
        if self._endpoint.scope:
            return [[self._endpoint.scope]]
        if self.anonymous:
            return []
        if self.user:
            return [[]]
        # OpenAPI 3.1 lets a requirement of any scheme list roles.
        return [[role] for role in self._roles()] or [[]]

    def description(self) -> str:
        """Return a sentence that says who may call the endpoint."""
        if self._endpoint.scope:
            return f"Needs a token of the scope `{self._endpoint.scope}`, and no other."
        if self._endpoint.token_optional:
            return "Needs a token, presented or in the body."
        if self.anonymous:
            return "Open to everyone."
        return f"For {' and '.join(self._who())}."

    def _who(self) -> list[str]:
        """Return in words who may call an endpoint that needs a token."""
        if self.user and self.any_row:
            return ["everybody who is logged in"]
        roles = [f"the role `{role}`" for role in self._roles()]
        roles += [f"those who have the role `{role}` for the row" for role in self._dynamic()]
        if self._takes_strength():
            is_any = all(decision.others for decision in self._of_strong)
            who = "everybody" if is_any else "the owner"
            roles.insert(0, f"{who} who is logged in with several factors")
        return ["the owner", *roles] if self.user else roles or ["nobody by default"]

    def errors(self, verb: str) -> Iterator[HTTPException]:
        """Yield the errors of callers who are not authorized."""
        if not self.anonymous or self._endpoint.scope or not self._may_create(None):
            yield errors.AuthorizationRequired()
            yield errors.InvalidToken()
            if not self._endpoint.scope and self._may_deny():
                yield self._denial()
        if self._takes_strength():
            yield errors.StrongerLoginRequired(["totp"])
        if self._app.config["TOKEN_MIDDLEWARE"] and not self._endpoint.is_safe(verb):
            yield errors.AccessDenied()
        if self._app.config["PERSONAL_TOKENS"]:
            yield self._out_of_scope()

    def _takes_strength(self) -> bool:
        """Tell whether a user needs several factors who has none of the roles."""
        return not self.user and bool(self._of_strong) and all(self._of_strong)

    def _may_deny(self) -> bool:
        """Tell whether a logged-in user may be denied access."""
        if (self._is_owner_id and not self.any_row) or not self._may_create(ANY_USER_ID):
            return True
        return not self.user or any(map(_may_deny_role, self._rules))

    def _may_create(self, user_id: Id | None) -> bool:
        """Tell whether a caller may create the row that an upsert does not find."""
        return all(rules.decision(user_id).others for rules in self._creation)

    def _denial(self) -> HTTPException:
        status = self._app.config["ACL_ERROR_STATUS"]
        if status == 404:
            return errors.ModelNotFound("user", app_id_form().example)
        return errors.AuthorizationRequired() if status == 401 else errors.AccessDenied()

    def _out_of_scope(self) -> HTTPException:
        if self._endpoint.session_only:
            return errors.InsufficientScope()
        return errors.InsufficientScope(self._name, self._endpoint.method)

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
        named = {role for rules in self._rules for role in rules.roles}
        return [
            role
            for role in sorted(named)
            if all(rules.decision(ANY_USER_ID, [role]) for rules in self._rules)
        ]


def _rules_of(app: Flask, name: str, endpoint: Endpoint) -> list[MethodRules]:
    """Return the rules for the method of an endpoint, and for the one that it requires."""
    model, compiled = name.partition(".")[0], compiled_rules.of(app)
    required = related_method(endpoint.requires)
    keys = [(model, endpoint.method)]
    subject = served_collections.of(app).get(endpoint.subject or model)
    if subject is None or not subject.resource.ruled_by_parent:
        keys.append((endpoint.subject or model, required))
    return [compiled[key] for key in keys if key in compiled]


def _may_deny_role(rules: MethodRules) -> bool:
    """Tell whether rules may deny access to a user because of a role."""
    return bool(rules.dynamic) or not all(
        rules.decision(ANY_USER_ID, [role]) for role in rules.roles
    )
