"""Fixtures: a function that sends a batch."""

import pytest


@pytest.fixture
def batch(api, token):
    """Send calls, by default as the user with id 1; return the response."""

    def send(*calls, caller=token, **more):
        return api("POST", "/batch", {"requests": list(calls)}, token=caller, **more)

    return send
