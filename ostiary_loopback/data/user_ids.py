"""The ids of users of several models, which have one table here and may have the same ids there."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import cast

from sqlalchemy import select

from app.database.ids import app_id_form
from app.database.session import db
from app.ids import INTEGER, Id
from app.users.models import User

from .fields import NOTE
from .moved import Moved
from .source_models import SourceModel
from .sources.base import Row, Source
from .values import InvalidValue, to_id

# The file, in the folder of the import, with the new ids by model and old id.
FILE = "new-ids.json"
# The names of users in `principalType`, besides those of models: users of the first model.
USER = "USER"


class UserIds:
    """The new ids of users whose id a user of another model has, too.

    The users of the largest model keep theirs. New ids are kept in a file, so that further runs
    find the same ones.
    """

    def __init__(self, models: Sequence[SourceModel], folder: Path) -> None:
        """`models` are those of users, the first one first."""
        self._models = {model.name: model for model in models}
        self._first = models[0].name
        self._path = folder / FILE
        self._new: dict[str, dict[str, int]] = {}
        if self._path.is_file():
            self._new = json.loads(self._path.read_text())

    def allot(self, source: Source, moved: Moved) -> None:
        """Give new ids where users of several models have the same integer."""
        if app_id_form() is not INTEGER or len(self._models) == 1:
            return
        ids = {
            name: set(_ids(source, model))
            for name, model in self._models.items()
            if source.holder(model)
        }
        stored = self._stored()
        new = {number for by_old in self._new.values() for number in by_old.values()}
        taken, known_ids = set(new), [new, *ids.values(), *stored.values()]
        highest = max(max(found, default=0) for found in known_ids)
        for name in sorted(ids, key=lambda name: (-len(ids[name]), name)):
            known, own = self._new.setdefault(name, {}), ids[name]
            of_others = set[int]().union(*(stored[other] for other in stored if other != name))
            # Users whom an earlier run moved keep the ids that they have.
            kept = stored.get(name, set()) - new
            for old in sorted((own - kept) & (taken | of_others)):
                if str(old) not in known:
                    highest += 1
                    known[str(old)] = highest
            taken |= {known.get(str(old), old) for old in own}
            if known:
                text = f"users have the id of a user of another model, and a new one: {FILE}"
                moved.add(name, NOTE, text, count=len(known))
        self._path.write_text(json.dumps(self._new, indent=2))

    def _stored(self) -> dict[str, set[int]]:
        """Return the ids of users in the database, by model."""
        names = list(self._models)
        found = dict[str, set[int]]()
        for user_id, type_ in db.session.execute(select(User.id, User.principal_type)):
            found.setdefault(type_ or names[0], set()).add(int(user_id))
        return found

    def find(self, model: str, given: object) -> Id | None:
        """Return the id of a user of a model; raise InvalidValue."""
        user_id = cast("Id | None", to_id(app_id_form(), given))
        return self._new.get(model, {}).get(str(user_id), user_id)

    def model_of(self, principal_type: object) -> str | None:
        """Return the model that a `principalType` names; None for one that is no model of users."""
        if not principal_type or principal_type == USER:
            return self._first
        return str(principal_type) if str(principal_type) in self._models else None

    @property
    def principals(self) -> set[str]:
        """The values of `principalType` of users."""
        return {USER, *self._models}


class Keys:
    """The properties of a model that hold ids of users, which are replaced by the new ones."""

    def __init__(
        self, ids: UserIds, keys: Mapping[str, str], polymorphic: Mapping[str, str]
    ) -> None:
        """`keys` are the models of users by property.

        `polymorphic` are properties with the name of a model, by the one with the id.
        """
        self._ids, self._keys, self._polymorphic = ids, keys, polymorphic

    def replace(self, row: Row) -> Row:
        """Return a row with the new ids of users."""
        changed = dict(row)
        for name, model in self._models(row):
            changed[name] = self._new(model, row.get(name))
        return changed

    def _models(self, row: Row) -> Iterator[tuple[str, str]]:
        """Yield the properties that hold ids of users, each with the model of these."""
        yield from self._keys.items()
        for name, type_ in self._polymorphic.items():
            model = row.get(type_)
            if isinstance(model, str) and model in self._ids.principals:
                yield name, model

    def _new(self, model: str, given: object) -> object:
        if isinstance(given, list):
            return [self._new(model, item) for item in given]
        try:
            return given if given is None else self._ids.find(model, given)
        except InvalidValue:
            # The property's own converter refuses it.
            return given


def _ids(source: Source, model: SourceModel) -> Iterator[int]:
    for _, row in source.rows(model):
        try:
            user_id = to_id(app_id_form(), row.get(model.id_name))
        except InvalidValue:
            continue
        if isinstance(user_id, int):
            yield user_id
