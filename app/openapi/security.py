"""How the document describes access tokens, and who may call what."""

from collections.abc import Iterator

from flask import Flask
from werkzeug.exceptions import HTTPException

from app import errors
from app.access.identity import QUERY, token_transports
from app.access.rules import MethodRules
from app.rest.endpoint import Endpoint

from .schemas import Json

# A user whom no rule names.
SOMEBODY = 0
UNSAFE = {"POST", "PUT", "PATCH", "DELETE"}


def security_schemes(app: Flask) -> dict[str, Json]:
    """Return the ways in which this app takes an access token, from the table of transports."""
    schemes: dict[str, Json] = {}
    for place, name, description in token_transports(app):
        if place == QUERY and not app.config["TOKEN_IN_QUERY"]:
            continue
        scheme = {"type": "apiKey", "in": place, "name": name}
        key = place if place not in schemes else f"{place}.{name}"
        schemes[key] = {**scheme, "description": description} if description else scheme
    # Authorization may name the scheme as well.
    return {**schemes, "bearer": {"type": "http", "scheme": "bearer"}}


class Security:
    """Who may call an endpoint, as the compiled rules have it."""

    def __init__(self, app: Flask, name: str, endpoint: Endpoint, is_owner_id: bool) -> None:
        model = name.partition(".")[0]
        keys = [(model, endpoint.method), (endpoint.subject or model, endpoint.requires)]
        compiled = app.extensions["rules"]
        self._rules: list[MethodRules] = [compiled[key] for key in keys if key in compiled]
        self._app = app
        self._endpoint = endpoint
        # Whether the id in the path is that of a user, so that another's is refused.
        self._is_owner_id = is_owner_id
        verdicts = [each.verdict(SOMEBODY) for each in self._rules]
        self.anonymous = all(each.verdict(None) for each in self._rules)
        self.user = all(verdicts)
        self.any_row = all(each.own and each.others for each in verdicts)

    def requirements(self) -> list[Json]:
        """Return the alternatives of OpenAPI's security requirements: schemes, and roles."""
        schemes = security_schemes(self._app)
        if self._endpoint.token_optional:
            return [{}, *({scheme: []} for scheme in schemes)]
        if self._endpoint.scope:
            return [{scheme: [self._endpoint.scope]} for scheme in schemes]
        if self.anonymous:
            return []
        # A requirement may list the role that it needs.
        roles = [] if self.user else [[role] for role in self._roles()]
        return [{scheme: names} for names in roles or [[]] for scheme in schemes]

    def sentence(self) -> str:
        """Say in words who may call."""
        if self._endpoint.scope:
            return f"Needs a token of the scope `{self._endpoint.scope}`, and no other."
        if self._endpoint.token_optional:
            return "Needs a token, presented or in the body."
        if self.anonymous:
            return "Open to everyone."
        roles = [f"the role `{role}`" for role in self._roles()]
        if self.user:
            who = ["everybody who is logged in"] if self.any_row else ["the owner", *roles]
        else:
            who = roles or ["nobody by default"]
        return f"For {' and '.join(who)}."

    def errors(self, verb: str) -> Iterator[HTTPException]:
        """Yield what a caller is refused with."""
        if not self.anonymous or self._endpoint.scope:
            yield errors.AuthorizationRequired()
            yield errors.InvalidToken()
            if not self._endpoint.scope and self._may_refuse():
                yield self._refusal()
        if self._app.config["TOKEN_MIDDLEWARE"] and verb in UNSAFE:
            yield errors.AccessDenied()

    def _may_refuse(self) -> bool:
        """Tell whether somebody who is logged in may be refused altogether."""
        if self._is_owner_id and not self.any_row:
            return True
        return not self.user or any(
            not each.verdict(SOMEBODY, [str(role)]) for each in self._rules for role in each.roles
        )

    def _refusal(self) -> HTTPException:
        status = self._app.config["ACL_ERROR_STATUS"]
        if status == 404:
            return errors.ModelNotFound("user", 7)
        return errors.AuthorizationRequired() if status == 401 else errors.AccessDenied()

    def _roles(self) -> list[str]:
        """Return the roles that each by itself open the operation."""
        named = {str(role) for each in self._rules for role in each.roles}
        return [
            role
            for role in sorted(named)
            if all(each.verdict(SOMEBODY, [role]) for each in self._rules)
        ]
