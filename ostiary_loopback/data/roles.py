"""Roles and role mappings."""

from typing import cast

from sqlalchemy import Table, insert, select

from app.access.roles import Role, RoleMapping, check_role
from app.database.ids import app_id_form, new_id
from app.database.session import db, transaction
from app.errors import ValidationError
from app.ids import Id

from .batches import Plan, Values, continue_ids
from .moved import Journal, Refused
from .source_models import SourceModel
from .sources.base import Row, Source
from .user_ids import USER, UserIds
from .values import InvalidValue, to_id

ROLE = "ROLE"
APPLICATIONS = ("APP", "APPLICATION")


class Roles:
    """Creates the roles, of which there are few, and maps their ids in the source to those here."""

    def __init__(self, source: Source, journal: Journal) -> None:
        self._source = source
        self._journal = journal
        # The ids of roles by those in the source, as text.
        self._ids: dict[str, Id] = {}

    def move(self, model: SourceModel) -> None:
        """Create the roles that do not exist; a role of the same name is the same role."""
        counts = self._journal.moved.of(model.name)
        is_done = counts.is_done
        for _, row in self._source.rows(model):
            given, name = row.get(model.id_name), row.get("name")
            role_id, is_new, problem = self._find_or_create(given, name)
            if role_id is not None:
                self._ids[str(given)] = role_id
            if is_done:
                continue
            counts.read += 1
            if problem:
                self._journal.refuse(model.name, problem, given)
            elif is_new:
                counts.written += 1
            else:
                counts.present += 1
        continue_ids(cast("Table", Role.__table__))
        counts.total = self._source.count(model)
        counts.stored = len(db.session.scalars(select(Role.id)).all())
        counts.is_done = True
        self._journal.save()

    def _find_or_create(self, given: object, name: object) -> tuple[Id | None, bool, str]:
        """Return the id of a role, whether it is new, and the reason if there is none."""
        try:
            check_role(str(name or ""))
        except ValidationError as error:
            return None, False, error.sentences
        found = db.session.scalar(select(Role.id).where(Role.name == str(name)))
        if found is not None:
            return found, False, ""
        with transaction():
            return self._create(given, str(name)), True, ""

    def _create(self, given: object, name: str) -> Id:
        try:
            role_id = cast("Id | None", to_id(app_id_form(), given))
        except InvalidValue:
            role_id = None
        taken = db.session.scalar(select(Role.id).where(Role.id == role_id))
        role_id = None if taken is not None else role_id
        role_id = role_id if role_id is not None else new_id(Role.id.type)
        values = {"name": name} | ({} if role_id is None else {"id": role_id})
        return db.session.scalars(insert(Role).values(values).returning(Role.id)).one()

    def mappings(self, model: SourceModel, ids: UserIds, has_typed_tokens: bool) -> Plan:
        """Return the plan of role mappings of users with these ids.

        If tokens have a `principalType`, LoopBack 3 finds mappings by it, and none of USER.
        """

        def convert(row: Row) -> Values:
            kind = str(row.get("principalType") or "")
            if kind == ROLE:
                raise Refused("is of a nested role (principalType ROLE)")
            if kind in APPLICATIONS:
                raise Refused("is of an application (principalType APP)")
            if kind == USER and has_typed_tokens:
                raise Refused("is of principalType USER, which has no effect if tokens have a type")
            users = ids.model_of(kind) if kind else None
            if users is None:
                raise Refused("is of another principalType than the users")
            role_id = self._ids.get(str(row.get("roleId")))
            if role_id is None:
                raise Refused("roleId refers to a role that does not exist")
            user_id = ids.find(users, row.get("principalId"))
            if user_id is None:
                raise Refused("has no principalId")
            return {"user_id": user_id, "role_id": role_id}

        table = cast("Table", RoleMapping.__table__)
        properties = {"user_id": "principalId", "role_id": "roleId"}
        return Plan(
            model,
            table,
            convert,
            key=list(properties),
            properties=properties,
        )
