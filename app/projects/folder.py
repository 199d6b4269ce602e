"""The location of the project folder."""

import os
from pathlib import Path

import app
from app.problems import ConfigurationError

CODE = Path(app.__file__ or "").parents[1]


def project_folder() -> Path:
    """Return the project folder."""
    return Path(os.environ.get("INSTANCE_PATH") or CODE / "instance")


def enter_project() -> None:
    """Make the current folder the project folder, unless INSTANCE_PATH is set.

    In a checkout it is `instance/`. Raises ConfigurationError if there is no project.
    """
    folder = Path.cwd()
    if os.environ.get("INSTANCE_PATH") or folder.samefile(CODE):
        return
    if not os.path.isfile(folder / "config.py"):
        raise ConfigurationError(
            "there is no project here, as this folder has no config.py and INSTANCE_PATH is not"
            " set; `ostiary new NAME` makes one"
        )
    os.environ["INSTANCE_PATH"] = str(folder)
