"""The code of a project: `init_app(app)` of its `project.py`."""

import os
from pathlib import Path

from flask import Flask

from app.config import ConfigurationError
from app.project_modules import load, located_errors

ENTRY = "init_app"


def init_app(app: Flask) -> None:
    """Call the function of PROJECT_FILE; raise ConfigurationError for an error in its code."""
    path = Path(os.path.abspath(Path(app.instance_path, app.config["PROJECT_FILE"])))
    # Path.is_file may raise an error, for example if the service may not access the folder.
    if not os.path.isfile(path):
        raise ConfigurationError(f"PROJECT_FILE cannot be used: there is no file {path}")
    function = getattr(load(app, path), ENTRY, None)
    if not callable(function):
        raise ConfigurationError(f"{path.name} has no function {ENTRY}; write def {ENTRY}(app):")
    with located_errors(path):
        function(app)
