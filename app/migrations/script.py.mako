"""${message}."""

import sqlalchemy as sa
from alembic import op
${"\n" + imports if imports else ""}
revision = ${repr(up_revision)}
down_revision = ${repr(down_revision)}
branch_labels = ${repr(branch_labels)}
depends_on = ${repr(depends_on)}


def upgrade() -> None:
    """Change the tables to what the models have."""
    ${upgrades if upgrades else "pass"}


def downgrade() -> None:
    """Change them back."""
    ${downgrades if downgrades else "pass"}
