"""The line of the log about a request."""

from datetime import timedelta
from types import SimpleNamespace

from gunicorn.config import Config

from app.server.log import QuietLogger

ANSWER = SimpleNamespace(status_code=200, sent=5, sock=SimpleNamespace(file_bytes=0))
REQUEST = SimpleNamespace(waited=0.0)


def test_a_request_takes_no_less_than_0_ms_though_the_clock_is_set_back(capsys):
    cfg = Config()
    cfg.set("accesslog", "-")
    environ = {"REQUEST_METHOD": "GET", "RAW_URI": "/health?x", "HTTP_X_REQUEST_ID": "abc"}

    QuietLogger(cfg).access(ANSWER, REQUEST, environ, timedelta(milliseconds=-2))

    assert '"GET /health" 200 5 0ms abc ' in capsys.readouterr().out
