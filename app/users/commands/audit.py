"""The commands `ostiary audit`."""

from datetime import UTC, datetime

import click
from flask import current_app

from app.audit import entries as audit_log
from app.audit.entries import Action
from app.audit.models import AuditRecord
from app.commands import CommandGroup, json_option, print_rows
from app.database.ids import app_id_form
from app.errors import ModelNotFound
from app.ids import Id
from app.problems import closest

from .arguments import find_model, find_user, model_option, realm_option

# Default number of listed records.
DEFAULT_LIMIT = 1000
COLUMNS = ("id", "time", "action", "actorId", "userId", "address", "requestId", "details")

audit = CommandGroup("audit", help="List and purge the audit log.")


@audit.command("list")
@click.option("--user", help="Only what this user did or what was done to it: an email or id.")
@realm_option
@model_option
@click.option("--action", help="Only records of this action.")
@click.option("--since", type=click.DateTime(), help="A date, or a time in UTC.")
@click.option("--limit", type=click.IntRange(1), default=DEFAULT_LIMIT, show_default=True)
@json_option
def list_(
    user: str | None,
    realm: str | None,
    model: str | None,
    action: str | None,
    since: datetime | None,
    limit: int,
    as_json: bool,
) -> None:
    """List the newest records, newest first."""
    if action is not None:
        _check_action(action)
    user_id = None if user is None else _user_id(user, realm, find_model(model))
    found = audit_log.find_records(limit, user_id, action, since and since.replace(tzinfo=UTC))
    print_rows(COLUMNS, (_row(record, as_json) for record in found), as_json)


@audit.command()
@click.option("--days", type=click.IntRange(0), help="Keep so many days; by default AUDIT_DAYS.")
def purge(days: int | None) -> None:
    """Delete old records."""
    kept = current_app.config["AUDIT_DAYS"] if days is None else days
    if kept is None:
        raise click.ClickException("AUDIT_DAYS is null: say with --days how many days to keep.")
    click.echo(f"Purged {audit_log.purge(kept)} records that were older than {kept} days.")


def _check_action(action: str) -> None:
    """Raise ClickException for an unknown action of which there is no record."""
    known = {known.value for known in Action}
    if action not in known and not audit_log.find_records(1, action=action):
        similar = closest(action, known)
        meant = f"; did you mean {similar}?" if similar else "."
        raise click.ClickException(f"There is no action {action!r}{meant}")


def _row(record: AuditRecord, as_json: bool) -> tuple[object, ...]:
    """Return the values of COLUMNS."""
    pairs = [f"{name}={_text(value)}" for name, value in record.details.items()]
    shown = record.details if as_json else pairs
    ids = record.actor_id, record.user_id
    return record.id, record.time, record.action, *ids, record.address, record.request_id, shown


def _text(value: object) -> str:
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)


def _user_id(user: str, realm: str | None, principal_type: str) -> Id:
    """Return the id of a user; with an explicit id, the user may have been deleted."""
    if "@" not in user:
        if (user_id := app_id_form().parse(user)) is None:
            raise ModelNotFound("user", user)
        return user_id
    return find_user(user, realm, principal_type).id
