"""The command `ostiary loopback compare`."""

from collections.abc import Sequence
from pathlib import Path

import click

from .answers import Service
from .callers import ANONYMOUS, Caller, read_caller
from .calls import EFFECTS, Call
from .comparison import Comparison, read_document
from .rate import Rate
from .recorded import recorded_calls
from .report import Report
from .shadow.server import Shadow

FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command()
@click.option("--old", required=True, metavar="URL", help="The API of LoopBack 3.")
@click.option("--new", required=True, metavar="URL", help="The API of Ostiary.")
@click.option(
    "--token",
    "tokens",
    multiple=True,
    metavar="NAME",
    help="A caller whose token is in TOKEN_NAME, or in the file that TOKEN_NAME_FILE names.",
)
@click.option("--calls", "files", multiple=True, type=FILE, help="A HAR file, or a log of nginx.")
@click.option(
    "--except", "words", multiple=True, metavar="WORD", help="Leave out paths with this segment."
)
@click.option("--rate", default=20.0, type=click.FloatRange(0.1, 1000), show_default=True)
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
@click.option("--shadow", "port", type=click.IntRange(0, 65535), help="Serve on this port.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Its address, with --shadow.")
@click.option("--moved", type=click.Path(path_type=Path), help="A file of paths, with --shadow.")
@click.option("--concurrency", default=2, type=click.IntRange(1, 32), show_default=True)
@click.pass_context
def compare(
    ctx: click.Context,
    old: str,
    new: str,
    tokens: Sequence[str],
    files: Sequence[Path],
    words: Sequence[str],
    rate: float,
    as_json: bool,
    port: int | None,
    host: str,
    moved: Path | None,
    concurrency: int,
) -> None:
    """Send the same reading calls to two services, and print how the answers differ.

    Exits with 1 if there are differences that are not documented. With --shadow, serves as a proxy
    in front of both until a signal ends it, and compares the reading calls of clients.
    """
    excepted = EFFECTS.union(word.lower() for word in words)
    services = Service(old), Service(new)
    callers = [*map(read_caller, tokens), ANONYMOUS]
    recorded = [call for file in files for call in recorded_calls(file, services[0].root, excepted)]
    document = read_document(services[1])
    comparison = Comparison(*services, document, Rate(rate), Report(), callers)
    if port is None:
        _compare(comparison, callers, recorded)
    else:
        Shadow(comparison, excepted, moved, concurrency).serve(host, port)
    comparison.report.print(as_json)
    ctx.exit(0 if comparison.report.is_documented else 1)


def _compare(comparison: Comparison, callers: Sequence[Caller], recorded: Sequence[Call]) -> None:
    for caller in callers:
        comparison.run(caller, recorded)
        click.echo(f"{caller.name}: {comparison.report.compared} calls so far", err=True)
