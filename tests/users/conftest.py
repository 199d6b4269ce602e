"""Fixtures: the events about the addresses of users."""

from contextlib import ExitStack

import pytest

from app import signals

EVENTS = (
    signals.verification_request,
    signals.email_verified,
    signals.email_change_request,
    signals.email_changed,
)


class Events(list):
    """The events of an app in their order: the name and the payload of each."""

    @property
    def names(self):
        return [name for name, _ in self]

    def tokens(self, name="verificationRequest"):
        """Return the tokens of the events with this name, the oldest first."""
        return [info["accessToken"].id for event, info in self if event == name]


@pytest.fixture
def events(app, secrets):
    """What is sent about addresses; every token in it is a secret."""
    events = Events()

    def recorder(name):
        def record(sender, info):
            if "accessToken" in info:
                secrets.append(info["accessToken"].id)
            events.append((name, info))

        return record

    with ExitStack() as stack:
        for event in EVENTS:
            stack.enter_context(event.connected_to(recorder(event.name), sender=app))
        yield events
