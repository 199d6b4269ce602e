"""The templates of mails and pages: those of the project take the place of ours by name."""

import os
from pathlib import Path

from flask import Flask
from jinja2 import ChoiceLoader, Environment, FileSystemLoader, PrefixLoader, TemplateSyntaxError

from app.config import ConfigurationError
from app.problems import Problems

# The folder by which the project's templates reach ours, also those of their own names.
OURS = "ostiary"
# The folders of the project with templates that nobody looks at before they are needed.
CHECKED = ("mail/", "pages/")


def init_app(app: Flask) -> None:
    """Use the templates of TEMPLATES_FOLDER, if it is set; raise ConfigurationError."""
    if app.config["TEMPLATES_FOLDER"] is None:
        return
    folder = Path(app.instance_path, app.config["TEMPLATES_FOLDER"])
    # Path.is_dir raises some errors, such as for a folder that is closed to the service.
    if not os.path.isdir(folder):
        raise ConfigurationError(f"TEMPLATES_FOLDER cannot be used: there is no folder {folder}")
    own = FileSystemLoader(folder)
    _check(own, folder.name)
    if ours := app.jinja_loader:
        app.jinja_loader = ChoiceLoader([own, ours, PrefixLoader({OURS: ours})])


def _check(loader: FileSystemLoader, folder: str) -> None:
    """Raise ConfigurationError with all errors of syntax in the templates of mails and pages."""
    problems, environment = Problems(), Environment(autoescape=True)
    for name in loader.list_templates():
        if name.startswith(CHECKED):
            try:
                environment.parse(loader.get_source(environment, name)[0])
            except TemplateSyntaxError as error:
                problems.add(f"{folder}/{name}:{error.lineno}", str(error.message))
            except UnicodeDecodeError:
                problems.add(f"{folder}/{name}", "is not in UTF-8")
    if problems.found:
        raise ConfigurationError(problems.describe("the templates"))
