"""The WSGI application, served by `ostiary run` or `gunicorn ostiary.wsgi:app`."""

from app.commandline.wsgi import app

__all__ = ["app"]
