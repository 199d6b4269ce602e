"""Mails what users must know: listens to events, renders and delivers outside requests."""

from .subscribers import init_app

__all__ = ["init_app"]
