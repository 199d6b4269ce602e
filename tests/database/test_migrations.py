"""The migrations, on both databases."""

import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta

import click
import pytest
from alembic import op
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.runtime.environment import EnvironmentContext
from alembic.script import ScriptDirectory
from sqlalchemy import (
    Column,
    DateTime,
    ForeignKey,
    Integer,
    String,
    Table,
    bindparam,
    func,
    inspect,
    select,
    text,
)

from app.database.metadata import app_metadata
from app.database.session import db
from app.factors.models import Factor, RecoveryCode
from app.factors.passkeys.models import Passkey, PasskeyChallenge
from app.factory import create_app
from app.migrate.chains import PRODUCT
from app.migrate.running import downgrade, migration, upgrade
from app.migrate.scripts import configure
from app.users.models import User

TABLES = {"users", "access_tokens", "todos"}


@pytest.fixture
def empty(request, database_url, tmp_path):
    """An app on a database without any table, which is as it was afterwards."""
    app = create_app(
        {"SQLALCHEMY_DATABASE_URI": database_url, "MAIL_FOLDER": str(tmp_path / "mail")}
    )
    with app.app_context():
        downgrade(revision="base")
        yield app
        upgrade()
        db.session.remove()
        db.engine.dispose()


def tables():
    return set(inspect(db.engine).get_table_names()) - {"alembic_version"}


def version():
    with db.engine.connect() as connection:
        return connection.scalar(text("SELECT version_num FROM alembic_version"))


@pytest.mark.both_databases
def test_downgrade_drops_every_table(empty):
    assert tables() == set()
    assert version() is None


@pytest.mark.both_databases
def test_upgrade_creates_every_table(empty):
    upgrade()

    assert tables() >= TABLES
    assert tables() == set(db.metadata.tables)


@pytest.mark.both_databases
def test_downgrade_and_upgrade_again_works(empty):
    for _ in range(2):
        upgrade()
        downgrade(revision="base")

    assert tables() == set()


@pytest.mark.both_databases
def test_the_commands_say_what_they_did_in_one_line(empty):
    def run(*arguments):
        result = empty.test_cli_runner().invoke(args=["db", *arguments])
        assert result.exit_code == 0, result.output
        return result.output

    first = run("upgrade", "0001")
    newest = run("upgrade")
    head = version()

    assert (first, newest) == (
        "Migrated Ostiary to 0001.\n",
        f"Migrated Ostiary to {head}.\n",
    )
    assert run("upgrade") == "There is nothing to migrate.\n"
    assert run("check") == "The tables have what the models say.\n"
    assert run("current") == f"Ostiary: {head} (head)\n"
    assert run("history").splitlines()[-1].startswith("<base> -> 0001")
    assert run("downgrade", "0001") == first
    assert run("downgrade", "base") == "Migrated Ostiary to base.\n"
    assert run("stamp", head) == f"Set the revision to {head}.\n"
    assert (version(), tables()) == (head, set())
    run("stamp", "base")


@pytest.mark.both_databases
def test_the_tables_of_one_app_are_compared_too(empty):
    upgrade()
    own = app_metadata.of(empty)
    users = db.metadata.tables["users"].to_metadata(own)
    users.append_column(Column("phone", String(20)))
    Table(
        "notes",
        own,
        Column("id", Integer, primary_key=True),
        Column("owner", ForeignKey(users.c.id)),
    )

    result = empty.test_cli_runner().invoke(args=["db", "check"])

    assert result.exit_code == 1
    assert result.output == (
        "Error: The models have changes without a migration:\n"
        "  add table notes\n  add column users.phone\n"
    )


@pytest.mark.both_databases
def test_an_unknown_revision_is_one_sentence(empty):
    result = empty.test_cli_runner().invoke(args=["db", "upgrade", "nope"])

    assert result.exit_code == 1
    assert result.output == "Error: There is no migration 'nope'.\n"


@pytest.mark.both_databases
def test_the_migrations_create_the_tables_of_the_models(empty):
    upgrade()

    with db.engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_server_default": True})
        drift = compare_metadata(context, db.metadata)

    assert drift == []


