"""Moving the rows of a LoopBack application into the database of an app."""

import hashlib
from collections.abc import Iterator, Sequence
from datetime import UTC, tzinfo
from pathlib import Path

from flask import Flask

from app.definitions.definition import Definition
from app.definitions.reading import json_models
from app.users.user_models import FIRST, user_models
from ostiary_loopback.application import Application, as_mapping

from .batches import Mover
from .identities import identities
from .models import link_plans, model_plans, user_keys
from .moved import IMPORTANT, Journal, Moved
from .roles import Roles
from .source_models import SourceModel, source_model
from .sources.base import Source
from .sources.opening import open_source
from .tokens import Tokens
from .unchecked import list_unchecked
from .user_ids import Keys, UserIds
from .users import Keep, Users

# The folder in the project folder with the journal and the refused rows.
FOLDER = "loopback-import"
# LoopBack's own models whose rows are not moved, and why.
NOT_MOVED = {
    "ACL": "rules in the database, which change who may do what: write them as acls in"
    " models/*.json before the switch",
    "Application": "applications have no accounts here: give each a user of its own",
    "UserCredential": "credentials at providers are not kept: their users link accounts again",
}


def move_rows(
    app: Flask,
    application: Application,
    source: str,
    *,
    tokens: bool = True,
    keep: Keep | None = None,
    timezone: tzinfo = UTC,
) -> Moved:
    """Move the rows of a database, of the memory connector's file, or of a folder of dumps.

    The app's database must have its tables. A run that was killed is continued by the next
    one, and a further run adds new rows; existing rows are not changed. `timezone` is that of times
    without one. Raises SourceError, a ClickException.
    """
    with app.app_context(), open_source(source) as opened:
        options = f"{opened.fingerprint} {keep} {timezone} {tokens}"
        journal = Journal(Path(app.instance_path) / FOLDER, _digest(options))
        try:
            _Move(app, application, opened, journal, timezone).run(keep, tokens)
            journal.save(is_finished=True)
        finally:
            journal.close()
    return journal.moved


class _Move:
    """Moves all rows of a source."""

    def __init__(
        self,
        app: Flask,
        application: Application,
        source: Source,
        journal: Journal,
        zone: tzinfo,
    ) -> None:
        self._app = app
        self._application = application
        self._source = source
        self._journal = journal
        self._moved = journal.moved
        self._zone = zone
        self._mover = Mover(source, journal)
        declared = json_models.of(app).of_users
        # The models of users, by `principal_type`.
        self._users = {
            name: self._source_of(model, declared)
            for name, model in (
                (user.principal_type, user.name) for user in user_models.of(app).values()
            )
        }
        if not declared:
            self._users = {FIRST: source_model(application, "User")}
        self._ids = UserIds([*self._users.values()], journal.folder)

    def run(self, keep: Keep | None, with_tokens: bool) -> None:
        """Move users, then the rows that belong to them, and then those of models."""
        self._ids.allot(self._source, self._moved)
        for principal_type, users in self._users.items():
            if self._source.holder(users) and not self._moved.of(users.name).is_done:
                self._move_users(principal_type, users, keep)
        self._move_roles()
        if with_tokens:
            self._move_tokens()
        for model in self._extending("UserIdentity"):
            owners = self._owner_of(model)
            self._mover.move(identities(self._app, model, self._ids, owners, self._zone))
        plans = model_plans(self._app, self._application, self._ids, self._zone, self._moved)
        for plan in plans:
            if self._source.holder(plan.model):
                self._mover.move(plan)
        for plan in link_plans(self._app, self._source, self._application, self._ids):
            self._mover.move(plan)
        list_unchecked(self._app, self._journal)
        self._report_others(with_tokens)

    def _source_of(self, name: str, declared: Sequence[Definition]) -> SourceModel:
        """Return a model of users, with the properties that its relations add."""
        keys = next((list(each.properties) for each in declared if each.name == name), [])
        return source_model(self._application, name, keys)

    def _move_users(self, principal_type: str, model: SourceModel, keep: Keep | None) -> None:
        declared = {each.name: each for each in json_models.of(self._app).of_users}
        definition = declared.get(model.name)
        keys = (
            user_keys(self._app, definition, self._ids) if definition else Keys(self._ids, {}, {})
        )
        users = Users(
            *(self._app, model, principal_type, self._ids, keys),
            *(self._zone, keep, self._moved),
        )
        self._mover.move(users.plan(self._source))

    def _owner_of(self, identity: SourceModel) -> str:
        """Return the model of users to which identities at providers belong."""
        model = self._application.models.get(identity.name)
        relations = as_mapping(model.config.get("relations")) if model else {}
        relations = {**(model.mapping("relations") if model else {}), **relations}
        target = as_mapping(relations.get("user")).get("model")
        return self._ids.model_of(target) or self._users[FIRST].name

    def _move_roles(self) -> None:
        roles = Roles(self._source, self._journal)
        for model in self._extending("Role"):
            roles.move(model)
        for model in self._extending("RoleMapping"):
            typed = self._application.has_typed_tokens
            self._mover.move(roles.mappings(model, self._ids, typed))

    def _move_tokens(self) -> None:
        eternal = {
            users.name
            for users in self._users.values()
            if (users.settings or {}).get("allowEternalTokens") is True
        }
        for model in self._extending("AccessToken"):
            tokens = Tokens(model, self._ids, eternal, self._zone, self._moved)
            self._mover.move(tokens.plan())

    def _extending(self, root: str) -> Iterator[SourceModel]:
        """Yield a model of LoopBack's own and those that extend it, if they have rows."""
        for name in dict.fromkeys([root, *self._application.models]):
            model = source_model(self._application, name)
            if model.root == root and self._source.holder(model):
                yield model

    def _report_others(self, with_tokens: bool) -> None:
        """Report the rows that are not moved, by model."""
        reasons = NOT_MOVED if with_tokens else {**NOT_MOVED, "AccessToken": "--no-tokens"}
        known = {*self._moved.counts}
        for name in sorted({*self._application.models, *NOT_MOVED, "AccessToken", "User"} - known):
            model = source_model(self._application, name)
            if not self._source.holder(model) or not (count := self._source.count(model)):
                continue
            reason = reasons.get(model.root, "the project has no such table")
            if model.root == "User":
                reason = (
                    f"accounts here are those of {self._names()}: merge them in the source, and"
                    " import again, or these users cannot log in"
                )
            kind = IMPORTANT if model.root == "ACL" else "not moved"
            self._moved.add(name, kind, f"rows: {reason}", count=count)

    def _names(self) -> str:
        return " and ".join(model.name for model in self._users.values())


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
