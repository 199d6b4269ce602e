"""Formatters of log lines: text, or JSON for programs that collect them."""

import json
import logging
import re
import time
from datetime import UTC, datetime
from typing import Any, TextIO, cast

from flask import Flask
from flask.logging import wsgi_errors_stream

from app.times import iso_time

from .origin import current_request_id

# What a path may have of an access token, as LoopBack's clients write one after `accessTokens/`.
TOKEN = re.compile("[A-Za-z0-9]{64}", re.ASCII)
TEXT, JSON = "text", "json"


def init_app(app: Flask) -> None:
    """Write the app's messages to standard error, or to where the server's errors go."""
    handler = logging.StreamHandler(cast("TextIO", wsgi_errors_stream))
    handler.setFormatter(make_formatter(app.config["LOG_FORMAT"]))
    app.logger.handlers[:] = [handler]


def make_formatter(form: str) -> logging.Formatter:
    """Return the formatter of a form: TEXT or JSON."""
    return JsonFormatter() if form == JSON else TextFormatter()


def without_token(path: str) -> str:
    """Return a path for the log, in which an access token is masked."""
    return TOKEN.sub("***", path)


class RequestRecord(logging.LogRecord):
    """The record of a request; logging would find out by which line and thread it was made."""

    def __init__(self, logger: str, fields: dict[str, object]) -> None:
        self.name, self.levelno, self.levelname = logger, logging.INFO, "INFO"
        self.created = time.time()
        self.fields = fields
        self.msg, self.args = "", ()
        self.exc_info = self.exc_text = self.stack_info = None

    def getMessage(self) -> str:  # noqa: N802
        """Return the text of the line; the JSON has the fields themselves."""
        of = self.fields
        return (
            f'{of["address"] or "-"} "{of["method"]} {of["path"]}" {of["status"]} {of["bytes"]}'
            f" {of['ms']}ms {of['request_id'] or '-'} user={of['user_id'] or '-'}"
            f" route={of['route'] or '-'}"
        )


class TextFormatter(logging.Formatter):
    """Writes the time, level, logger and message, and the traceback of an error."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s: %(message)s")

    def formatTime(self, record: logging.LogRecord, datefmt: str | None = None) -> str:  # noqa: N802
        """Return the time in UTC as in the API: ISO 8601 with milliseconds."""
        return iso_time(datetime.fromtimestamp(record.created, UTC))


class JsonFormatter(TextFormatter):
    """Writes an object a line; a line about a request has its `fields` instead of a message."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the object of a record."""
        head = {
            "time": self.formatTime(record),
            "level": record.levelname,
            "logger": record.name,
        }
        fields = getattr(record, "fields", None) or self._message(record)
        return json.dumps({**head, **fields}, default=str)

    def _message(self, record: logging.LogRecord) -> dict[str, Any]:
        fields: dict[str, Any] = {"message": record.getMessage()}
        request_id = getattr(record, "request_id", None) or current_request_id()
        if request_id is not None:
            fields["request_id"] = request_id
        if record.exc_info:
            fields["traceback"] = self.formatException(record.exc_info)
        return fields
