"""The command `ostiary run`: migrate the database, and serve by gunicorn in this process."""

import os
import sys
from importlib import import_module

import click
from flask import Flask
from gunicorn.app.base import Application
from gunicorn.config import Config, get_default_config_file


class Server(Application):
    """gunicorn with our settings; `gunicorn.conf.py` and GUNICORN_CMD_ARGS override them."""

    cfg: Config

    def load_config(self) -> None:
        """Read the settings; the command line is not gunicorn's."""
        self.load_config_from_module_name_or_filename("python:app.projects.gunicorn_settings")
        arguments = self.cfg.parser().parse_args(self.cfg.get_cmd_args_from_env())
        if file := arguments.config or get_default_config_file():
            self.load_config_from_file(file)
        for name, value in vars(arguments).items():
            if name != "args" and value is not None:
                self.cfg.set(name, value)
        os.chdir(self.cfg.chdir)

    def load(self) -> Flask:
        """Build the app."""
        app: Flask = import_module("ostiary.wsgi").app
        return app


@click.command()
@click.pass_context
def run(ctx: click.Context) -> None:
    """Migrate the database and serve; HOST and PORT are the address.

    The environment has gunicorn's settings: WEB_CONCURRENCY, THREADS, GUNICORN_CMD_ARGS.
    """
    server = Server()
    _migrate(ctx)
    server.run()


def _migrate(ctx: click.Context) -> None:
    """Migrate in a process of its own, whose memory the server does not keep."""
    sys.stdout.flush()
    process = os.fork()
    if not process:
        ctx.find_root().command.main(["db", "upgrade"])
    _, status = os.waitpid(process, 0)
    if os.waitstatus_to_exitcode(status):
        ctx.exit(1)
