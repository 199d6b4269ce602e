"""Metrics for Prometheus, of all processes of a service under gunicorn."""
