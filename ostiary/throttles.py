"""Throttles: how often something may be tried."""

from app.throttles.throttles import allows, attempt, clear, count, define, success

__all__ = ["allows", "attempt", "clear", "count", "define", "success"]
