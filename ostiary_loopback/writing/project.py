"""The files of a project that replaces a LoopBack 3 application."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from app.projects.new import template_text
from ostiary_loopback.application import Application
from ostiary_loopback.javascript import findings
from ostiary_loopback.printing import printable

from . import fixtures, models, settings, sources, stubs
from .files import ProjectFile
from .secrets import Variables

VARIABLES = ".env.example"
# Without models, the folder still has to exist: model-config.json is read with it.
EMPTY = "models/.gitkeep"
# The extra that every new project has.
USUAL_EXTRA = "postgres"
FIRST = """\
# The variables of the environment that the project needs. Copy the file to .env, which belongs into
# no repository, and fill it in there, with quotes around values that have other characters than
# letters and digits. `set -a; . ./.env; set +a` loads it into a shell; systemd reads it by
# EnvironmentFile, Docker by --env-file, which keeps quotes.
"""


@dataclass(frozen=True)
class Project:
    """The files of a project, and notes on them for its users."""

    files: Sequence[ProjectFile]
    # Sentences about settings for what LoopBack 3 allows, and about decisions to be made.
    notes: Sequence[str]
    # The environment variables that it needs, with a description of each.
    variables: Mapping[str, str]


def read_project(application: Application, name: str) -> Project:
    """Return the project that replaces an application, in a folder with this name."""
    variables, found = Variables(), findings(application)
    read = settings.read_settings(application, sources.redirects(application))
    files = [
        settings.config_file(application, read, name),
        *(models.model_files(application, found) or [ProjectFile(EMPTY, "")]),
        *stubs.code_files(application, found),
        models.config_file(application, found),
        *sources.source_files(application, variables),
        *sources.provider_files(application, variables),
        *fixtures.fixture_files(application, found, variables),
    ]
    if variables.needed:
        files.append(ProjectFile(VARIABLES, _variables(variables.needed)))
    files += [
        ProjectFile(".gitignore", template_text(".gitignore", name)),
        _packages(name, sources.needed_extras(files)),
    ]
    return Project(files, [*read.notes, *stubs.notes(found)], variables.needed)


def _packages(name: str, extras: Sequence[str]) -> ProjectFile:
    """Return `pyproject.toml`, with the extras that the project needs."""
    text = template_text("pyproject.toml", name)
    usual = f"ostiary[{USUAL_EXTRA}]"
    needed = f"ostiary[{','.join(sorted([*extras, USUAL_EXTRA]))}]"
    changes = [f"the project needs the extra {extra}" for extra in extras]
    return ProjectFile("pyproject.toml", text.replace(usual, needed), changes)


def _variables(needed: Mapping[str, str]) -> str:
    lines = (f"# {printable(meaning)}\n{name}=\n" for name, meaning in needed.items())
    return FIRST + "".join(lines)
