"""Fixtures: an app with a given mail server, and a trusted certificate authority."""

import pytest
import trustme
from jinja2 import ChoiceLoader, DictLoader

from app.mail import delivery
from app.outbox import delivery as outbox_delivery
from app.outbox import service as outbox_service
from tests.conftest import Api


@pytest.fixture(autouse=True)
def _impatient(monkeypatch):
    """Shorten the delays of attempts, but not the time-out of a silent server."""
    monkeypatch.setattr(outbox_service, "DELIVERY_DELAY", 0.01)
    monkeypatch.setattr(outbox_delivery, "FIRST_BACKOFF", 0.05)
    monkeypatch.setattr(delivery, "SERVER_TIMEOUT", 20.0)


@pytest.fixture
def mailing(make_app, secrets):
    """Return a function that creates an API with a user and the given mail settings."""

    def mailing(**settings):
        api = Api(make_app(**settings).test_client(), secrets)
        api.register("ada@example.com")
        return api

    return mailing


@pytest.fixture
def authority(monkeypatch, tmp_path):
    """A certificate authority that only this process trusts."""
    authority = trustme.CA()
    authority.cert_pem.write_to_path(str(tmp_path / "authority.pem"))
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "authority.pem"))
    return authority


@pytest.fixture
def with_templates(mailing):
    """Build an API with mail templates that come before the app's own, given by their path."""

    def with_templates(templates):
        api = mailing()
        app = api.client.application
        own = {f"mail/{path}": content for path, content in templates.items()}
        app.jinja_loader = ChoiceLoader([DictLoader(own), app.jinja_loader])
        return api

    return with_templates
