"""Write a migration of the product from the differences between its models and its migrations.

`python -m tools.migration "What changes"`; models of a project are ignored.
"""

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from app.factory import create_app
from app.migrate.chains import PRODUCT, newest
from app.migrate.comparing import compare, render
from app.migrate.running import look, upgrade
from app.migrate.writing import Draft


def write(message: str, folder: Path = PRODUCT.folder) -> Path | None:
    """Write the migration; return its file, or None if there is nothing to do."""
    with TemporaryDirectory() as name:
        app = create_app({"SQLALCHEMY_DATABASE_URI": f"sqlite:///{name}/product.sqlite"})
        with app.app_context():
            upgrade()
            with look() as connection:
                script = compare(connection)
                if not script.upgrade_ops or not script.downgrade_ops or not script.upgrade_ops.ops:
                    return None
                [head] = newest(PRODUCT.migrations.values())
                draft = Draft(
                    message,
                    [head],
                    upgrade=render(script.upgrade_ops, connection),
                    downgrade=render(script.downgrade_ops, connection),
                    revision=f"{int(head) + 1:04}",
                )
                return draft.write(folder, is_dated=False)


if __name__ == "__main__":
    written = write(" ".join(sys.argv[1:]) or sys.exit("Say what the migration changes."))
    click.echo(written or "The migrations make the tables of the models.")
