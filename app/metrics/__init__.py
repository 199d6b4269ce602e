"""Prometheus metrics of all processes of a service under gunicorn."""
