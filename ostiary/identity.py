"""The caller of the current request."""

from app.access.identity import Identity, LiveToken, current_identity

__all__ = ["Identity", "LiveToken", "current_identity"]
