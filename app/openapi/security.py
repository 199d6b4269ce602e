"""OpenAPI security schemes, and security requirements derived from the rules."""

from collections.abc import Iterator, Sequence

from flask import Flask
from werkzeug.exceptions import HTTPException

from app import errors
from app.access.identity import QUERY, token_transports
from app.access.policy import (
    CREATE,
    CREATE_RELATED,
    compiled_rules,
    principal_types,
    related_method,
)
from app.access.rules import READ, STRONG, Decision, MethodRules
from app.database.ids import app_id_form
from app.ids import Id
from app.rest.collection import Collection, served_collections
from app.rest.endpoint import Endpoint
from app.rest.filters.related import MAX_RELATION_STEPS
from app.rest.relations import Relation
from app.rest.views.includes import MAX_LEVELS

from .filter_schemas import DocumentPart

# An id that no user has: a logged-in user whom no rule names.
ANY_USER_ID = 0


def security_schemes(app: Flask) -> dict[str, DocumentPart]:
    """Return this app's security schemes, one for each token transport."""
    schemes: dict[str, DocumentPart] = {}
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

    def __init__(
        self, app: Flask, name: str, endpoint: Endpoint, is_owner_id: bool, takes_literal: bool
    ) -> None:
        self._rules = _rules_of(app, name, endpoint)
        # The rules of the models whose rows a filter may use or include.
        subject = served_collections.of(app).get(endpoint.subject or name.partition(".")[0])
        self._included = set[MethodRules]()
        if subject is not None and endpoint.query:
            levels = MAX_LEVELS if endpoint.query == "filter" else 0
            self._included = set(_rules_of_related(app, subject, levels + MAX_RELATION_STEPS))
        self._creation = _rules_of_creation(app, name, endpoint, self._rules)
        self._app = app
        self._name = name.partition(".")[0]
        self._subject = endpoint.subject or self._name
        self._endpoint = endpoint
        # Whether the id in the path is a user's, so that those of other users are denied.
        self._is_owner_id = is_owner_id
        # Whether the current-user literal may replace it, which requires a token.
        self._takes_literal = takes_literal
        # Whether the method changes users; only admins may change admins.
        changes_users = self._subject in principal_types.of(app) and endpoint.access != READ
        self._may_change_admins = changes_users and endpoint.finds_row
        # Whether it may move a row to another parent, which only the parents' rules permit.
        is_ruled = subject is not None and subject.resource.ruled_by_parent
        self._may_move = is_ruled and endpoint.relation is not None and endpoint.body is not None
        decisions = [rules.decision(ANY_USER_ID) for rules in self._rules]
        self.anonymous = all(rules.decision(None) for rules in self._rules)
        own = all(decision.own for decision in decisions)
        others = all(decision.others for decision in decisions)
        self.any_row = own and others
        # Of two methods of one model, one may be for own rows only, and one for those of others.
        is_narrowed = bool(endpoint.narrowed_by) and endpoint.relation is None
        self.user = all(decisions) and (own or others or not is_narrowed)
        # The decisions for callers with several factors, if that makes a difference.
        self._of_strong = [
            rules.decision(ANY_USER_ID, [STRONG])
            for rules in self._rules
            if any(rules.depends_on_strength for rules in self._rules)
        ]

    def requirements(self) -> list[DocumentPart]:
        """Return alternative security requirements: one scheme each, with the roles it needs."""
        schemes = security_schemes(self._app)
        none: list[DocumentPart] = [{}] if self._endpoint.token_optional else []
        return none + [{scheme: names} for names in self._sufficient() for scheme in schemes]

    def _sufficient(self) -> list[list[str]]:
        """Return alternative lists of scopes or roles; empty if no token is needed."""
        if self._endpoint.token_optional:
            return [[]]
        if self._endpoint.scope:
            return [[self._endpoint.scope]]
        if self.anonymous:
            return []
        if self.user:
            return [[]]
        # OpenAPI 3.1 allows roles in the requirement of any scheme.
        return [[role] for role in self._roles()] or [[]]

    def description(self) -> str:
        """Return a sentence about who may call the endpoint."""
        if self._endpoint.scope:
            return f"Needs a token of the scope `{self._endpoint.scope}`, and no other."
        if self._endpoint.token_optional:
            return "Needs a token, presented or in the body."
        if self.anonymous:
            return "Open to everyone."
        return f"For {' and '.join(self._who())}."

    def _who(self) -> list[str]:
        """Return descriptions of who may call an endpoint that needs a token."""
        if self.user and self.any_row:
            return ["everybody who is logged in"]
        roles = [f"the role `{role}`" for role in self._roles()]
        roles += [f"those who have the role `{role}` for the row" for role in self._dynamic()]
        if self._takes_strength():
            is_any = all(decision.others for decision in self._of_strong)
            who = "everybody" if is_any else "the owner"
            roles.insert(0, f"{who} who is logged in with several factors")
        return ["the owner", *roles] if self.user else roles or ["nobody by default"]

    def errors(self, verb: str, checks_row: bool) -> Iterator[HTTPException]:
        """Yield the errors of callers who are not authorized.

        `checks_row` is True if callers get a different error for a row that they may read.
        """
        yield from self._errors_without_token()
        may_deny = self._may_deny() or (checks_row and self._may_only_read())
        if may_deny and not self._endpoint.scope:
            yield self._denial()
        if self._may_change_admins:
            yield errors.AuthorizationRequired()
            yield self._denial()
        if self._takes_strength():
            yield errors.StrongerLoginRequired(["totp"])
        if self._app.config["TOKEN_MIDDLEWARE"] and not self._endpoint.is_safe(verb):
            yield errors.AccessDenied()
        if self._app.config["PERSONAL_TOKENS"]:
            yield self._out_of_scope()

    def _errors_without_token(self) -> Iterator[HTTPException]:
        """Yield the errors of callers without a valid token."""
        included = all(rules.decision(None) for rules in self._included)
        if not (self.anonymous and included and self._may_create(None)) or self._endpoint.scope:
            yield errors.AuthorizationRequired()
            yield errors.InvalidToken()
        elif self._takes_literal:
            yield errors.AuthorizationRequired()

    def _takes_strength(self) -> bool:
        """Return True if users without any of the roles need several factors."""
        return not self.user and bool(self._of_strong) and all(self._of_strong)

    def _may_deny(self) -> bool:
        """Return True if a logged-in user may be denied access."""
        needs_any_row = self._is_owner_id or self._may_move
        if (needs_any_row and not self.any_row) or not self._may_create(ANY_USER_ID):
            return True
        if any(rules.dynamic for rules in (*self._rules, *self._creation)):
            return True
        may_include = all(rules.decision(ANY_USER_ID) for rules in self._included)
        rules = (*self._rules, *self._included)
        return not (self.user and may_include) or any(map(_may_deny_role, rules))

    def _may_only_read(self) -> bool:
        """Return True if callers may read rows on which they may not call the endpoint."""
        reading = compiled_rules.of(self._app).get((self._subject, "findById"))
        if reading is None:
            return False
        every = [reading, *self._rules]
        if any(rules.dynamic or rules.depends_on_strength or rules.names_users for rules in every):
            return True
        return any(
            _covers_more(
                reading.decision(ANY_USER_ID, roles),
                [rules.decision(ANY_USER_ID, roles) for rules in self._rules],
            )
            for roles in [(), *((role,) for rules in every for role in rules.roles)]
        )

    def _may_create(self, user_id: Id | None) -> bool:
        """Return True if a caller may create the row of an upsert, or all of a link."""
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
        """Return the roles that are sufficient to call the endpoint."""
        named = {role for rules in self._rules for role in rules.roles}
        return [
            role
            for role in sorted(named)
            if all(rules.decision(ANY_USER_ID, [role]) for rules in self._rules)
        ]


