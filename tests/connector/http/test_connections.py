"""Connections: those that fail, those that are used again, and what is never taken along."""

from __future__ import annotations

import threading

import pytest

from app.connector import ConnectError, DataSource


def test_connection_refused_says_so():
    source = DataSource.from_config({"operations": [{"template": {"url": "http://127.0.0.1:1/"}}]})

    with pytest.raises(ConnectError, match=r"GET http://127.0.0.1:1/: Connection refused"):
        source.invoke()


def test_unknown_host_says_so():
    source = DataSource.from_config({"operations": [{"template": {"url": "http://no.invalid/"}}]})

    with pytest.raises(ConnectError):
        source.invoke()


def test_reset_connection_is_an_error(call):
    with pytest.raises(ConnectError):
        call({"url": "/reset"})


def test_connections_are_reused(call, connect, server):
    source = connect([{"template": {"url": "/text"}}])
    for _ in range(5):
        source.invoke()

    assert server.connections == 1


def test_one_data_source_serves_many_threads(connect, server):
    source = connect(
        [{"template": {"url": "/echo/{x}"}, "functions": {"f": ["x"]}}], pool={"maxSockets": 8}
    )
    barrier = threading.Barrier(8)
    found = []

    def work(number):
        barrier.wait()
        found.extend(source.f(f"{number}-{turn}")["path"] for turn in range(10))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(found) == sorted(f"/echo/{n}-{turn}" for n in range(8) for turn in range(10))


def test_cookies_are_not_kept(call, connect, server):
    server.routes["cookie"] = lambda h: h.reply({}, headers={"Set-Cookie": "sid=1"})
    source = connect(
        [
            {"template": {"url": "/cookie"}, "functions": {"set": []}},
            {"template": {"url": "/echo"}, "functions": {"look": []}},
        ]
    )
    source.set()

    assert "cookie" not in source.look()["headers"]


def test_environment_of_the_process_is_not_used(call, monkeypatch, tmp_path):
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login l password p")
    monkeypatch.setenv("NETRC", str(netrc))
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")

    assert "authorization" not in call({"url": "/echo"})["headers"]
