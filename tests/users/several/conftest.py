"""Fixtures: the shop, and a customer and a member of the staff."""

import pytest

from app.signals import verification_request
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


@pytest.fixture
def serve_verifying(serve):  # noqa: F811 a fixture
    """Serve the shop, in which customers must verify their addresses."""

    def start():
        customer = {**shop.CUSTOMER, "emailVerificationRequired": True}
        return serve({**shop.MODELS, "customer": customer}, shop.CONFIG)

    return start


@pytest.fixture
def mailed_of():
    """Note the tokens that an app mails to verify addresses."""
    connected = []

    def note(api):
        tokens, app = [], api.client.application

        def receive(sender, info):
            api.secrets.append(info["accessToken"].id)
            tokens.append(info["accessToken"].id)

        verification_request.connect(receive, sender=app)
        connected.append((receive, app))
        return tokens

    yield note
    for receive, app in connected:
        verification_request.disconnect(receive, sender=app)
