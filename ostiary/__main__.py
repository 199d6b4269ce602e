"""The command `ostiary`."""

import click

from app.commandline.command import ProjectGroup, create_app


@click.group("ostiary", cls=ProjectGroup, create_app=create_app)
@click.version_option(package_name="ostiary", message="Ostiary %(version)s")
def main() -> None:
    """Users, access rules and models as REST endpoints: the project in this folder."""


if __name__ == "__main__":
    main()
