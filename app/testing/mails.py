"""Mails of a test, delivered when the test reads them."""

from collections.abc import Sequence
from dataclasses import dataclass
from email import message_from_bytes, policy
from email.message import EmailMessage
from pathlib import Path
from typing import overload

from flask import Flask
from sqlalchemy import select

from app.database.session import db
from app.mail.delivery import SUBSCRIBER
from app.mail.messages import LINK
from app.outbox.delivery import drain
from app.outbox.models import Delivery


@dataclass(frozen=True)
class Mail:
    """A mail as its reader gets it; `message` has its headers."""

    to: str
    subject: str
    text: str
    html: str
    message: EmailMessage

    @property
    def links(self) -> list[str]:
        """The URLs in the text."""
        return LINK.findall(self.text)


class Mails(Sequence[Mail]):
    """The mails of a test, oldest first; reading them delivers pending ones.

    Raises AssertionError for a mail that cannot be delivered, such as one with an error in its
    template.
    """

    def __init__(self, app: Flask) -> None:
        self._app = app
        self._folder = Path(app.config["MAIL_FOLDER"])
        for file in self._files():
            file.unlink()

    def __len__(self) -> int:
        return len(self._read())

    @overload
    def __getitem__(self, index: int) -> Mail: ...

    @overload
    def __getitem__(self, index: slice) -> list[Mail]: ...

    def __getitem__(self, index: int | slice) -> Mail | list[Mail]:
        return self._read()[index]

    def __repr__(self) -> str:
        return repr([(mail.to, mail.subject) for mail in self._read()])

    def _read(self) -> list[Mail]:
        self._deliver()
        return [_parse(file.read_bytes()) for file in self._files()]

    def _deliver(self) -> None:
        drain(self._app)
        failed = select(Delivery.last_error)
        failed = failed.where(Delivery.subscriber == SUBSCRIBER, Delivery.last_error.is_not(None))
        with self._app.app_context():
            reasons = db.session.scalars(failed).all()
        if reasons:
            raise AssertionError(f"mails cannot be delivered: {'; '.join(map(str, reasons))}")

    def _files(self) -> list[Path]:
        return sorted(self._folder.glob("*.eml"))


def _parse(content: bytes) -> Mail:
    message = message_from_bytes(content, policy=policy.default)
    text, html = message.get_body(["plain"]), message.get_body(["html"])
    return Mail(
        to=str(message["To"]),
        subject=str(message["Subject"]),
        text=text.get_content() if text else "",
        html=html.get_content() if html else "",
        message=message,
    )
