"""Templates of mails and pages, which a project overrides by name, and responses of pages."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from secrets import token_urlsafe

from flask import Flask, Response, make_response, render_template
from jinja2 import (
    ChoiceLoader,
    Environment,
    FileSystemLoader,
    PrefixLoader,
    Template,
    TemplateSyntaxError,
)

from app.observability.origin import current_languages, to_language
from app.problems import ConfigurationError, Problems

from .responses import policy_of_forms

# The folder by which the project's templates can include the product's, even of the same name.
OURS = "ostiary"
# Folders of the project whose templates are only read when needed.
CHECKED = ("mail/", "pages/")

# Properties in which an application may store a user's language.
LANGUAGE_PROPERTIES = ("language", "locale", "lang")


def init_app(app: Flask) -> None:
    """Use the templates of TEMPLATES_FOLDER if it is set; raise ConfigurationError."""
    if app.config["TEMPLATES_FOLDER"] is None:
        return
    folder = Path(app.instance_path, app.config["TEMPLATES_FOLDER"])
    # Path.is_dir may raise an error, for example if the service may not access the folder.
    if not os.path.isdir(folder):
        raise ConfigurationError(f"TEMPLATES_FOLDER cannot be used: there is no folder {folder}")
    own = FileSystemLoader(folder)
    _check(own, folder.name)
    if ours := app.jinja_loader:
        app.jinja_loader = ChoiceLoader([own, ours, PrefixLoader({OURS: ours})])


def _check(loader: FileSystemLoader, folder: str) -> None:
    """Raise ConfigurationError with all syntax errors in the templates of mails and pages."""
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


def preferred_languages(user: object = None) -> tuple[str, ...]:
    """Return the languages for a user, best first: the user's own, then the client's.

    Languages have no region: `de` for `de-AT`.
    """
    own = (to_language(getattr(user, name, None)) for name in LANGUAGE_PROPERTIES)
    return (*filter(None, own), *current_languages())


def languages_of(form: Mapping[str, str]) -> tuple[str, ...]:
    """Return the language of the page whose form was submitted, which may be the user's own."""
    shown = to_language(form.get("language"))
    return (*filter(None, [shown]), *current_languages())


def render_page(name: str, status: int, languages: Sequence[str], **context: object) -> Response:
    """Render a page in the first available of these languages, else in English.

    Its content security policy forbids scripts, external resources and framing.
    """
    nonce = token_urlsafe(16)
    templates: list[str | Template] = [
        f"pages/{language}/{name}" for language in (*languages, "en")
    ]
    response = make_response(render_template(templates, nonce=nonce, **context), status)
    response.headers["Content-Security-Policy"] = policy_of_forms(nonce)
    return response
