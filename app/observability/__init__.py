"""Observability: log lines, the origin of requests, and health."""
