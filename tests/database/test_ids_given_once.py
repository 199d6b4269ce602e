"""No id that the database generates is given twice, whatever happens to its table in between."""

import shutil
from textwrap import dedent, indent

import pytest
from sqlalchemy import text

from app.database.metadata import all_metadata
from app.database.session import db
from app.migrate.comparing import compare, describe
from app.migrate.running import downgrade, upgrade
from app.testing.apps import close
from app.todos.models import Todo
from app.users.models import User
from tests.conftest import PASSWORD, Api
from tests.support.apps import build
from tests.support.races import at_once
from tests.support.rows import statements

ON_SQLITE = pytest.mark.only_on("sqlite")
# What a project's own migrations do to the table of users.
COPIES = {
    "in a batch": """
        with op.batch_alter_table("users") as users:
            users.alter_column("email", existing_type=sa.String(320), type_=sa.String(400))
    """,
    "a column that is dropped": """
        op.add_column("users", sa.Column("phone", sa.String(20)))
        with op.batch_alter_table("users") as users:
            users.drop_column("phone")
    """,
    "by hand": """
        names = [column["name"] for column in sa.inspect(op.get_bind()).get_columns("users")]
        op.execute(f"CREATE TABLE copy AS SELECT {', '.join(names)} FROM users WHERE FALSE")
        sql = op.get_bind().scalar(sa.text("SELECT sql FROM sqlite_master WHERE name = 'users'"))
        op.execute("DROP TABLE copy")
        op.execute(sql.replace("TABLE users", "TABLE copy", 1).replace("AUTOINCREMENT", ""))
        op.execute(f"INSERT INTO copy SELECT {', '.join(names)} FROM users")
        op.execute("DROP TABLE users")
        op.execute("ALTER TABLE copy RENAME TO users")
    """,
    "by hand with AUTOINCREMENT": """
        sql = op.get_bind().scalar(sa.text("SELECT sql FROM sqlite_master WHERE name = 'users'"))
        op.execute(sql.replace("TABLE users", "TABLE copy", 1))
        op.execute("INSERT INTO copy SELECT * FROM users")
        op.execute("DROP TABLE users")
        op.execute("ALTER TABLE copy RENAME TO users")
    """,
}


@pytest.fixture
def own_app(sqlite_template, tmp_path):
    """An app with a SQLite database of the test's own, whose tables the test changes."""
    path = tmp_path / "own.sqlite"
    shutil.copy(sqlite_template, path)
    app = build(f"sqlite:///{path}", tmp_path / "mail")
    yield app
    close(app)


def migrate(app, folder, body):
    """Upgrade a database by a migration of the project's own."""
    folder.mkdir()
    (folder / "own.py").write_text(
        "import sqlalchemy as sa\nfrom alembic import op\n"
        "revision, down_revision = 'own', None\n"
        f"def upgrade():\n{indent(dedent(body), '    ')}"
    )
    app.config["MIGRATIONS_FOLDER"] = str(folder)
    with app.app_context():
        upgrade()
        db.engine.dispose()


def head(app):
    with app.app_context():
        return db.session.scalar(text("SELECT version_num FROM alembic_version"))


def come_and_go(api, email="ada@example.com"):
    """Register and delete a user; return the id."""
    user_id = api.register(email)["id"]
    api("DELETE", f"/users/{user_id}", token=api.login(email)["id"])
    return user_id


@pytest.mark.parametrize("copy", COPIES)
def test_an_id_from_before_a_migration_that_copies_users_is_not_given_again(
    own_app, tmp_path, copy
):
    api = Api(own_app.test_client(), [])
    api.register("first@example.com")
    ids = [1, come_and_go(api)]

    migrate(own_app, tmp_path / "own", COPIES[copy])
    ids += [come_and_go(api), come_and_go(api)]

    assert ids == [1, 2, 3, 4]
    assert api.login("first@example.com")["userId"] == 1


def test_a_copied_table_keeps_what_refers_to_it_and_how(own_app, tmp_path):
    api = Api(own_app.test_client(), [])
    token = api.newcomer()
    api("POST", "/todos", {"title": "x"}, token=token)

    migrate(own_app, tmp_path / "own", COPIES["a column that is dropped"])

    with own_app.app_context(), db.engine.connect() as connection:
        broken = connection.execute(text("PRAGMA foreign_key_check")).all()
        drift = describe(compare(connection).upgrade_ops)
    assert (broken, drift) == ([], [])
    assert len(api("GET", "/todos", token=token).json) == 1
    assert api("DELETE", "/users/1", token=token).status_code == 200
    with own_app.app_context():
        assert db.session.query(Todo).count() == 0


def test_a_table_that_was_copied_before_is_repaired_by_the_upgrade(own_app, tmp_path):
    api = Api(own_app.test_client(), [])
    api.register("first@example.com")
    come_and_go(api)
    with own_app.app_context():
        version = head(own_app)
        downgrade("0012")
        with db.engine.connect() as connection:
            sql = connection.scalar(text("SELECT sql FROM sqlite_master WHERE name = 'users'"))
            copy = sql.replace("TABLE users", "TABLE copy", 1).replace("AUTOINCREMENT", "")
            for statement in (
                "PRAGMA foreign_keys=OFF",
                copy,
                "INSERT INTO copy SELECT * FROM users",
                "DROP TABLE users",
                "ALTER TABLE copy RENAME TO users",
            ):
                connection.exec_driver_sql(statement)
        db.engine.dispose()

        upgrade()

        assert head(own_app) == version
        db.engine.dispose()
    # The audit log knows of the user who was deleted.
    assert come_and_go(api) == 3


def test_a_database_that_is_up_to_date_is_not_touched(own_app):
    with own_app.app_context():
        upgrade()
    with statements(own_app) as sent, own_app.app_context():
        upgrade()

    assert not [each for each in sent if each.startswith(("CREATE", "DROP", "INSERT", "UPDATE"))]


@ON_SQLITE
def test_no_table_that_numbers_its_rows_gives_a_number_again(app):
    """Alembic compares neither AUTOINCREMENT nor what a table has counted."""
    with app.app_context(), db.engine.connect() as connection:
        sql = dict(map(tuple, connection.execute(text("SELECT name, sql FROM sqlite_master"))))
    # Nothing but the mappings, which are deleted with a role, refers to the ids of roles.
    numbered = [
        table.name
        for table in all_metadata(app).tables.values()
        if list(table.primary_key.columns.keys()) == ["id"] and table.name != "roles"
    ]

    assert {name for name in numbered if "AUTOINCREMENT" not in sql[name]} == set()
    assert "users" in numbered


@pytest.mark.both_databases
def test_the_id_of_an_imported_user_who_was_deleted_is_not_given_again(app, api, tmp_path):
    file = tmp_path / "users.csv"
    file.write_text(
        f"id,email,password\n40,fortieth@example.com,{PASSWORD}\n7,seventh@example.com,{PASSWORD}\n"
    )
    runner = app.test_cli_runner()
    assert runner.invoke(args=["users", "import", str(file)]).exit_code == 0
    assert runner.invoke(args=["users", "delete", "fortieth@example.com", "--yes"]).exit_code == 0

    assert api.register()["id"] == 41


@pytest.mark.both_databases
def test_users_who_come_and_go_at_once_have_ids_of_their_own(app):
    def come_and_go_often(client):
        api = Api(client, [])
        return [come_and_go(api, f"{id(client)}@example.com") for _ in range(5)]

    ids = [each for found in at_once(app, *[come_and_go_often] * 4) for each in found]

    assert len(set(ids)) == len(ids) == 20
    with app.app_context():
        assert db.session.query(User).count() == 0
