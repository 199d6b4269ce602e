"""The commands `ostiary webhooks`: list, add, test, rotate, enable, disable and delete webhooks."""

import json
from collections.abc import Callable
from typing import Any

import click

from app.commands import CommandGroup, json_option, print_rows

from . import service
from .schemas import NewWebhookSchema
from .worker import attempt

COLUMNS = {
    "id": "id",
    "url": "url",
    "models": "models",
    "kinds": "kinds",
    "events": "events",
    "ordered": "is_ordered",
    "enabled": "is_enabled",
    "failures": "failures",
    "failingSince": "failing_since",
}
webhook_id = click.argument("id", type=int)


webhooks = CommandGroup("webhooks", help="List, add, test, rotate and remove webhooks.")


@webhooks.command("list")
@json_option
def list_(as_json: bool) -> None:
    """List the webhooks."""
    rows = [
        [_shown(getattr(webhook, name)) for name in COLUMNS.values()]
        for webhook in service.list_webhooks()
    ]
    print_rows([*COLUMNS], rows, as_json)


@webhooks.command()
@click.argument("url")
@click.option("--model", "models", multiple=True, help="A model whose changes are sent.")
@click.option("--kind", "kinds", multiple=True, help="created, updated or removed; default: all.")
@click.option("--event", "events", multiple=True, help="An event of users, such as users.created.")
@click.option("--where", metavar="JSON", help='Of each model, such as {"orders": {"paid": true}}.')
@click.option("--ordered", is_flag=True, help="Send the events of a row one after another.")
def create(url: str, where: str | None, ordered: bool, **lists: tuple[str, ...]) -> None:
    """Add a webhook, and print its secret."""
    given: dict[str, Any] = {"url": url, "ordered": ordered}
    given |= {name: list(values) for name, values in lists.items() if values}
    if where is not None:
        given["where"] = _parse(where)
    webhook, secret = service.create(NewWebhookSchema().load(given))
    click.echo(f"Added the webhook {webhook.id}. Its secret, which is not shown again:\n{secret}")


@webhooks.command()
@webhook_id
def rotate(id: int) -> None:
    """Make and print a new secret; the old one is valid for another day."""
    _, secret = service.rotate(id)
    click.echo(f"The new secret, which is not shown again:\n{secret}")


@webhooks.command()
@webhook_id
def test(id: int) -> None:
    """Send the event webhooks.test now, and print the answer."""
    answer = attempt(service.find(id), service.test(id))
    if not answer.is_success:
        raise click.ClickException(f"It failed: {answer.error or f'status {answer.status}'}.")
    click.echo(f"The receiver answered {answer.status}.")


def _add(name: str, act: Callable[[int], object], done: str, help_: str) -> None:
    @webhooks.command(name, help=help_)
    @webhook_id
    def command(id: int) -> None:
        act(id)
        click.echo(f"{done} the webhook {id}.")


_add("enable", service.enable, "Enabled", "Send again; what happened meanwhile is not sent.")
_add("disable", service.disable, "Disabled", "Send nothing any more.")
_add("delete", service.remove, "Deleted", "Delete a webhook with its deliveries.")


def _shown(value: object) -> object:
    return ",".join(value) if isinstance(value, list) else value


def _parse(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise click.BadParameter("--where is no JSON") from None
