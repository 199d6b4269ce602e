"""Each model of users has its own accounts: what logs in, and what a token is for."""

import pytest

from tests.conftest import PASSWORD

from .shop import CUSTOMERS, STAFF_PATH

pytestmark = pytest.mark.both_databases


def test_an_address_may_be_that_of_a_user_of_each_model(api, customer, staff):
    assert customer.id != staff.id
    assert (customer.login["userId"], staff.login["userId"]) == (customer.id, staff.id)
    types = customer.login["principalType"], staff.login["principalType"]
    assert types == ("Customer", "Staff")
    taken = api("POST", STAFF_PATH, {"email": staff.email, "password": PASSWORD})
    assert taken.json["error"]["details"]["codes"] == {"email": ["uniqueness"]}
