"""The WSGI application of a checkout, which gunicorn and the flask command load."""

from ostiary.wsgi import app

__all__ = ["app"]
