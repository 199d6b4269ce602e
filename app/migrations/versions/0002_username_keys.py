"""Usernames are unique regardless of case and Unicode form."""

import unicodedata
from collections import defaultdict

import click
import sqlalchemy as sa
from alembic import op

from app.database.ids import app_id_form, id_storage

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

LONGEST = 255

users = sa.table(
    "users",
    sa.column("id", id_storage(app_id_form().name)),
    sa.column("realm", sa.String()),
    sa.column("username", sa.String()),
    sa.column("username_key", sa.String()),
)


def upgrade() -> None:
    """Add the column that is compared; fail before any change if two users would share a name."""
    keys = _keys()
    op.add_column("users", sa.Column("username_key", sa.String(LONGEST)))
    fill = users.update().where(users.c.id == sa.bindparam("row"))
    if keys:
        op.get_bind().execute(fill.values(username_key=sa.bindparam("key")), keys)
    op.drop_index("uq_users_realm_username", "users")
    op.create_index("uq_users_realm_username_key", "users", ["realm", "username_key"], unique=True)


def downgrade() -> None:
    """Compare usernames as typed again."""
    op.drop_index("uq_users_realm_username_key", "users")
    op.create_index("uq_users_realm_username", "users", ["realm", "username"], unique=True)
    op.drop_column("users", "username_key")


def _keys() -> list[dict[str, object]]:
    """Return the key of each user with a username."""
    named = sa.select(users.c.id, users.c.realm, users.c.username).order_by(users.c.id)
    rows = op.get_bind().execute(named.where(users.c.username.is_not(None))).all()
    sharing = defaultdict(list)
    for row in rows:
        sharing[row.realm, _key(row.username)].append(str(row.id))
    for (_, key), ids in sharing.items():
        if len(ids) > 1:
            raise click.ClickException(
                f"Users {', '.join(ids)} have usernames that are the same but for case or spelling:"
                " rename all but one of them, then migrate again. Nothing was changed."
            )
        if len(key) > LONGEST:
            raise click.ClickException(
                f"User {ids[0]} has a username of more than {LONGEST} characters once it is"
                " normalized: rename that user, then migrate again. Nothing was changed."
            )
    return [{"row": row.id, "key": _key(row.username)} for row in rows]


def _key(name: str) -> str:
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())
    return " ".join(folded.split())
