"""The commands `ostiary client`, which write clients."""

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from time import monotonic
from typing import Any, TypeVar
from urllib.parse import urlsplit

import click
import requests
import urllib3
from flask.cli import ScriptInfo

from app.problems import describe_error

from .document import Part
from .writing import Client

DOCUMENT = "openapi.json"
# Seconds until a service is given up, and the longest document that is read from one, in bytes.
TIMEOUT = 30
MAX_BYTES = 64 * 1024 * 1024
CHUNK = 64 * 1024
USERINFO = re.compile(r"//[^/]*@")
# The most characters that are shown of what is wrong with a document.
MAX_SHOWN = 200
# Why a document cannot be read, by the first class that the error has.
REASONS = (
    (requests.exceptions.SSLError, "its TLS certificate is not valid, or it has none"),
    (
        (requests.Timeout, urllib3.exceptions.TimeoutError),
        f"there is no answer within {TIMEOUT} seconds",
    ),
    (requests.TooManyRedirects, "it redirects again and again"),
    (urllib3.exceptions.DecodeError, "it is not encoded as its headers say"),
    ((requests.ConnectionError, urllib3.exceptions.HTTPError), "the connection failed"),
    (ValueError, "it is no address that begins with https:// or http://"),
)
F = TypeVar("F", bound=Callable[..., Any])


def source_options(command: F) -> F:
    """Add the options of all clients."""
    for option in (
        click.option("--url", help="The API of a running service, in place of the project here."),
        click.option("--check", is_flag=True, help="Write nothing; fail if a file is out of date."),
    ):
        command = option(command)
    return command


@click.group()
def client() -> None:
    """Write clients of the service."""


@client.command()
@click.option("--output", type=click.Path(path_type=Path), help="The file, in place of printing.")
@source_options
@click.pass_context
def typescript(ctx: click.Context, output: Path | None, check: bool, url: str | None) -> None:
    """Write a typed client, one file of TypeScript."""
    if check and output is None:
        raise click.UsageError("--check compares a file: name it with --output.")
    text = _client(ctx, url).typescript()
    if output is None:
        # As bytes, whatever the encoding of the terminal is.
        click.echo(text.encode(), nl=False)
    else:
        _write({output: text}, check)


@client.command()
@click.option("--output", type=click.Path(path_type=Path), required=True, help="A file, `*.js`.")
@source_options
@click.pass_context
def javascript(ctx: click.Context, output: Path, check: bool, url: str | None) -> None:
    """Write a client for pages without a build: JavaScript, with its types beside it."""
    if output.suffix not in (".js", ".mjs"):
        raise click.UsageError("--output names a file that ends in .js or .mjs.")
    made, types = _client(ctx, url), output.with_suffix(f".d{output.suffix.replace('js', 'ts')}")
    _write({output: made.javascript(), types: made.declarations()}, check)


def _client(ctx: click.Context, url: str | None) -> Client:
    if not url:
        return Client.of(_read(ctx))
    shown = _shown(url)
    content = _fetch(url, shown)
    try:
        return Client.of(content)
    # Whatever is wrong with a document that is not of this service.
    except (LookupError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise click.ClickException(
            f"{shown} has a document that Ostiary has not written:"
            f" {describe_error(error)[:MAX_SHOWN]}"
        ) from None


def _read(ctx: click.Context) -> Part:
    """Return the document of the project here."""
    app = ctx.ensure_object(ScriptInfo).load_app()
    response = app.test_client().get(f"{app.config['REST_API_ROOT']}/{DOCUMENT}")
    if response.status_code != 200:
        raise click.ClickException(
            f"the project does not show its {DOCUMENT}: the status is {response.status_code}."
        )
    document: Part = json.loads(response.text)
    return document


def _fetch(url: str, shown: str) -> Part:
    """Return the document of a running service; raise ClickException if there is none."""
    try:
        content = _download(url)
    except (requests.RequestException, urllib3.exceptions.HTTPError, ValueError) as error:
        raise click.ClickException(f"{shown} cannot be read: {_reason(error)}.") from None
    if len(content) > MAX_BYTES:
        raise click.ClickException(f"{shown} has a document of more than {MAX_BYTES} bytes.")
    try:
        document = json.loads(content)
    except (ValueError, RecursionError):
        document = None
    if not isinstance(document, dict) or not {"openapi", "info", "paths"} <= document.keys():
        raise click.ClickException(f"{shown} has no OpenAPI document.")
    return document


def _download(url: str) -> bytes:
    """Return the document at an address, or of the API there; up to little more than MAX_BYTES."""
    is_complete = urlsplit(url).path.endswith(f"/{DOCUMENT}")
    address = url if is_complete else f"{url.rstrip('/')}/{DOCUMENT}"
    end, content = monotonic() + TIMEOUT, bytearray()
    with requests.get(address, timeout=TIMEOUT, stream=True) as response:
        response.raise_for_status()
        # What has arrived, so that a service that sends slowly is given up, too.
        while chunk := response.raw.read1(CHUNK, decode_content=True):
            content += chunk
            if len(content) > MAX_BYTES:
                break
            if monotonic() > end:
                raise requests.Timeout
    return bytes(content)


def _shown(url: str) -> str:
    """Return an address without the name and password that it may have."""
    return USERINFO.sub("//", url)


def _reason(error: Exception) -> str:
    if isinstance(error, requests.HTTPError) and error.response is not None:
        return f"the status is {error.response.status_code}; --url needs the base path of the API"
    known = (reason for kind, reason in REASONS if isinstance(error, kind))
    return next(known, "the request cannot be made")


def _write(texts: Mapping[Path, str], check: bool) -> None:
    """Write files, or only check that they have these texts."""
    for path, text in texts.items():
        if check:
            _compare(path, text)
            continue
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8", newline="\n")
        except OSError as error:
            raise click.ClickException(f"{path} cannot be written: {error.strerror}.") from None
        click.echo(f"Wrote {path}: {len(text.splitlines())} lines.")


def _compare(path: Path, text: str) -> None:
    try:
        found = path.read_text(encoding="utf-8")
    except (OSError, ValueError):
        found = None
    if found != text:
        raise click.ClickException(
            f"{path} is not up to date: run the command without --check, which writes it."
        )
    click.echo(f"{path} is up to date.")
