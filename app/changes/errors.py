"""Errors of change streams."""

from werkzeug.exceptions import BadRequest


class InvalidChangeStream(BadRequest):
    """The parameters of a call for changes are invalid."""

    error_code = "INVALID_CHANGE_STREAM"

    def __init__(self, problem: str) -> None:
        super().__init__(problem)
