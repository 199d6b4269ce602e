"""Messages, rendered from templates in a language that the reader prefers."""

import re
from collections.abc import Callable, Mapping, Sequence
from email.headerregistry import BaseHeader, HeaderRegistry
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import formataddr, formatdate, make_msgid, parseaddr
from urllib.parse import urlsplit

from email_validator import EmailNotValidError, validate_email
from flask import Flask
from jinja2 import Environment, StrictUndefined, TemplateNotFound, UndefinedError, select_autoescape
from jinja2.utils import missing

from app.outbox import UndeliverableError

# The language of mails without templates in a preferred language.
FALLBACK = "en"
# The files of each kind of mail in each language; a missing `body.html` is made from the others.
SUBJECT, TEXT, HTML = "subject.txt", "body.txt", "body.html"
# A paragraph that is a URL, which becomes a button.
LINK = re.compile(r"https?://\S+")


class HeaderTypes(HeaderRegistry):
    """Header types, each created once; the library would create one for each header."""

    def __init__(self) -> None:
        super().__init__()
        self._made: dict[str, type[BaseHeader]] = {}

    def __getitem__(self, name: str) -> type[BaseHeader]:
        if name not in self._made:
            self._made[name] = super().__getitem__(name)
        return self._made[name]


# Not all servers accept more than ASCII (8BITMIME, RFC 6152).
SEVEN_BIT = SMTP.clone(cte_type="7bit", header_factory=HeaderTypes())

# Makes a message of a kind to an address, from its templates' variables, in the first available of
# these languages.
Compose = Callable[[str, str, Mapping[str, object], Sequence[str]], EmailMessage]


class MessageError(UndeliverableError):
    """A message could not be made."""


class NameOnlyUndefined(StrictUndefined):
    """A template's variable is undefined; the error has its name and never a value."""

    @property
    def _undefined_message(self) -> str:
        # The name of an item may come from a value, as in `{{ names[link] }}`.
        if self._undefined_obj is missing and self._undefined_name is not None:
            return f"the variable {self._undefined_name!r} is undefined"
        return "an attribute or item is undefined"


def make_templates(app: Flask) -> Environment:
    """Return the environment of this app's mail templates.

    It has none of Flask's variables, such as the settings with their passwords.
    """
    templates = Environment(
        loader=app.create_global_jinja_loader(),
        autoescape=select_autoescape(),
        undefined=NameOnlyUndefined,
    )
    templates.tests["link"] = LINK.fullmatch
    return templates


def has_kind(templates: Environment, kind: str) -> bool:
    """Return True if there are templates of a kind of mail in the fallback language."""
    return _has_language(templates, kind, FALLBACK)


def make_composer(app: Flask, templates: Environment) -> Compose:
    """Return a function that makes this app's messages."""
    service_name = app.config["SERVICE_NAME"]
    # Parsed once, because these headers are the same in every message.
    sender = SEVEN_BIT.header_factory("From", _with_name(app.config["MAIL_FROM"], service_name))
    domain = urlsplit(app.config["PUBLIC_URL"]).hostname

    def compose(
        kind: str, to: str, context: Mapping[str, object], languages: Sequence[str]
    ) -> EmailMessage:
        """Render the templates of a kind of mail; raise MessageError."""
        language = _choose(templates, kind, languages)
        folder, values = f"{language}/{kind}", {**context, "service_name": service_name}
        # A header must be a single line.
        subject = " ".join(_render(templates, f"{folder}/{SUBJECT}", values).split())
        text = _render(templates, f"{folder}/{TEXT}", values)
        values |= {"language": language, "subject": subject, "paragraphs": _paragraphs(text)}
        html = _render(templates, _html(templates, folder), values)
        message = EmailMessage(policy=SEVEN_BIT)
        message["From"] = sender
        message["To"] = _with_ascii_domain(to)
        message["Subject"] = subject
        message["Date"] = formatdate()
        message["Message-ID"] = make_msgid(domain=domain)
        # Automatic responders do not answer this mail (RFC 3834).
        message["Auto-Submitted"] = "auto-generated"
        # Unwrapped, so that no mail program breaks a link.
        message.set_content(text, cte="8bit")
        message.add_alternative(html, subtype="html", cte="8bit")
        # After the parts are set, or the first of them would get the header.
        message["Content-Language"] = language
        return message

    return compose


def _with_name(sender: str, service_name: str) -> str:
    """Return the sender, with the service's name unless the settings have a name."""
    name, address = parseaddr(sender)
    return sender if name else formataddr((service_name, address))


def _choose(templates: Environment, kind: str, languages: Sequence[str]) -> str:
    """Return the first of the languages that has this kind of mail, else FALLBACK."""
    for language in languages:
        if _has_language(templates, kind, language):
            return language
    return FALLBACK


def _has_language(templates: Environment, kind: str, language: str) -> bool:
    return all(_exists(templates, f"{language}/{kind}/{part}") for part in (SUBJECT, TEXT))


def _html(templates: Environment, folder: str) -> str:
    """Return the HTML template: the kind's own, or the one that converts the text."""
    own = f"{folder}/{HTML}"
    return own if _exists(templates, own) else "base.html"


def _exists(templates: Environment, path: str) -> bool:
    try:
        templates.get_template(f"mail/{path}")
    except TemplateNotFound:
        return False
    except Exception:
        # Rendering it reports the error.
        return True
    return True


def _paragraphs(text: str) -> list[str]:
    return re.split(r"\n\s*\n", text.strip())


def _render(templates: Environment, path: str, context: Mapping[str, object]) -> str:
    """Render one template of a mail; raise MessageError."""
    try:
        return templates.get_template(f"mail/{path}").render(context)
    except UndefinedError as error:
        problem = str(error)
    except Exception as error:
        # A template can raise any error, and its text may contain values.
        problem = type(error).__name__
    raise MessageError(f"{problem} in {path}")


def _with_ascii_domain(address: str) -> str:
    """Return an address with its domain in ASCII (RFC 5891), which every server accepts."""
    try:
        found = validate_email(address, check_deliverability=False, globally_deliverable=False)
    except EmailNotValidError:
        raise MessageError("the address is not valid") from None
    return f"{found.local_part}@{found.ascii_domain}"
