"""The app's JSON provider."""

import json
from typing import Any

from flask import Flask, Response
from flask.json.provider import DefaultJSONProvider


def init_app(app: Flask) -> None:
    """Answer in JSON whose keys stand in the order in which they were put."""
    app.json = JSONProvider(app)


class JSONProvider(DefaultJSONProvider):
    """Flask's provider with a compact encoder that is made once."""

    sort_keys = False

    def __init__(self, app: Flask) -> None:
        super().__init__(app)
        # What would be endless is so in a view; to look for it takes a twentieth of the time.
        options: dict[str, Any] = {"separators": (",", ":"), "check_circular": False}
        self._encode = json.JSONEncoder(default=self.default, **options).encode

    def response(self, *args: Any, **kwargs: Any) -> Response:
        """Return a response with the JSON of one value, or of several as an array or object."""
        value = self._prepare_response_obj(args, kwargs)
        return Response(f"{self._encode(value)}\n", mimetype=self.mimetype)
