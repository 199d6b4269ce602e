"""The log of changes: what writes to it, and what it keeps."""

import re
from contextlib import suppress

import pytest
from alembic.operations import Operations
from alembic.runtime.migration import MigrationContext
from sqlalchemy import text

from app.changes.log import epoch, purge_batch
from app.changes.triggers import Triggers
from app.database.metadata import derived_objects
from app.database.session import db, transaction
from app.problems import ConfigurationError

from .conftest import NOTE, SHOP

pytestmark = pytest.mark.both_databases


def said(changes):
    return [(each["model"], each["kind"], each["names"]) for each in changes]


def test_a_change_is_logged_with_its_columns_and_the_kept_values(shop, log):
    order = shop("POST", "/orders", {"title": "Home", "status": "new", "ownerId": 1}).json
    shop("PATCH", f"/orders/{order['id']}", {"status": "paid", "title": "Home"})
    shop("PATCH", f"/orders/{order['id']}", {"status": "paid"})
    shop("DELETE", f"/orders/{order['id']}")

    changes = log(shop)

    assert said(changes) == [
        ("Orders", "create", None),
        ("Orders", "update", ["status"]),
        ("Orders", "remove", None),
    ]
    assert {each["row_id"] for each in changes} == {str(order["id"])}
    new, paid = {"owner_id": 1, "status": "new"}, {"owner_id": 1, "status": "paid"}
    assert [(each["before"], each["after"]) for each in changes] == [
        (None, new),
        (new, paid),
        (paid, None),
    ]
    assert changes[0]["created"] <= changes[-1]["created"]


def test_what_the_database_itself_changes_is_logged(shop, log):
    order = shop("POST", "/orders", {"title": "Home"}).json["id"]
    shop("POST", f"/orders/{order}/lines", {"sku": "lamp"})

    shop("DELETE", f"/orders/{order}")

    assert sorted(said(log(shop))[2:], key=str) == [
        ("Lines", "update", ["order_id"]),
        ("Orders", "remove", None),
    ]


def test_bulk_changes_and_sql_are_logged_and_what_rolls_back_is_not(shop, log):
    for number in range(3):
        shop("POST", "/orders", {"title": f"{number}"})
    shop("POST", "/orders/update?where={}", {"title": "All"})
    with shop.app.app_context():
        with suppress(LookupError), transaction():
            db.session.execute(text("UPDATE \"order\" SET title = 'Lost'"))
            raise LookupError
        with transaction():
            db.session.execute(text('DELETE FROM "order"'))

    assert (
        said(log(shop))[3:]
        == [("Orders", "update", ["title"])] * 3 + [("Orders", "remove", None)] * 3
    )


def test_models_that_do_not_opt_in_are_not_logged(shop, log):
    shop("POST", "/notes", {"text": "Hello"})

    assert log(shop) == []


def test_the_setting_opts_in_too(make_shop, log):
    shop = make_shop({"note": NOTE}, CHANGES=["Notes"])

    shop("POST", "/notes", {"text": "Hello"})

    assert said(log(shop)) == [("Notes", "create", None)]


@pytest.mark.parametrize(
    ("models", "settings", "problem"),
    [
        (SHOP, {"CHANGES": ["orderz"]}, "there is no model orderz"),
        (SHOP, {"CHANGES": ["users"]}, "they are users"),
        ({"note": NOTE | {"changes": {"keep": ["tekst"]}}}, {}, "did you mean 'text'"),
        ({"note": NOTE | {"changes": "yes"}}, {}, "changes: must be true"),
    ],
)
def test_a_wrong_declaration_is_an_error(make_shop, models, settings, problem):
    with pytest.raises(ConfigurationError, match=re.escape(problem)):
        make_shop(models, **settings)


