"""The limit of open files, and how many connections a process keeps within it."""

import logging
import resource

import pytest
from gunicorn.config import Config

from app.server.processes import fit_connections

log = logging.getLogger("gunicorn")


@pytest.fixture
def limits(monkeypatch):
    """Return a function that pretends limits, and yield those that are set then."""
    limits = {}
    monkeypatch.setattr(resource, "getrlimit", lambda _: limits["before"])
    monkeypatch.setattr(resource, "setrlimit", lambda _, pair: limits.update(after=pair))
    return limits


@pytest.mark.parametrize(
    ("before", "after", "connections", "words"),
    [
        ((3100, 4096), None, 1000, ""),
        ((1024, 4096), (3100, 4096), 1000, ""),
        ((1024, 2500), (2500, 2500), 1000, ""),
        ((1024, -1), (3100, -1), 1000, ""),
        ((256, 1024), (1024, 1024), 462, "keeps 462 connections: the limit of open files is 1024"),
    ],
)
def test_connections_fit_the_limit(limits, caplog, before, after, connections, words):
    config, limits["before"] = Config(), before

    fit_connections(config, log)

    assert (limits.get("after"), config.worker_connections) == (after, connections)
    assert words in caplog.text
    assert bool(words) == bool(caplog.records)


def test_a_limit_with_which_it_cannot_serve_stops_the_start(limits):
    limits["before"] = 100, 100

    with pytest.raises(SystemExit, match="the limit of open files is 100, and must be at least"):
        fit_connections(Config(), log)
