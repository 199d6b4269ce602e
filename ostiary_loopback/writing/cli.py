"""The command `ostiary loopback import`."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import click

from ostiary_loopback.application import Application, read_application
from ostiary_loopback.data.command import DataOptions, data_options, import_rows, try_rows
from ostiary_loopback.printing import printable

from .files import ProjectFile, State, read_file, states, write_files
from .project import Project, read_project

FILL_IN = """\
  cp .env.example .env
  # fill in .env, and load it into the shell:
  set -a; . ./.env; set +a"""
CHECK = """\
  ostiary models check
  ostiary loopback todo"""
MIGRATE = """\
  # these three make the database; the import with --data SOURCE makes it and moves rows into it:
  ostiary db upgrade
  ostiary db migrate -m models
  ostiary db upgrade"""
RUN = "  ostiary run"


@click.command("import")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option("--models-only", is_flag=True, help="Write the files of the project, and no rows.")
@click.option("--dry-run", is_flag=True, help="Say what would be written, and write nothing.")
@click.option("--overwrite", is_flag=True, help="Write files that exist and differ, too.")
@data_options
def import_application(
    folder: Path,
    models_only: bool,
    dry_run: bool,
    overwrite: bool,
    data: DataOptions | None,
) -> None:
    """Make the current folder the project that the LoopBack application in DIR becomes."""
    here = Path.cwd()
    application = read_application(folder)
    project = read_project(application, _project_name(here.name))
    found = states(here, project.files, overwrite)
    if not dry_run:
        written = (State.WRITTEN, State.REPLACED)
        write_files(here, [file for file, state in found.items() if state in written])
    _print_notes(application, project)
    _print_files(found, dry_run)
    _print_variables(project.variables)
    if data and not models_only:
        _move_rows(here, application, data, found, dry_run)
    if not dry_run:
        _print_next(bool(project.variables), bool(data) and not models_only)


def _move_rows(
    here: Path,
    application: Application,
    data: DataOptions,
    found: Mapping[ProjectFile, State],
    dry_run: bool,
) -> None:
    """Move the rows, or try to, and print the result."""
    if dry_run:
        files = {
            file.path: read_file(here, file) if state is State.KEPT else file.text
            for file, state in found.items()
        }
        moved = try_rows(application, data, files)
    else:
        moved = import_rows(application, data)
    click.echo("\n".join(moved.lines()))


def _project_name(folder: str) -> str:
    """Return a name for a project in a folder: letters, digits, - and _."""
    name = re.sub(r"[^A-Za-z0-9_-]+", "-", folder).strip("-_")[:64].strip("-_")
    return name if name[:1].isalpha() else f"project-{name}".strip("-")


def _print_notes(application: Application, project: Project) -> None:
    for note in project.notes:
        click.echo(f"Note: {printable(note)}")
    for problem in application.problems.found:
        click.echo(f"Not read: {printable(problem)}")


def _print_files(found: Mapping[ProjectFile, State], dry_run: bool) -> None:
    for file, state in found.items():
        if state is State.KEPT:
            click.echo(
                f"kept      {printable(file.path)}: it exists and differs; --overwrite replaces it"
            )
        else:
            click.echo(f"{state:<9} {printable(file.path)}")
        for change in file.changes:
            click.echo(f"          {printable(change)}")
    click.echo(_count(list(found.values()), dry_run))


def _count(found: Sequence[State], dry_run: bool) -> str:
    """Return how many files were written and kept."""
    written = sum(state in (State.WRITTEN, State.REPLACED) for state in found)
    verb = "Would write" if dry_run else "Wrote"
    kept = found.count(State.KEPT)
    return f"{verb} {written} files, kept {kept}; {found.count(State.SAME)} are as they would be."


def _print_variables(needed: Mapping[str, str]) -> None:
    if needed:
        click.echo(f"Set in the environment: {', '.join(needed)}")


def _print_next(needs_variables: bool, has_rows: bool) -> None:
    """Print the next commands."""
    first = [] if has_rows or not needs_variables else [FILL_IN]
    click.echo("\n".join(["Next:", *first, CHECK, *([] if has_rows else [MIGRATE]), RUN]))