def test_the_service_does_not_start_without_its_triggers(make_shop):
    shop = make_shop()
    with shop.app.app_context(), db.engine.begin() as connection:
        assert derived_objects.current.missing(connection) == []
        Triggers({}).update(connection)

        assert derived_objects.current.missing(connection) == [
            "triggers for the changes of Lines",
            "triggers for the changes of Orders",
        ]
        derived_objects.current.update(connection)
        assert derived_objects.current.missing(connection) == []


def test_triggers_of_a_model_that_opted_out_are_dropped(make_shop, log):
    shop = make_shop()
    with shop.app.app_context(), db.engine.begin() as connection:
        Triggers({}).update(connection)

    shop("POST", "/orders", {"title": "Home"})

    assert log(shop) == []


@pytest.mark.only_on("sqlite")
def test_triggers_survive_a_migration_that_copies_the_table(shop, log):
    with shop.app.app_context(), db.engine.begin() as connection:
        operations = Operations(MigrationContext.configure(connection))
        with operations.batch_alter_table("order", recreate="always"):
            pass
        derived_objects.current.update(connection)

    shop("POST", "/orders", {"title": "Home"})

    assert said(log(shop)) == [("Orders", "create", None)]


def test_the_command_lists_the_models_and_begins_an_epoch(shop):
    shop("POST", "/orders", {"title": "Home"})
    run = shop.app.test_cli_runner().invoke
    with shop.app.app_context():
        before = epoch()

    listed, begun = run(args=["changes", "list"]), run(args=["changes", "new-epoch"])

    assert listed.output.splitlines()[1].split()[:2] == ["Orders", "1"]
    assert begun.exit_code == 0, begun.output
    with shop.app.app_context():
        assert epoch() != before == before[:16] + before[16:]


def test_changes_are_purged_when_their_time_is_over(shop, log, monkeypatch):
    shop("POST", "/orders", {"title": "Home"})
    with shop.app.app_context():
        assert purge_batch() == 0
        shop.app.config["CHANGES_RETENTION"] = -1
        assert purge_batch() == 1

    assert log(shop) == []


def test_the_log_has_who_made_a_change_and_in_which_request(shop, log):
    headers = {"X-Request-Id": "request-1"}
    shop("POST", "/orders", {"title": "Home"}, headers=headers)
    shop("PATCH", "/orders/1", {"title": "Garden"}, token=None, headers=headers)
    shop("POST", "/orders/1/lines", {"sku": "lamp"}, headers=headers)
    with shop.app.app_context():
        db.session.execute(text("UPDATE \"order\" SET title = 'By hand'"))
        db.session.commit()

    found = [(each["actor"], each["request_id"]) for each in log(shop)]

    mine = ("1", "request-1")
    assert found == [mine, (None, "request-1"), mine, (None, None)]


def test_changes_of_a_batch_have_who_made_them(shop, log):
    calls = [
        {"method": "POST", "path": "/notes", "body": {"text": "Not logged"}},
        {"method": "POST", "path": "/orders", "body": {"title": "Home"}},
        {"method": "POST", "path": "/lines", "body": {"sku": "lamp"}},
    ]

    assert shop("POST", "/batch", {"requests": calls}).status_code == 200
    assert [each["actor"] for each in log(shop)] == ["1", "1"]


@pytest.mark.only_on("postgresql")
@pytest.mark.parametrize(("switch", "notifications"), [("on", 1), ("off", 0)])
def test_notifications_can_be_switched_off(shop, log, switch, notifications):
    with shop.app.app_context(), db.engine.connect() as connection:
        connection.exec_driver_sql("LISTEN ostiary_changes")
        connection.exec_driver_sql(f"SET ostiary.notify = '{switch}'")
        connection.exec_driver_sql("INSERT INTO \"order\" (title) VALUES ('Home')")
        driver = connection.connection.driver_connection
        found = list(driver.notifies(timeout=0.2, stop_after=1))
        connection.detach()

    assert said(log(shop)) == [("Orders", "create", None)]
    assert len(found) == notifications
