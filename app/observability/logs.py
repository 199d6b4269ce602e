"""Formatters of log lines: text, or JSON for log collectors."""

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

# An access token in a path: LoopBack's clients write one after `accessTokens/`.
TOKEN = re.compile("[A-Za-z0-9]{64}", re.ASCII)
TEXT, JSON = "text", "json"


def init_app(app: Flask) -> None:
    """Write the app's log to standard error, or to the server's error stream."""
    handler = logging.StreamHandler(cast("TextIO", wsgi_errors_stream))
    handler.setFormatter(make_formatter(app.config["LOG_FORMAT"]))
    app.logger.handlers[:] = [handler]


def make_formatter(form: str) -> logging.Formatter:
    """Return the formatter for a format: TEXT or JSON."""
    return JsonFormatter() if form == JSON else TextFormatter()


def without_token(path: str) -> str:
    """Return a path for the log, with an access token masked."""
    return TOKEN.sub("***", path)


class RequestRecord(logging.LogRecord):
    """A request's record, without the line and thread that logging would look up."""

    def __init__(self, logger: str, fields: dict[str, object]) -> None:
        self.name, self.levelno, self.levelname = logger, logging.INFO, "INFO"
        self.created = time.time()
        self.fields = fields
        self.msg, self.args = "", ()
        self.exc_info = self.exc_text = self.stack_info = None

    def getMessage(self) -> str:  # noqa: N802
        """Return the text of the line; JSON uses the fields instead."""
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
        """Return the time in UTC in the API's format: ISO 8601 with milliseconds."""
        return iso_time(datetime.fromtimestamp(record.created, UTC))


class JsonFormatter(TextFormatter):
    """Writes a JSON object on each line; a request's has its `fields` in place of a message."""

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