def find_links(app: Flask, endpoint: Endpoint) -> Collection | None:
    """Return the collection of links in which an endpoint creates rows, if there is one."""
    relation = endpoint.relation
    if not endpoint.makes_link or relation is None:
        return None
    served = served_collections.of(app).values()
    return next((collection for collection in served if collection.model is relation.through), None)


def _rules_of_creation(
    app: Flask, name: str, endpoint: Endpoint, rules: list[MethodRules]
) -> list[MethodRules]:
    """Return the rules for the rows that an endpoint creates, beside those for its method.

    An upsert creates a missing row; linking creates a row with the body's properties.
    """
    compiled = compiled_rules.of(app)
    if endpoint.may_create:
        return [*rules, compiled[name.partition(".")[0], CREATE]]
    links = find_links(app, endpoint)
    key = links.name if links else "", CREATE_RELATED
    return [compiled[key]] if key in compiled else []


def _rules_of(app: Flask, name: str, endpoint: Endpoint) -> list[MethodRules]:
    """Return the rules for an endpoint's method, and for the methods that it requires."""
    model, compiled = name.partition(".")[0], compiled_rules.of(app)
    required = related_method(endpoint.requires)
    keys = [(model, endpoint.method)]
    subject = served_collections.of(app).get(endpoint.subject or model)
    if subject is None or not subject.resource.ruled_by_parent:
        keys.append((endpoint.subject or model, required))
        if endpoint.reads_parent:
            keys.append((model, "findById"))
    decisive = [compiled[key] for key in keys if key in compiled]
    narrowing = [(key[0], compiled[key].narrowed_by) for key in keys if key in compiled]
    return [*decisive, *(compiled[key] for key in narrowing if key in compiled)]


def _rules_of_related(app: Flask, collection: Collection, levels: int) -> Iterator[MethodRules]:
    """Yield the rules that refuse related rows; some includes are left out instead."""
    served = served_collections.of(app)
    seen, level = {collection.name}, [collection]
    for _ in range(levels):
        relations = [
            relation
            for parent in level
            if not parent.resource.ruled_by_parent
            for relation in parent.shown_relations.values()
        ]
        for relation in relations:
            yield from _rules_of_relation(app, relation)
        names = {
            name for relation in relations for name in (relation.target, *relation.types.values())
        }
        new = (names & served.keys()) - seen
        seen, level = seen | new, [served[name] for name in new]


def _rules_of_relation(app: Flask, relation: Relation) -> Iterator[MethodRules]:
    """Yield the rules for reading the rows that a relation leads to, if they have any."""
    target = served_collections.of(app).get(relation.target)
    rules = compiled_rules.of(app).get((relation.target, relation.read_method))
    is_ruled = target is not None and not target.resource.ruled_by_parent
    if is_ruled and rules is not None:
        yield rules


def _covers_more(reading: Decision, decisions: Sequence[Decision]) -> bool:
    """Return True if a caller may read rows that not all of these decisions cover."""
    own = all(decision.own for decision in decisions)
    others = all(decision.others for decision in decisions)
    return (reading.own and not own) or (reading.others and not others)


def _may_deny_role(rules: MethodRules) -> bool:
    """Return True if rules may deny access because of a user's role, identity or model."""
    others = rules.decision(ANY_USER_ID).others
    return (
        bool(rules.dynamic)
        or rules.names_users
        or (rules.owners is not None and not others)
        or not all(rules.decision(ANY_USER_ID, [role]) for role in rules.roles)
    )
