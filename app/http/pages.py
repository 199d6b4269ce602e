"""Pages without scripts, in their readers' languages."""

from collections.abc import Mapping, Sequence
from secrets import token_urlsafe

from flask import Response, make_response, render_template
from jinja2 import Template

from .languages import current_languages, to_language


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
    response.headers["Content-Security-Policy"] = (
        f"default-src 'none'; style-src 'self' 'nonce-{nonce}'; img-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    )
    return response