@pytest.mark.both_databases
def test_the_migrated_database_keeps_rows_over_a_second_run(empty):
    upgrade()
    insert = text(
        "INSERT INTO users (realm, email, password_hash, email_verified, created)"
        " VALUES ('', 'ada@example.com', '!', FALSE, '2026-01-02 03:04:05')"
    )
    with db.engine.begin() as connection:
        connection.execute(insert)

    upgrade()

    with db.engine.connect() as connection:
        assert connection.scalar(text("SELECT count(*) FROM users")) == 1


def add_user(name):
    insert = text(
        "INSERT INTO users (realm, email, username, password_hash, email_verified, created)"
        " VALUES ('', :email, :name, '!', FALSE, '2026-01-02 03:04:05')"
    )
    with db.engine.begin() as connection:
        connection.execute(insert, {"email": f"{name}@example.com", "name": name})


@pytest.mark.both_databases
def test_existing_usernames_get_their_normalized_form(empty):
    upgrade(revision="0001")
    add_user("\uff21da")

    upgrade()

    with db.engine.connect() as connection:
        row = connection.execute(text("SELECT username, username_key FROM users")).one()
    assert tuple(row) == ("\uff21da", "ada")


@pytest.mark.both_databases
def test_usernames_that_are_equal_after_normalization_stop_the_migration(empty):
    upgrade(revision="0001")
    add_user("Ada")
    add_user("ada")

    with pytest.raises(click.ClickException, match="Users 1, 2 have usernames that are the same"):
        upgrade()

    assert version() == "0001"
    assert "username_key" not in {each["name"] for each in inspect(db.engine).get_columns("users")}
    downgrade(revision="base")


@pytest.mark.both_databases
def test_resets_that_are_under_way_prove_the_address_of_their_user(empty):
    upgrade(revision="0003")
    add_user("ada")
    insert = text(
        "INSERT INTO access_tokens (digest, handle, user_id, ttl, scope, created, expires_at)"
        " SELECT :digest, 'x', id, 900, :scope, created, created FROM users"
    )
    with db.engine.begin() as connection:
        for digest, scope in (("a", "reset-password"), ("b", None)):
            connection.execute(insert, {"digest": digest, "scope": scope})

    upgrade()

    with db.engine.connect() as connection:
        rows = connection.execute(text("SELECT digest, email FROM access_tokens ORDER BY digest"))
        assert [tuple(row) for row in rows] == [("a", "ada@example.com"), ("b", None)]


@pytest.mark.both_databases
def test_identities_that_were_added_before_the_address_was_confirmed_are_doubted(empty):
    upgrade(revision="0011")
    linked = datetime(2026, 5, 1, tzinfo=UTC)
    confirmed = {"before": linked - timedelta(1), "after": linked + timedelta(1), "never": None}
    for name in confirmed:
        add_user(name)
    verify = text("UPDATE users SET email_verified = (username <> 'never')")
    link = text(
        "INSERT INTO identities (user_id, provider, issuer, subject, profile, created, last_used)"
        " SELECT id, 'test', 'x', username, '{}', :time, :time FROM users"
    )
    record = text(
        "INSERT INTO audit (time, action, user_id, details)"
        " SELECT :time, 'email-verified', id, '{}' FROM users WHERE username = :name"
    )
    time = bindparam("time", type_=DateTime(timezone=True))
    with db.engine.begin() as connection:
        connection.execute(verify)
        connection.execute(link.bindparams(time), {"time": linked})
        for name, moment in confirmed.items():
            if moment:
                connection.execute(record.bindparams(time), {"time": moment, "name": name})

    upgrade()

    with db.engine.connect() as connection:
        rows = connection.execute(text("SELECT subject, proven_email FROM identities"))
        proven = dict(map(tuple, rows))
    assert proven == {"before": "before@example.com", "after": None, "never": None}


