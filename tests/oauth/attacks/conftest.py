"""Fixtures: an app with two providers, the second of which is trusted to verify emails."""

import pytest

from tests.oauth.provider import serve_provider


@pytest.fixture(scope="session")
def other_running_provider():
    with serve_provider() as provider:
        yield provider


@pytest.fixture
def other_provider(other_running_provider, secrets):
    """A provider whose entry in the settings is `other`."""
    other_running_provider.reset(secrets)
    return other_running_provider


@pytest.fixture
def settings(provider, other_provider):
    providers = {"test": provider.settings(), "other": other_provider.settings(trustEmail=True)}
    return {"PROVIDERS": providers, "TOKEN_MIDDLEWARE": {}}
