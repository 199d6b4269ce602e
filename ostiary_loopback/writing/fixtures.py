"""`fixtures/` of a project: the roles, users and rows that boot scripts create."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ostiary_loopback.application import Application
from ostiary_loopback.javascript import Finding
from ostiary_loopback.javascript.finding import Creation
from ostiary_loopback.literals import expressions

from .files import ProjectFile
from .models import to_json
from .secrets import Variables, without_secrets

FILE = "fixtures/loopback.json"
ROLE = "Role"
JsonObject = Mapping[str, Any]


def fixture_files(
    application: Application, found: Sequence[Finding], variables: Variables
) -> list[ProjectFile]:
    """Return the fixtures that boot scripts create with literals; passwords are variables."""
    roles, users, changes = list[str](), list[JsonObject](), list[str]()
    rows: dict[str, list[JsonObject]] = defaultdict(list)
    for name, row, place in _created(application, found):
        model = application.models.get(name)
        if name == ROLE:
            roles += [row["name"]] if isinstance(row.get("name"), str) else []
        elif model and application.is_user(model):
            users += [_user(row, variables)] if isinstance(row.get("email"), str) else []
        elif model and model.definition and not expressions(row):
            rows[name].append(without_secrets(row, f"{name}.{len(rows[name])}", variables))
        else:
            changes.append(f"a row of {name} is left out: it is no literal ({place})")
    content: dict[str, object] = {}
    if roles:
        content["roles"] = list(dict.fromkeys(roles))
    if users:
        content["users"] = users
    for name, items in rows.items():
        content[name] = {"key": _key(items), "rows": items}
    return [ProjectFile(FILE, to_json(content), changes)] if content else []


def _created(
    application: Application, found: Sequence[Finding]
) -> Iterator[tuple[str, JsonObject, str]]:
    boot = {path.resolve() for path in application.boot_scripts}
    for finding in found:
        details = finding.details
        if not isinstance(details, Creation) or finding.file.resolve() not in boot:
            continue
        place = application.place(finding.file, finding.line)
        for row in details.rows:
            yield finding.model or "?", row, place


def _user(row: JsonObject, variables: Variables) -> JsonObject:
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
