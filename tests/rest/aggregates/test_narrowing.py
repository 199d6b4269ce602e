"""Who may aggregate rows, where the rules for lists and for aggregates differ by row."""

import json
from dataclasses import replace

import pytest
from sqlalchemy import insert

from app.access.rules import AUTHENTICATED, EVERYONE, OWNER, allow, deny
from app.database.session import db

from .sales import Base, Sale, sales

# Two users, each with a row with a flag and one without.
ROWS = [
    {"owner_id": owner, "flag": flag, "pieces": pieces}
    for owner, flag, pieces in ((1, True, 1), (1, False, 10), (2, True, 100), (2, False, 1000))
]
OWN_LISTS = [deny(EVERYONE, "find"), allow(OWNER, "find")]


@pytest.fixture
def total(serve, token):
    """Return a function that adds up the pieces of sales with these rules, as the first user."""

    def total(*rules):
        app = serve(Base.metadata, replace(sales, rules=lambda settings: rules))
        with app.app_context(), db.engine.begin() as connection:
            connection.execute(insert(Sale), ROWS)
        answer = app.test_client().get(
            "/api/sales/aggregate",
            query_string={"filter": json.dumps({"aggregate": {"total": {"sum": "pieces"}}})},
            headers={"Authorization": token},
        )
        return answer.json[0]["total"] if answer.status_code == 200 else answer.status_code

    return total


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        ([allow(AUTHENTICATED)], 1111),
        ([allow(OWNER)], 11),
        ([allow(AUTHENTICATED), *OWN_LISTS], 11),
        ([allow("colleague")], 101),
        ([allow("colleague"), *OWN_LISTS], 1),
        ([allow(AUTHENTICATED), deny(EVERYONE, "find"), allow("colleague", "find")], 101),
        ([allow("colleague", "find"), allow(AUTHENTICATED, "aggregate")], 1111),
        ([allow("colleague", "aggregate")], 101),
        # A rule that denies aggregates, or does not apply to them, opens them to nobody else.
        ([allow(AUTHENTICATED), *OWN_LISTS, deny(EVERYONE, "aggregate", access="WRITE")], 11),
        ([allow(AUTHENTICATED), deny(EVERYONE, "find"), deny("clerk", "aggregate")], 403),
        ([allow(AUTHENTICATED), *OWN_LISTS, allow("clerk", "aggregate", access="WRITE")], 11),
        # Of the rows of others only, of which lists show none.
        ([allow(AUTHENTICATED), deny(OWNER, access="READ"), *OWN_LISTS], 403),
        ([allow(AUTHENTICATED), deny(EVERYONE, "find")], 403),
        ([allow(AUTHENTICATED, "find")], 403),
    ],
)
@pytest.mark.both_databases
def test_rows_are_aggregated_that_lists_show_unless_rules_name_aggregates(total, rules, expected):
    assert total(*rules) == expected
