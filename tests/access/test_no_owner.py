"""Scopes of permissions on rows that have no owner; rules for $owner on them stop the start."""

import pytest

from app.access.policy import Grant
from app.access.rules import Decision


@pytest.mark.parametrize(
    ("own", "others", "conditions"),
    [(True, False, ["false"]), (False, True, []), (True, True, [])],
)
def test_rows_without_an_owner_column_belong_to_no_user(own, others, conditions):
    scope = Grant(7, Decision(own=own, others=others)).scope(None)

    assert [str(condition) for condition in scope] == conditions
