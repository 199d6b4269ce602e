"""Run several calls at the same time."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

from flask import Flask
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

Call = Callable[[FlaskClient], TestResponse]


def at_once(app: Flask, *calls: Call) -> list[TestResponse]:
    """Run each call on a thread and with a client of its own, all released together."""
    barrier = Barrier(len(calls))

    def run(call: Call) -> TestResponse:
        client = app.test_client()
        barrier.wait(timeout=60)
        return call(client)

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(run, calls))
