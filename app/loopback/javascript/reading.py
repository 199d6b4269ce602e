"""Find what the scripts of an application declare and do."""

from app.loopback.application import Application

from .finding import Finding


def findings(application: Application) -> list[Finding]:
    """Return what is found in all scripts, by file and line."""
    return []
