"""The benchmarks' load and report; what they measure is not tested."""

import threading
import time
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from benchmarks import load, report, tables
from benchmarks.load import Request


class Halting(BaseHTTPRequestHandler):
    """Answers at once, but for the fifth request."""

    protocol_version = "HTTP/1.1"
    seconds = 0.5
    answered = 0

    def do_GET(self):
        Halting.answered += 1
        if Halting.answered == 5:
            time.sleep(self.seconds)
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_args):
        pass


@pytest.fixture
def halting():
    Halting.answered = 0
    server = HTTPServer(("127.0.0.1", 0), Halting)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server.server_port
    server.shutdown()
    server.server_close()


def test_a_fixed_rate_counts_the_requests_that_a_halted_server_delays(halting):
    request = Request("read", "GET", "/", 0, 0)

    run = load.paced(halting, [request], rate=50, seconds=1, connections=1)

    # One answer was late, and those that were due meanwhile waited for it.
    assert sum(took > Halting.seconds / 2 for took in run.times["read"]) > 5
    assert len(run.times["read"]) == 50


@pytest.mark.live
def test_a_table_is_printed_and_kept(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(tables, "RESULTS", tmp_path)
    monkeypatch.setattr(report, "RESULTS", tmp_path)
    table = tables.Table("SQLite", ["per s", "aim"], [["GET", 1200, None]])

    tables.publish("rest", "2 rounds", [table], keep=False)
    assert "GET     1,200    -" in capsys.readouterr().out
    assert list(tmp_path.iterdir()) == []

    tables.publish("rest", "2 rounds", [table], keep=True)
    assert "| GET | 1,200 | - |" in report.report()


def test_the_report_has_the_last_figures_of_all_parts():
    assert report.FILE.read_text() == report.report()
    assert set(report.PARTS) >= {path.stem for path in tables.RESULTS.glob("*.json")}
