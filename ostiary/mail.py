"""Mails of kinds of one's own."""

from app.mail import send

__all__ = ["send"]
