"""The command `ostiary run`: migrate the database, and serve with gunicorn in this process."""

import gc
import os
import signal
import sys
from contextlib import suppress
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING

import click
from flask.cli import ScriptInfo

from app.server import listening

if TYPE_CHECKING:
    from .server import Server


@click.command()
@click.option("--no-migrate", is_flag=True, help="Neither migrate nor load fixtures.")
@click.pass_context
def run(ctx: click.Context, no_migrate: bool) -> None:
    """Migrate the database, and serve with gunicorn.

    HOST and PORT are the address; WEB_CONCURRENCY is the number of processes, THREADS the number of
    threads in each. GUNICORN_CMD_ARGS has options of gunicorn.
    """
    listening.check_environment()
    if no_migrate:
        make_server().run()
    else:
        migrate_and_serve(ctx)


def migrate_and_serve(ctx: click.Context, **settings: object) -> None:
    """Migrate the database, and serve with these gunicorn settings until a signal."""
    # As in `wsgi.py`, which enables it.
    gc.disable()
    server = make_server(**settings)
    # Imported once for both processes.
    import_module("app.factory")
    _prepare_database(ctx)
    server.run()


def make_server(**settings: object) -> "Server":
    """Return gunicorn with these settings; it reads its environment at import.

    Exits with one sentence if another program uses its address.
    """
    server: Server = import_module("app.commandline.server").Server(**settings)
    if not server.cfg.reuse_port:
        listening.check_free(server.cfg.address)
    return server


def _prepare_database(ctx: click.Context) -> None:
    """Migrate and load fixtures in a separate process, whose memory the server does not keep."""
    sys.stdout.flush()
    process = os.fork()
    if not process:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        _migrate(ctx)
    received = []

    def pass_on(number: int, _: object) -> None:
        received.append(number)
        # It may have ended.
        with suppress(ProcessLookupError):
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
