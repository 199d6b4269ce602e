"""Throttles: limits on how often something may be tried."""