@pytest.mark.both_databases
def test_the_tables_of_factors_and_passkeys_go_and_come_back_and_their_users_stay(empty):
    upgrade()
    for name in ("ada", "bob"):
        add_user(name)
    found = db.session.scalars(select(User).order_by(User.id)).all()
    state = {"sign_count": 2**32 - 1, "transports": ["usb"], "backup_eligible": False}
    for user in found:
        key = {"credential_id": f"key{user.id}", "public_key": "key", "backed_up": False}
        db.session.add(Passkey(user_id=user.id, **state, **key))
        db.session.add(Factor(user_id=user.id, secret="secret"))
        db.session.add(RecoveryCode(user_id=user.id, digest=str(user.id)))
        challenge = {"digest": str(user.id), "expires_at": datetime(2026, 1, 2, tzinfo=UTC)}
        db.session.add(PasskeyChallenge(user_id=user.id, **challenge))
    db.session.commit()
    db.session.delete(found[0])
    db.session.commit()
    owned = (Passkey, Factor, RecoveryCode, PasskeyChallenge)
    left = [db.session.scalar(select(func.count()).select_from(model)) for model in owned]

    for revision in ("0018", "0014"):
        downgrade(revision=revision)
        assert "passkeys" not in tables()
    upgrade()

    assert left == [1, 1, 1, 1]
    assert tables() == set(db.metadata.tables)
    assert db.session.scalars(select(User.username)).all() == ["bob"]
    assert db.session.scalars(select(Passkey)).all() == []


@pytest.mark.both_databases
def test_a_migration_that_fails_changes_nothing(empty):
    def fail(_connection, _cursor, statement, *_):
        if "CREATE TABLE deliveries" in statement:
            raise OSError("the disk is full")

    upgrade(revision="0002")
    before = tables()
    db.event.listen(db.engine, "after_cursor_execute", fail)
    with pytest.raises(OSError, match="full"):
        upgrade()
    db.event.remove(db.engine, "after_cursor_execute", fail)

    assert (version(), tables()) == ("0002", before)


@pytest.mark.both_databases
def test_a_migration_may_copy_a_table_to_which_rows_refer(empty):
    upgrade()
    add_user("ada")
    with db.engine.begin() as connection:
        connection.execute(
            text(
                "INSERT INTO todos (title, is_complete, created, owner_id)"
                " SELECT 'x', FALSE, created, id FROM users"
            )
        )

    def make_email_optional(_revision, _context):
        with op.batch_alter_table("users") as users:
            users.alter_column("email", existing_type=String(320), nullable=True)
        return []

    with migration() as connection:
        config = configure(PRODUCT, connection)
        script = ScriptDirectory.from_config(config)
        with EnvironmentContext(config, script, fn=make_email_optional):
            script.run_env()

    with db.engine.connect() as connection:
        assert connection.scalar(text("SELECT count(*) FROM todos")) == 1
    # The tests that follow have the tables of the models.
    downgrade(revision="base")


@pytest.mark.live
@pytest.mark.only_on("sqlite")
def test_of_two_processes_one_migrates_and_the_other_waits(empty):
    environment = {**os.environ, "DATABASE_URL": empty.config["SQLALCHEMY_DATABASE_URI"]}
    command = [sys.executable, "-m", "flask", "db", "upgrade"]
    both = [
        subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    said = sorted(process.communicate(timeout=60)[0] for process in both)

    assert [process.returncode for process in both] == [0, 0]
    assert said == [f"Migrated Ostiary to {version()}.\n", "There is nothing to migrate.\n"]


@pytest.mark.only_on("postgresql")
def test_a_migration_may_take_longer_than_a_request(empty):
    def dawdle(connection, _cursor, statement, *_):
        if "CREATE TABLE todos" in statement:
            connection.connection.cursor().execute("SELECT pg_sleep(0.2)")

    url = empty.config["SQLALCHEMY_DATABASE_URI"]
    app = create_app({"SQLALCHEMY_DATABASE_URI": url, "STATEMENT_TIMEOUT": 0.1})
    with app.app_context():
        db.event.listen(db.engine, "after_cursor_execute", dawdle)
        upgrade()
        found = tables()
        db.engine.dispose()

    assert found >= TABLES
