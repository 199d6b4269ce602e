"""Conditions on related rows find rows by the indexes of foreign keys and of the target."""

import re

import pytest
from sqlalchemy import text

from app.database.session import db
from tests.support.rows import statements

from .library import OPEN
from .sites import ask, belongs_to, has_many

SITE = {
    "name": "Site",
    "properties": {"name": {"type": "string", "index": True}},
    "relations": {
        "tasks": has_many("Task", "siteId"),
        "tags": {"type": "hasAndBelongsToMany", "model": "Tag"},
        "members": {"type": "hasMany", "model": "Member", "through": "Shift"},
        "images": {"type": "hasMany", "model": "Image", "polymorphic": "shown"},
    },
    "acls": OPEN,
}
TASK = {"name": "Task", "relations": {"site": belongs_to("Site", "siteId")}, "acls": OPEN}
TAG = {
    "name": "Tag",
    "properties": {"name": {"type": "string", "index": True}},
    "relations": {"sites": {"type": "hasAndBelongsToMany", "model": "Site"}},
    "acls": OPEN,
}
SHIFT = {
    "name": "Shift",
    "relations": {"site": belongs_to("Site", "siteId"), "member": belongs_to("Member", "memberId")},
    "acls": OPEN,
}
MEMBER = {
    "name": "Member",
    "relations": {"sites": {"type": "hasMany", "model": "Site", "through": "Shift"}},
    "acls": OPEN,
}
IMAGE = {
    "name": "Image",
    "relations": {"shown": {"type": "belongsTo", "polymorphic": True}},
    "acls": OPEN,
}
MODELS = {
    model["name"].lower(): model for model in (SITE, TASK, TAG, SHIFT, MEMBER, IMAGE)
}  # fmt: skip
# Filters of lists, each with the table that alone is read in its own order.
FILTERS = [
    ("/tasks", {"site": {"name": "a"}}, None),
    ("/tasks", {"site": {"tags": {"name": "a"}}}, None),
    ("/sites", {"tasks": {"some": {}}}, "site"),
    ("/sites", {"tasks": {"none": {"id": 7}}}, "site"),
    ("/sites", {"tags": {"name": "a"}}, "site"),
    ("/tags", {"sites": {"name": "a"}}, "tag"),
    ("/sites", {"members": {"id": 7}}, "site"),
    ("/members", {"sites": {"name": "a"}}, "member"),
    ("/sites", {"images": {"exists": True}}, "site"),
]


@pytest.mark.both_databases
def test_related_rows_are_found_by_indexes(serve, database_name):
    api = serve(MODELS)
    token = api.logged_in()
    app = api.client.application
    for path, where, scanned in FILTERS:
        for _ in range(2):
            ask(api, path, token, filter={"where": where})
        with statements(app) as sent:
            assert ask(api, path, token, filter={"where": where}).json == []
        [statement] = [each for each in sent if "_1" in each]

        with app.app_context(), db.engine.connect() as connection:
            plan = plan_of(connection, statement)

        read = [step for step in plan if step.startswith("SCAN ") or "Seq Scan" in step]
        assert [step for step in read if step.split()[1] != scanned] == [], (where, plan)
        if where == {"site": {"name": "a"}}:
            assert any("site_name" in step for step in plan), plan
            assert database_name != "sqlite" or any("task_site_id" in step for step in plan), plan


def plan_of(connection, statement):
    """Return the steps of the plan of a prepared statement, whatever its values are."""
    if connection.dialect.name == "sqlite":
        return [row.detail for row in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}")]
    # The engine is in autocommit mode. The server records what the service sends, and not this.
    connection.exec_driver_sql("BEGIN")
    connection.exec_driver_sql("SET LOCAL pg_stat_statements.track = none")
    # A small table would be read as a whole.
    connection.exec_driver_sql("SET LOCAL enable_seqscan = off")
    connection.exec_driver_sql("SET LOCAL plan_cache_mode = force_generic_plan")
    connection.exec_driver_sql(f"PREPARE planned AS {statement}")
    values = ", ".join(["'1'"] * len({*re.findall(r"\$\d+", statement)}))
    try:
        return [*connection.scalars(text(f"EXPLAIN EXECUTE planned({values})"))]
    finally:
        connection.exec_driver_sql("DEALLOCATE planned")
        connection.exec_driver_sql("ROLLBACK")
