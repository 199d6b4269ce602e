"""The command `ostiary`."""

from importlib import import_module

import click
from flask import Flask

from app.config import ConfigurationError
from app.features import FEATURES, commands_of
from app.projects.command import ProjectGroup
from app.projects.folder import enter_project


def create_app() -> Flask:
    """Create the project's app, importing its code only now: not every command needs it."""
    try:
        enter_project()
        app: Flask = import_module("app.factory").create_app()
    except ConfigurationError as error:
        raise click.ClickException(str(error)) from None
    return app


@click.group("ostiary", cls=ProjectGroup, create_app=create_app, app_commands=commands_of(FEATURES))
@click.version_option(package_name="ostiary", message="Ostiary %(version)s")
def main() -> None:
    """Users, access rules and models as REST endpoints: the project in this folder."""


if __name__ == "__main__":
    main()
