"""gunicorn's settings in a checkout; gunicorn reads this file in the current folder."""

from app.commandline.gunicorn_settings import *  # noqa: F403
