"""Makes messages from the templates of their kind."""

from collections.abc import Callable, Mapping
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import formatdate, make_msgid
from typing import Any
from urllib.parse import urlsplit

from email_validator import EmailNotValidError, validate_email
from flask import Flask
from jinja2 import Environment, StrictUndefined, UndefinedError, select_autoescape
from jinja2.utils import missing

from app.outbox import UndeliverableError

# Makes a message of a kind, to an address, with the variables of its templates.
Compose = Callable[[str, str, Mapping[str, Any]], EmailMessage]


class MessageError(UndeliverableError):
    """A message that cannot be made."""


class NameOnlyUndefined(StrictUndefined):
    """A variable that a template lacks; the error has its name and never a value."""

    @property
    def _undefined_message(self) -> str:
        # The name of an item may come from a value, as in `{{ names[link] }}`.
        if self._undefined_obj is missing and self._undefined_name is not None:
            return f"the variable {self._undefined_name!r} is undefined"
        return "an attribute or item is undefined"


def make_composer(app: Flask) -> Compose:
    """Return how to make this app's messages."""
    sender = app.config["MAIL_FROM"]
    domain = urlsplit(app.config["PUBLIC_URL"]).hostname
    # An environment of their own: mail templates have their variables and nothing of Flask's,
    # such as the settings with their passwords.
    templates = Environment(
        loader=app.create_global_jinja_loader(),
        autoescape=select_autoescape(),
        undefined=NameOnlyUndefined,
    )

    def compose(kind: str, to: str, context: Mapping[str, Any]) -> EmailMessage:
        """Render the templates of a kind of mail; raise MessageError."""
        message = EmailMessage(policy=SMTP)
        message["From"] = sender
        message["To"] = _with_ascii_domain(to)
        # A header is one line.
        subject = _render(templates, kind, "subject.txt", context)
        message["Subject"] = " ".join(subject.split())
        message["Date"] = formatdate()
        message["Message-ID"] = make_msgid(domain=domain)
        # Unwrapped, so that a link stays in one piece for every reader.
        message.set_content(_render(templates, kind, "body.txt", context), cte="8bit")
        html = _render(templates, kind, "body.html", context)
        message.add_alternative(html, subtype="html", cte="8bit")
        return message

    return compose


def _render(templates: Environment, kind: str, part: str, context: Mapping[str, Any]) -> str:
    """Render one template of a kind of mail; raise MessageError."""
    try:
        return templates.get_template(f"mail/{kind}/{part}").render(context)
    except UndefinedError as error:
        problem = str(error)
    except Exception as error:
        # A template can raise anything, with values in the text.
        problem = type(error).__name__
    raise MessageError(f"{problem} in {kind}/{part}")


def _with_ascii_domain(address: str) -> str:
    """Return an address with its domain as DNS has it (RFC 5891), which every server takes."""
    try:
        found = validate_email(address, check_deliverability=False, globally_deliverable=False)
    except EmailNotValidError:
        raise MessageError("the address is not valid") from None
    return f"{found.local_part}@{found.ascii_domain}"
