"""The WSGI application that gunicorn and the flask command load."""

import sys

from app.config import ConfigurationError
from app.factory import create_app

try:
    app = create_app()
except ConfigurationError as error:
    sys.exit(f"ostiary: {error}")
