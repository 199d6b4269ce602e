"""Fixtures: the shop, and a customer and a member of the staff."""

import pytest

from tests.definitions.conftest import make_models, serve, write_models  # noqa: F401 fixtures

from . import shop


@pytest.fixture
def api(serve):  # noqa: F811 a fixture
    return serve(shop.MODELS, shop.CONFIG)


@pytest.fixture
def customer(api):
    return shop.Person(api, shop.CUSTOMERS, "ada@example.com")


@pytest.fixture
def staff(api, customer):
    """Somebody with the customer's address, who was created after."""
    return shop.Person(api, shop.STAFF_PATH, "ada@example.com")
