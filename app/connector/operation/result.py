"""What an operation returns of a response."""

from typing import Any

from app.connector.response import Response

from .response_path import ResponsePath


class ResultSelector:
    """Selects the result: the response, its body, or what the response path matches in it."""

    def __init__(self, path: ResponsePath | None = None, *, full: bool = False) -> None:
        self._path = path
        self._full = full

    def __call__(self, response: Response) -> Any:
        """Return the result."""
        if self._full:
            return response
        return response.body if self._path is None else self._path.select(response.body)
