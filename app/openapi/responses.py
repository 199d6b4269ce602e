"""How the document tells of tokens, of who may call what, and of every error."""

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any

from flask import Flask
from werkzeug.exceptions import (
    HTTPException,
    InternalServerError,
    RequestEntityTooLarge,
    RequestURITooLarge,
    ServiceUnavailable,
    UnsupportedMediaType,
)

from app import errors
from app.access.rules import MethodRules

from . import Operation
from .schemas import Json, ref

# A user whom no rule names.
SOMEBODY = 0
# Those that any request may meet.
FAILURES = (
    RequestURITooLarge(),
    InternalServerError(),
    ServiceUnavailable(),
    errors.DatabaseTimeout(),
)
UNSAFE = {"POST", "PUT", "PATCH", "DELETE"}


def security_schemes(app: Flask) -> dict[str, Json]:
    """Return the ways in which this app takes an access token."""
    schemes: dict[str, Json] = {
        "header": {
            "type": "apiKey",
            "in": "header",
            "name": "Authorization",
            "description": "The access token itself, which `users.login` answers as `id`.",
        },
        "bearer": {"type": "http", "scheme": "bearer"},
    }
    if app.config["TOKEN_IN_QUERY"]:
        schemes["query"] = {"type": "apiKey", "in": "query", "name": "access_token"}
    if middleware := app.config["TOKEN_MIDDLEWARE"]:
        schemes["cookie"] = {"type": "apiKey", "in": "cookie", "name": middleware["cookies"][0]}
    return schemes


class Access:
    """Who may call an operation, as the compiled rules have it."""

    def __init__(self, app: Flask, endpoint: str, operation: Operation, owned: bool) -> None:
        model, _, method = endpoint.partition(".")
        compiled = app.extensions["rules"]
        keys = [(model, method), *operation.rules]
        self._rules: list[MethodRules] = [compiled[key] for key in keys if key in compiled]
        self._app = app
        self._operation = operation
        # Whether the id in the path is that of an owner, so that another's is refused.
        self._owned = owned
        verdicts = [each.verdict(SOMEBODY) for each in self._rules]
        self.anonymous = all(each.verdict(None) for each in self._rules)
        self.user = all(verdicts)
        self.any_row = all(each.own and each.others for each in verdicts)

    def security(self) -> list[Json]:
        """Return the alternatives of OpenAPI's security requirements: schemes, and roles."""
        schemes = security_schemes(self._app)
        if self._operation.token_optional:
            return [{}, *({scheme: []} for scheme in schemes)]
        if self._operation.scope:
            return [{scheme: [self._operation.scope]} for scheme in schemes]
        if self.anonymous:
            return []
        # A requirement may list the role that it needs.
        roles = [] if self.user else [[role] for role in self._roles()]
        return [{scheme: names} for names in roles or [[]] for scheme in schemes]

    def sentence(self) -> str:
        """Say in words who may call."""
        if self._operation.scope:
            return f"Needs a token of the scope `{self._operation.scope}`, and no other."
        if self._operation.token_optional:
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
        if not self.anonymous or self._operation.scope:
            yield errors.AuthorizationRequired()
            yield errors.InvalidToken()
            if not self._operation.scope and self._may_refuse():
                yield self._refusal()
        if self._app.config["TOKEN_MIDDLEWARE"] and verb in UNSAFE:
            yield errors.AccessDenied()

    def _may_refuse(self) -> bool:
        """Tell whether somebody who is logged in may be refused altogether."""
        if self._owned and not self.any_row:
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


def body_errors() -> list[HTTPException]:
    """Return what any body can be refused with."""
    return [
        errors.MalformedBody("The body must be a JSON object."),
        errors.TooDeep("It nests deeper than 32 levels."),
        RequestEntityTooLarge(),
        UnsupportedMediaType("Send the body with Content-Type: application/json."),
    ]


def responses(refused: Iterable[HTTPException], shared: dict[str, Json]) -> dict[str, Json]:
    """Return the responses of these errors, and of the service's own failures, by status.

    Most operations have most of them in common: those go to `shared`, and are referred to.
    """
    ranked = sorted([*refused, *FAILURES], key=_status)
    found = {str(status): _response(list(each)) for status, each in groupby(ranked, _status)}
    return {status: _share(status, response, shared) for status, response in found.items()}


def _status(error: HTTPException) -> int:
    return error.code or 0


def _share(status: str, response: Json, shared: dict[str, Json]) -> Json:
    codes = response["content"]["application/json"].get("examples", {})
    name = ".".join([status, *codes])
    if shared.setdefault(name, response) != response:
        return response
    return {"$ref": f"#/components/responses/{name}"}


def _response(refused: list[HTTPException]) -> Json:
    """Describe the errors of one status: what each code means, and how it looks."""
    bodies: dict[str, Any] = {}
    meanings: dict[str, str] = {}
    for error in refused:
        shown = errors.render(error).get_json()
        code = shown["error"].get("code", shown["error"]["name"])
        bodies.setdefault(code, {"value": shown})
        ours = hasattr(error, "error_code")
        text = (type(error).__doc__ or "").partition("\n")[0] if ours else shown["message"]
        meanings.setdefault(code, f"`{code}`: {text}")
    schema = ref("Error")
    if all("code" in each["value"]["error"] for each in bodies.values()):
        codes = {"properties": {"code": {"enum": list(bodies)}}, "required": ["code"]}
        schema = {"allOf": [schema, {"properties": {"error": codes}}]}
    return {
        "description": "  \n".join(meanings.values()),
        "content": {"application/json": {"schema": schema, "examples": bodies}},
    }
