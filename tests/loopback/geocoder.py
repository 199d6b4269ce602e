"""The service that the application's REST data source calls."""

from collections.abc import Iterator
from contextlib import contextmanager

from flask import Flask, request

from tests.support.live import serve_app

PLACES = {"Elm Street": [{"position": {"lat": 52.51, "lng": 13.41}}]}


@contextmanager
def serve_geocoder() -> Iterator[str]:
    """Serve it in this process; yields its address."""
    app = Flask("geocoder")
    app.get("/search")(lambda: {"places": PLACES.get(request.args["q"], [])})
    with serve_app(app) as url:
        yield url
