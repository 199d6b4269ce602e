"""Renders messages from the templates of their kind."""

from email.message import EmailMessage
from email.policy import SMTP
from email.utils import formatdate, make_msgid
from typing import Any
from urllib.parse import urlsplit

from email_validator import validate_email
from flask import Flask, render_template


def compose(app: Flask, kind: str, address: str, context: dict[str, Any]) -> EmailMessage:
    """Render the templates of a kind of mail."""
    message = EmailMessage(policy=SMTP)
    message["From"] = app.config["MAIL_FROM"]
    message["To"] = _with_ascii_domain(address)
    message["Subject"] = render_template(f"mail/{kind}/subject.txt").strip()
    message["Date"] = formatdate()
    message["Message-ID"] = make_msgid(domain=urlsplit(app.config["PUBLIC_URL"]).hostname)
    # Unwrapped, so that a link stays in one piece for every reader.
    message.set_content(render_template(f"mail/{kind}/body.txt", **context), cte="8bit")
    message.add_alternative(
        render_template(f"mail/{kind}/body.html", **context), subtype="html", cte="8bit"
    )
    return message


def _with_ascii_domain(address: str) -> str:
    """Return an address with its domain as DNS has it (RFC 5891), which every server takes."""
    found = validate_email(address, check_deliverability=False, globally_deliverable=False)
    return f"{found.local_part}@{found.ascii_domain}"
