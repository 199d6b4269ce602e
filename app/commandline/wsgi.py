"""The project's WSGI application, which gunicorn serves; the public name is `ostiary.wsgi`."""

import gc
import sys

# Objects created at start live as long as the process, and garbage collection would take a third of
# the start. Frozen, they are never examined again, and stay shared with the workers (see
# `gc.freeze`).
gc.disable()

from app.factory import create_app  # noqa: E402
from app.problems import ConfigurationError  # noqa: E402
from app.projects.folder import enter_project  # noqa: E402

try:
    enter_project()
    app = create_app()
except ConfigurationError as error:
    sys.exit(f"ostiary: {error}")

gc.freeze()
gc.enable()

__all__ = ["app"]
