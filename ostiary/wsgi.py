"""The WSGI application: `ostiary run` serves it, and `gunicorn ostiary.wsgi:app` can."""

import gc
import sys

# What a start makes lives as long as the process: looking for garbage in it takes a third of the
# start. Frozen, it is never looked at again, and stays shared with the workers (see `gc.freeze`).
gc.disable()

from app.config import ConfigurationError  # noqa: E402
from app.factory import create_app  # noqa: E402
from app.projects.folder import enter_project  # noqa: E402

try:
    enter_project()
    app = create_app()
except ConfigurationError as error:
    sys.exit(f"ostiary: {error}")

gc.freeze()
gc.enable()

__all__ = ["app"]
