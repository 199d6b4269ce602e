"""Moves the shop from a running LoopBack 3 on MariaDB, where users of both models have one id."""

import json
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from ostiary_loopback.data.moving import FOLDER
from ostiary_loopback.data.user_ids import FILE
from tests.loopback.client import Answer, Client
from tests.loopback.commands import database_url, ostiary, running
from tests.loopback.comparison import differences
from tests.loopback.loopback3 import copy_application, run_loopback
from tests.loopback.restored import restore
from tests.loopback.sources import DATA_SOURCES, SOURCES
from tests.support.ports import free_port

from .script import CALLS, SETUP, USERS

APPLICATION = Path(__file__).parent / "application"
SOURCE = replace(SOURCES["mariadb"], recordings=Path(__file__).parent / "recordings")
# Foreign keys, by the model of users to which they lead.
KEYS = {"customerId": "Customer", "staffId": "Staff", "clerkId": "Staff", "bossId": "Staff"}
# Keys with the name of the model in another property.
POLYMORPHIC = {"authorId": "authorType", "userId": "principalType"}
NewIds = Mapping[str, Mapping[str, int]]
# Calls that docs/compatibility.md says to differ, with both statuses.
KNOWN = {
    # The rules of users decide on relations to users.
    "clerk: GET /staff/{clerk}/boss": (200, 200),
    "eve: GET /staff/{eve}/boss": (200, 200),
    # The owners of rows are users of one model.
    "eve: GET /Tickets/{late}": (200, 401),
    # A token of another model.
    "ada: POST /staff/change-password": (403, 401),
}


def move(target: str, folder: Path, server: str) -> tuple[str, list[str]]:
    """Move the shop to a target; return what was compared, and what differs."""
    application, project = folder / "application", folder / "project"
    imported = folder / "imported"
    project.mkdir()
    url = database_url(target, project, server)
    with SOURCE.run(application) as database:
        copy_application(application, SOURCE.ids, database.settings, source=APPLICATION)
        copy_application(imported, SOURCE.ids, DATA_SOURCES[SOURCE.name], source=APPLICATION)
        with run_loopback(application) as old:
            before = Client(old)
            failed = [answer for answer in before.run(SETUP) if answer["status"] >= 400]
            assert not failed, failed
            with restore(SOURCE, database.dump(), folder, server) as data:
                after, new_ids = import_and_call(imported, data, project, url, before.kept)
            answers = named(before.run(CALLS), before.kept), named(*after)
    number = sum(len(ids) for ids in new_ids.values())
    return f"{len(CALLS)} calls, {number} users with new ids", list(differences(*answers, KNOWN))


def import_and_call(
    imported: Path, data: str, project: Path, url: str, kept: Mapping[str, Any]
) -> tuple[tuple[list[Answer], dict[str, Any]], NewIds]:
    """Import the shop, serve it, and make the calls with what clients of LoopBack have kept.

    Returns the answers with what the client has kept then, and the new ids.
    """
    command = ("loopback", "import", str(imported), "--data", data)
    ostiary(project, *command, DATABASE_URL=url)
    # A further import adds what is new: nothing.
    ostiary(project, *command, DATABASE_URL=url)
    new_ids = json.loads((project / FOLDER / FILE).read_text())
    with running(project, "run", port=free_port(), DATABASE_URL=url) as new:
        client = Client(f"{new}/api", renumbered(kept, new_ids))
        return (client.run(CALLS), client.kept), new_ids


def renumbered(kept: Mapping[str, Any], new_ids: NewIds) -> dict[str, Any]:
    """Return what a client has kept, with the new ids of users."""
    new = {
        user: new_ids[model].get(str(kept[user]), kept[user])
        for model, users in USERS.items()
        for user in users
        if user in kept
    }
    return {**kept, **new}


def named(answers: list[Answer], kept: Mapping[str, Any]) -> list[Answer]:
    """Return answers with names in place of the ids of users, which differ."""
    names = {
        model: {kept[user]: user for user in users if user in kept}
        for model, users in USERS.items()
    }
    return [{**answer, "body": _named(answer["body"], names)} for answer in answers]


def _named(value: Any, names: Mapping[str, Mapping[int, str]]) -> Any:
    if isinstance(value, list):
        return [*map(partial(_named, names=names), value)]
    if not isinstance(value, dict):
        return value
    models = KEYS | {key: value.get(type_) for key, type_ in POLYMORPHIC.items()}
    if "email" in value:
        models["id"] = "Staff" if "badge" in value else "Customer"
    replaced = {
        key: names[model].get(value[key], value[key])
        for key, model in models.items()
        if model in names and key in value
    }
    return {key: _named(item, names) for key, item in value.items()} | replaced
