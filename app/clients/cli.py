"""The command `ostiary client`, which writes clients."""

import json
from pathlib import Path
from urllib.parse import urlsplit

import click
import requests
from flask.cli import ScriptInfo

from .document import Part
from .writing import write_client

DOCUMENT = "openapi.json"
# Seconds until a service is given up, and the longest document that is read from one, in bytes.
TIMEOUT = 30
MAX_BYTES = 64 * 1024 * 1024


@click.group()
def client() -> None:
    """Write clients of the service."""


@client.command()
@click.option(
    "--output", type=click.Path(path_type=Path), help="The file; otherwise it is printed."
)
@click.option("--check", is_flag=True, help="Write nothing; fail if the file is not up to date.")
@click.option("--url", help="The API of a running service, in place of the project here.")
@click.pass_context
def typescript(ctx: click.Context, output: Path | None, check: bool, url: str | None) -> None:
    """Write a typed client, one file of TypeScript."""
    if check and output is None:
        raise click.UsageError("--check compares a file: name it with --output.")
    text = write_client(_fetch(url) if url else _read(ctx))
    if output is None:
        click.echo(text, nl=False)
    elif check:
        _compare(output, text)
    else:
        _write(output, text)


def _read(ctx: click.Context) -> Part:
    """Return the document of the project here."""
    app = ctx.ensure_object(ScriptInfo).load_app()
    document: Part = app.test_client().get(f"{app.config['REST_API_ROOT']}/{DOCUMENT}").json or {}
    return document


def _fetch(url: str) -> Part:
    """Return the document of a running service; raise ClickException if there is none."""
    address = (
        url if urlsplit(url).path.endswith(f"/{DOCUMENT}") else f"{url.rstrip('/')}/{DOCUMENT}"
    )
    try:
        with requests.get(address, timeout=TIMEOUT, stream=True) as response:
            response.raise_for_status()
            content = response.raw.read(MAX_BYTES + 1, decode_content=True)
    except requests.RequestException as error:
        raise click.ClickException(f"{address} cannot be read: {error}") from None
    if len(content) > MAX_BYTES:
        raise click.ClickException(f"{address} has more than {MAX_BYTES} bytes.")
    try:
        document = json.loads(content)
    except ValueError:
        document = None
    if not isinstance(document, dict) or not {"openapi", "info", "paths"} <= document.keys():
        raise click.ClickException(f"{address} is no OpenAPI document.")
    return document


def _compare(output: Path, text: str) -> None:
    try:
        found = output.read_text(encoding="utf-8")
    except (OSError, ValueError):
        found = None
    if found != text:
        raise click.ClickException(
            f"{output} is not up to date: write it again by"
            f" `ostiary client typescript --output {output}`."
        )
    click.echo(f"{output} is up to date.")


def _write(output: Path, text: str) -> None:
    try:
        output.write_text(text, encoding="utf-8", newline="\n")
    except OSError as error:
        raise click.ClickException(f"{output} cannot be written: {error.strerror}.") from None
    click.echo(f"Wrote {output}: {len(text.splitlines())} lines.")
