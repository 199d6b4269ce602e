"""Assertions on error responses."""

from werkzeug.test import TestResponse


def refusal(response: TestResponse) -> tuple[int, str]:
    """Check that a response has the error format; return its status and code."""
    body = response.json
    assert list(body) == ["status", "message", "error"]
    inner = body["error"]
    assert list(inner)[:4] == ["statusCode", "name", "code", "message"]
    assert body["status"] == inner["statusCode"] == response.status_code
    assert 400 <= response.status_code < 500
    assert body["message"] == inner["message"]
    assert body["message"].strip()
    return response.status_code, inner["code"]


def field_codes(response: TestResponse) -> dict[str, list[str]]:
    """Return which fields were refused, and why."""
    assert refusal(response) == (422, "VALIDATION_ERROR")
    details = response.json["error"]["details"]
    assert details["messages"].keys() == details["codes"].keys()
    return details["codes"]
