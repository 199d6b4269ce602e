"""`python -m tools.migration`: migrations of Ostiary."""

from sqlalchemy import Column, MetaData, String

from app.database.session import db
from app.migrate.chains import PRODUCT, newest, read_file
from tools.migration import write

[HEAD] = newest(PRODUCT.migrations.values())


def test_a_migration_of_the_product_follows_its_newest(tmp_path, monkeypatch):
    changed = MetaData(naming_convention=db.metadata.naming_convention)
    for table in db.metadata.tables.values():
        table.to_metadata(changed)
    changed.tables["users"].append_column(Column("phone", String(20)))
    monkeypatch.setattr("app.migrate.comparing.all_metadata", lambda _app: changed)

    path = write("Phones of users", tmp_path)

    written = read_file(path)
    assert path.name == f"{int(HEAD) + 1:04}_phones_of_users.py"
    assert (written.revision, written.parents) == (f"{int(HEAD) + 1:04}", {HEAD})
    assert 'batch_op.add_column(sa.Column("phone"' in path.read_text()


def test_nothing_is_written_while_the_migrations_make_the_tables(tmp_path):
    assert write("Nothing", tmp_path) is None
    assert list(tmp_path.iterdir()) == []


def test_the_migrations_of_the_product_are_numbered_one_after_the_other():
    found = PRODUCT.migrations
    assert list(found) == [f"{number:04}" for number in range(1, len(found) + 1)]
    assert all(path.parents <= {f"{int(revision) - 1:04}"} for revision, path in found.items())
