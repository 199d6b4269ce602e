"""The commands `ostiary outbox`: run a worker; list, retry and purge deliveries."""

import signal
from datetime import timedelta

import click
from flask import current_app

from app.commands import CommandGroup, json_option, print_rows

from . import maintenance
from .delivery import drain
from .models import STATES, WAITING_STATES
from .service import Companion, Worker, companions, worker

COLUMNS = (
    *("id", "event", "subscriber", "recipient", "state", "attempts", "created", "deadline"),
    *("nextAttempt", "requestId", "lastError"),
)
STOP_SIGNALS = signal.SIGTERM, signal.SIGINT

outbox = CommandGroup("outbox", help="Deliver, list, retry and purge what happens after requests.")


@outbox.command()
@click.option("--once", is_flag=True, help="Deliver what is due, and exit.")
def run(once: bool) -> None:
    """Deliver until SIGTERM or SIGINT, regardless of OUTBOX_IN_PROCESS."""
    app = current_app._get_current_object()  # type: ignore[attr-defined]
    if once:
        outcomes = drain(app)
        for companion in companions.of(app):
            companion.work()
        counts = ", ".join(f"{count} {outcome}" for outcome, count in sorted(outcomes.items()))
        click.echo(f"Attempted {outcomes.total()} deliveries" + (f": {counts}." if counts else "."))
        return
    # Blocked before the worker's thread starts, which inherits it.
    signal.pthread_sigmask(signal.SIG_BLOCK, STOP_SIGNALS)
    workers: list[Worker | Companion] = [worker.of(app), *companions.of(app)]
    for each in workers:
        each.start()
    click.echo("Delivering until SIGTERM or SIGINT.")
    signal.sigwait(STOP_SIGNALS)
    for each in workers:
        each.stop()
    click.echo("Stopped.")


@outbox.command("list")
@click.option("--state", type=click.Choice(STATES), help="Only deliveries in this state.")
@click.option("--limit", type=click.IntRange(1), default=100, show_default=True, help="Rows.")
@json_option
def list_(state: str | None, limit: int, as_json: bool) -> None:
    """List deliveries, newest first."""
    found = maintenance.list_deliveries(state, limit)
    recipients = maintenance.find_recipients([delivery.id for delivery, _event in found])
    rows = [
        (
            delivery.id,
            event.event,
            delivery.subscriber,
            recipient,
            delivery.state,
            delivery.attempts,
            event.created,
            event.deadline,
            delivery.next_attempt if delivery.state in WAITING_STATES else None,
            event.request_id,
            delivery.last_error,
        )
        for (delivery, event), recipient in zip(found, recipients, strict=True)
    ]
    print_rows(COLUMNS, rows, as_json)


@outbox.command()
@click.argument("ids", type=int, nargs=-1, metavar="[ID]...")
@click.option("--all", "all_", is_flag=True, help="Everything that failed or expired.")
def retry(ids: tuple[int, ...], all_: bool) -> None:
    """Retry failed or expired deliveries, for as long as new ones."""
    if bool(ids) is all_:
        raise click.UsageError("Give ids, or --all.")
    click.echo(f"{maintenance.retry(None if all_ else ids)} deliveries are tried again.")


@outbox.command()
@click.option("--days", type=click.IntRange(0), help="Default: OUTBOX_DAYS.")
def purge(days: int | None) -> None:
    """Delete deliveries that finished at least so many days ago."""
    kept = current_app.config["OUTBOX_DAYS"] if days is None else days
    click.echo(f"Purged {maintenance.purge(timedelta(days=kept))} events.")
