"""A start with metrics: what it needs, and what it leaves behind."""

import os
import socket
import subprocess

import pytest
from prometheus_client import values

from app.metrics import exposition
from app.metrics.exposition import Metrics, ProcessFiles
from app.problems import ConfigurationError
from tests.support.ports import free_port


@pytest.fixture
def memory(monkeypatch, tmp_path):
    """An empty folder instead of the memory that all services share."""
    memory = tmp_path / "memory"
    memory.mkdir()
    monkeypatch.setattr(exposition, "MEMORY", memory)
    monkeypatch.setattr(values, "ValueClass", values.ValueClass)
    monkeypatch.setenv("PROMETHEUS_MULTIPROC_DIR", "")
    yield memory
    values.close_all_multiprocess_files()


def test_without_the_library_the_start_names_the_extra(make_app, monkeypatch):
    monkeypatch.setattr("app.config.find_spec", {}.get)

    with pytest.raises(ConfigurationError) as raised:
        make_app(METRICS_ENABLED=True)

    assert str(raised.value) == (
        "METRICS_ENABLED needs the extra metrics; install it with pip install 'ostiary[metrics]'"
    )


def test_a_port_in_use_and_that_of_the_service_end_the_start_with_one_sentence(make_app):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        metrics = Metrics(make_app(METRICS_ENABLED=True, METRICS_PORT=port))

        with pytest.raises(SystemExit) as in_use:
            metrics.open([3000])
        with pytest.raises(SystemExit) as own:
            metrics.open([port])

    sentence = "ostiary: METRICS_HOST and METRICS_PORT cannot be used: Address already in use"
    assert str(in_use.value).startswith(sentence)
    assert str(own.value) == f"ostiary: METRICS_PORT is {port}, the port of the service"


def test_a_master_that_replaces_another_one_takes_its_port_over(make_app, memory, monkeypatch):
    settings = {"METRICS_ENABLED": True, "METRICS_PORT": free_port()}
    old, new = (Metrics(make_app(**settings)) for _ in range(2))
    old.open([])

    # The other one is another program, which has the descriptor for itself.
    for name, descriptor in old.hand_over().items():
        monkeypatch.setenv(name, str(os.dup(int(descriptor))))
    new.open([])

    folders = list(memory.iterdir())
    for files in (old, new):
        files.close()
    assert len(folders) == 2


@pytest.mark.live
def test_services_have_folders_of_their_own_and_leave_none(memory):
    process = subprocess.Popen(["true"])
    process.wait()
    killed, running = (memory / f"ostiary-metrics-{pid}-x" for pid in (process.pid, os.getppid()))
    killed.mkdir()
    running.mkdir()

    services = [ProcessFiles(), ProcessFiles()]

    assert not killed.exists()
    assert len(list(memory.iterdir())) == 3
    for service in services:
        service.close()
    assert list(memory.iterdir()) == [running]
