"""gunicorn, as started by `ostiary run` and `ostiary dev` once its environment is set."""

import os
from argparse import Namespace
from collections.abc import Mapping
from importlib import import_module
from typing import NoReturn

from flask import Flask
from gunicorn.app.base import Application
from gunicorn.config import Config, get_default_config_file


class Server(Application):
    """gunicorn with the service's settings; `gunicorn.conf.py` and GUNICORN_CMD_ARGS win."""

    cfg: Config

    def __init__(self, **overrides: object) -> None:
        self.overrides = overrides
        super().__init__()

    def load_config(self) -> None:
        """Read the settings; the command line does not belong to gunicorn."""
        self.load_config_from_module_name_or_filename("python:app.commandline.gunicorn_settings")
        arguments = self._arguments()
        if file := arguments.config or get_default_config_file():
            self.load_config_from_file(file)
        try:
            self._set(vars(arguments))
        except Exception as error:  # whatever gunicorn's checks raise
            _refuse_arguments(error)
        self._set(self.overrides)
        os.chdir(self.cfg.chdir)

    def load(self) -> Flask:
        """Create the app."""
        app: Flask = import_module("app.commandline.wsgi").app
        return app

    def _arguments(self) -> Namespace:
        """Return the options in GUNICORN_CMD_ARGS."""
        parser = self.cfg.parser()
        # gunicorn's own would be about the command line.
        parser.error = _refuse_arguments
        try:
            arguments: Namespace = parser.parse_args(self.cfg.get_cmd_args_from_env())
        except ValueError as error:
            _refuse_arguments(error)
        return arguments

    def _set(self, settings: Mapping[str, object]) -> None:
        for name, value in settings.items():
            if name != "args" and value is not None:
                self.cfg.set(name, value)


def _refuse_arguments(error: object) -> NoReturn:
    """Exit with one sentence; gunicorn would add a traceback to some errors."""
    reason = str(error).partition("\n")[0]
    raise SystemExit(f"ostiary: GUNICORN_CMD_ARGS cannot be used: {reason}") from None
