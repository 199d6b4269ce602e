"""`fixtures/` of a project: the roles, users and rows that boot scripts create."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from ostiary_loopback.application import Application, Model
from ostiary_loopback.javascript import Finding
from ostiary_loopback.javascript.finding import Creation
from ostiary_loopback.literals import expressions

from .created import CreatedRows
from .files import ProjectFile
from .grants import MAPPING, Grant, Grants
from .models import to_json
from .secrets import Variables, without_secrets
from .settings import users_model

FILE = "fixtures/loopback.json"
ROLE = "Role"
JsonObject = Mapping[str, Any]


def fixture_files(
    application: Application, found: Sequence[Finding], variables: Variables
) -> list[ProjectFile]:
    """Return the fixtures that boot scripts create with literals; passwords are variables."""
    boot = {path.resolve() for path in application.boot_scripts}
    creations = [finding for finding in found if finding.file.resolve() in boot]
    made = _Fixtures(application, variables)
    for finding in creations:
        if isinstance(finding.details, Creation) and finding.model != MAPPING:
            made.add(finding, finding.details.rows)
    grants = Grants(CreatedRows(creations), application.has_typed_tokens)
    for finding in creations:
        if isinstance(finding.details, Creation) and finding.model == MAPPING:
            made.grant(finding, grants.of(finding, finding.details.rows))
    content = made.content()
    return [ProjectFile(FILE, to_json(content), made.changes)] if content or made.changes else []


class _Fixtures:
    """The content of the file, and a sentence for each row that is left out."""

    def __init__(self, application: Application, variables: Variables) -> None:
        self._application = application
        self._variables = variables
        self._roles: list[str] = []
        # Users, by the name of their model in fixtures.
        self._users: dict[str, list[dict[str, Any]]] = defaultdict(list)
        self._rows: dict[str, list[JsonObject]] = defaultdict(list)
        self.changes: list[str] = []

    def content(self) -> dict[str, object]:
        """Return the content of the file."""
        content: dict[str, object] = {}
        if self._roles:
            content["roles"] = list(dict.fromkeys(self._roles))
        content |= self._users
        for name, items in self._rows.items():
            content[name] = {"key": _key(items), "rows": items}
        return content

    def add(self, finding: Finding, rows: Sequence[JsonObject]) -> None:
        """Add the rows that a call creates."""
        for row in rows:
            self._add(finding, row)
        if not rows:
            self._leave_out(f"what {finding.name} creates", "only the JavaScript knows it", finding)

    def _add(self, finding: Finding, row: JsonObject) -> None:
        name = finding.model or "?"
        model = self._application.models.get(name)
        if name == ROLE and isinstance(row.get("name"), str):
            self._roles.append(row["name"])
        elif self._is_user(model) and isinstance(row.get("email"), str):
            is_first = model is users_model(self._application)
            self._users["users" if is_first else name].append(_user(row, self._variables))
        elif model and model.definition and not self._is_user(model) and not expressions(row):
            path = f"{name}.{len(self._rows[name])}"
            self._rows[name].append(without_secrets(row, path, self._variables))
        else:
            is_nameless = self._is_user(model) and "email" not in row
            reason = "it has no email" if is_nameless else "it is no literal"
            self._leave_out(f"a row of {name}", reason, finding)

    def _is_user(self, model: Model | None) -> bool:
        users = users_model(self._application)
        return model is not None and (model is users or self._application.is_user(model))

    def grant(self, finding: Finding, granted: Sequence[Grant]) -> None:
        """Give users their roles."""
        for role, row in granted:
            known = [user for users in self._users.values() for user in users]
            users = [user for user in known if role and row and _is_same(user, row)]
            for user in users:
                user["roles"] = list(dict.fromkeys([*user.get("roles", ()), role]))
            if not users:
                reason = (
                    "its user is none of the file" if role and row else "it is not certain whose"
                )
                self._leave_out(f"a user's role {role or '?'}", reason, finding)

    def _leave_out(self, what: str, reason: str, finding: Finding) -> None:
        place = self._application.place(finding.file, finding.line)
        self.changes.append(f"{what} is left out: {reason} ({place})")


def _is_same(user: JsonObject, row: JsonObject) -> bool:
    """Return True if a user is the one of a row that a script creates or finds."""
    keys = ("email",) if isinstance(row.get("email"), str) else ("username",)
    return all(isinstance(row.get(key), str) and user.get(key) == row[key] for key in keys)


def _user(row: JsonObject, variables: Variables) -> dict[str, Any]:
    """Return a user, whose password is a variable, with the properties that are literals."""
    email = str(row["email"])
    kept = {
        name: value for name, value in row.items() if name != "password" and not expressions(value)
    }
    password = variables.add(f"{email}.password", f"the password of {email}, in fixtures")
    return {**kept, "password": password}


def _key(rows: Sequence[JsonObject]) -> list[str]:
    """Return the properties that identify rows: those for which all of them have a scalar."""
    common = set(rows[0]).intersection(*rows)
    scalars = [
        name
        for name in rows[0]
        if name in common and all(isinstance(row[name], str | int | float | bool) for row in rows)
    ]
    unique = [name for name in scalars if len({row[name] for row in rows}) == len(rows)]
    return unique[:1] or scalars
