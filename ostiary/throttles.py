"""Throttles: how often something may be tried."""

from app.throttles.throttles import allows, clear, count, count_failure, count_success, define

__all__ = ["allows", "clear", "count", "count_failure", "count_success", "define"]
