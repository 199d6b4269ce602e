"""Chromium's virtual authenticator: a device for passkeys, without one at first."""

from playwright.sync_api import CDPSession, Page

DEVICE = {
    "protocol": "ctap2",
    "transport": "internal",
    "hasResidentKey": True,
    "hasUserVerification": True,
    "isUserVerified": True,
    "automaticPresenceSimulation": True,
}


def add_authenticator(page: Page) -> CDPSession:
    """Let a page have a device; returns the session to disable it by."""
    session = page.context.new_cdp_session(page)
    session.send("WebAuthn.enable")
    session.send("WebAuthn.addVirtualAuthenticator", {"options": DEVICE})
    return session
