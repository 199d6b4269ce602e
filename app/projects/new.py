"""The command `ostiary new`: write a new project."""

import os
import re
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from app.migrate.chains import PRODUCT, newest

# The files of a project. Their names end in SUFFIX, as they are not part of the package's code, and
# begin with DOT in place of a dot, as packages would leave such files out.
TEMPLATE = Path(__file__).with_name("template")
SUFFIX, DOT = "-tpl", "dot_"
NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,62}[A-Za-z0-9]|[A-Za-z]")
# Files of the sample application, and the folders of it that every project has. Other files mark
# its lines, and those that replace them.
FOLDERS = ("fixtures", "migrations", "models", "tests")
SAMPLE = (*FOLDERS, "project.py", "public")
SAMPLE_LINE, EMPTY_LINE = (re.compile(rf" *@{mark}@$") for mark in ("SAMPLE", "EMPTY"))
NEXT = """\
Wrote the project {name}. Next:
  cd {name}
{commands}
README.md says what is in it."""
SAMPLE_COMMANDS = """\
  python -m pip install pytest
  pytest
  ostiary client javascript --output public/client.js
  LIBRARIAN_PASSWORD='a quiet harbour at night' ostiary run"""
EMPTY_COMMANDS = "  ostiary dev"


@click.command()
@click.argument("name")
@click.option("--empty", is_flag=True, help="Leave out the sample application.")
def new(name: str, empty: bool) -> None:
    """Write a new project into the new folder NAME."""
    folder = Path(name)
    if not NAME.fullmatch(name):
        raise click.ClickException(
            "NAME must be the name of a new folder here: letters, digits, - and _, with a letter"
            " at the beginning and no - or _ at the end."
        )
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise click.ClickException(f"{name} exists already, and is not an empty folder.")
    try:
        _write(folder, empty)
    except OSError as error:
        raise click.ClickException(f"{name} cannot be written: {error.strerror}.") from None
    commands = EMPTY_COMMANDS if empty else SAMPLE_COMMANDS
    click.echo(NEXT.format(name=name, commands=commands))


def _write(folder: Path, empty: bool) -> None:
    """Write the files beside a folder, and rename it when it is complete."""
    values = _values(folder.name)
    with TemporaryDirectory(dir=folder.parent, prefix=f".{folder.name}-") as parent:
        written = Path(parent, folder.name)
        for path in sorted(TEMPLATE.rglob(f"*{SUFFIX}")):
            target = _target(path)
            file = written / target
            is_left_out = empty and target.startswith(SAMPLE)
            if not is_left_out or target.startswith(FOLDERS):
                file.parent.mkdir(parents=True, exist_ok=True)
            if is_left_out:
                continue
            text = _lines(path.read_text(encoding="utf-8"), empty)
            file.write_text(_fill(text, values), encoding="utf-8")
        os.rename(written, folder)


def template_text(file: str, name: str) -> str:
    """Return a file of the template, such as `.gitignore`, for a project with this name."""
    path = TEMPLATE / f"{DOT}{file[1:]}{SUFFIX}" if file[0] == "." else TEMPLATE / f"{file}{SUFFIX}"
    return _fill(path.read_text(encoding="utf-8"), _values(name))


def _lines(text: str, empty: bool) -> str:
    """Return the lines of a file for a project with the sample application, or without it."""
    dropped, kept = (SAMPLE_LINE, EMPTY_LINE) if empty else (EMPTY_LINE, SAMPLE_LINE)
    lines = (line for line in text.splitlines() if not dropped.search(line))
    return "".join(f"{kept.sub('', line)}\n" for line in lines)


def _target(path: Path) -> str:
    """Return the path of a file in a project."""
    parts = path.relative_to(TEMPLATE).as_posix().removesuffix(SUFFIX).split("/")
    return "/".join(f".{part[len(DOT) :]}" if part.startswith(DOT) else part for part in parts)


def _values(name: str) -> dict[str, str]:
    """Return the values in a project of the words between two @."""
    [revision] = newest(PRODUCT.migrations.values())
    return {
        "NAME": name,
        # The tag of a Docker image.
        "IMAGE": re.sub("[_-]+", "-", name.lower()),
        "VERSION": ".".join(version("ostiary").split(".")[:2]),
        "REVISION": revision,
    }


def _fill(text: str, values: dict[str, str]) -> str:
    return re.sub("@([A-Z]+)@", lambda word: values[word[1]], text)
