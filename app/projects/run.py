"""The command `ostiary run`: migrate the database, and serve by gunicorn in this process."""

import gc
import os
import signal
import sys
from functools import partial
from importlib import import_module

import click
from flask import Flask
from flask.cli import ScriptInfo
from gunicorn.app.base import Application
from gunicorn.config import Config, get_default_config_file


class Server(Application):
    """gunicorn with our settings; `gunicorn.conf.py` and GUNICORN_CMD_ARGS override them."""

    cfg: Config

    def __init__(self, **overrides: object) -> None:
        self.overrides = overrides
        super().__init__()

    def load_config(self) -> None:
        """Read the settings; the command line is not gunicorn's."""
        self.load_config_from_module_name_or_filename("python:app.projects.gunicorn_settings")
        arguments = self.cfg.parser().parse_args(self.cfg.get_cmd_args_from_env())
        if file := arguments.config or get_default_config_file():
            self.load_config_from_file(file)
        for name, value in (vars(arguments) | self.overrides).items():
            if name != "args" and value is not None:
                self.cfg.set(name, value)
        os.chdir(self.cfg.chdir)

    def load(self) -> Flask:
        """Build the app."""
        app: Flask = import_module("ostiary.wsgi").app
        return app


@click.command()
@click.option("--no-migrate", is_flag=True, help="Neither migrate nor load fixtures.")
@click.pass_context
def run(ctx: click.Context, no_migrate: bool) -> None:
    """Migrate the database, and serve by gunicorn.

    HOST and PORT are the address; WEB_CONCURRENCY is the number of processes, THREADS that of the
    threads of each. GUNICORN_CMD_ARGS has options of gunicorn.
    """
    if no_migrate:
        Server().run()
    else:
        migrate_and_serve(ctx)


def migrate_and_serve(ctx: click.Context, **settings: object) -> None:
    """Migrate the database, and serve with gunicorn's settings and these until a signal ends it."""
    # As `ostiary.wsgi` says, which enables it.
    gc.disable()
    server = Server(**settings)
    # Once for both processes.
    import_module("app.factory")
    _prepare_database(ctx)
    server.run()


def _prepare_database(ctx: click.Context) -> None:
    """Migrate and load fixtures in a process of its own, whose memory the server does not keep."""
    sys.stdout.flush()
    process = os.fork()
    if not process:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        _migrate(ctx)
    received = []

    def pass_on(number: int, _: object) -> None:
        received.append(number)
        os.kill(process, number)

    before = signal.signal(signal.SIGTERM, pass_on)
    _, status = os.waitpid(process, 0)
    signal.signal(signal.SIGTERM, before)
    if received or status:
        ctx.exit(1)


def _migrate(ctx: click.Context) -> None:
    """Migrate the database, load the fixtures if FIXTURES is set, and exit."""
    info = ctx.ensure_object(ScriptInfo)
    main = partial(ctx.find_root().command.main, obj=info)
    try:
        main(["db", "upgrade"])
    except SystemExit as done:
        if done.code or not info.load_app().config["FIXTURES"]:
            raise
        main(["fixtures", "load"])
