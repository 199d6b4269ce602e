"""Times: aware, in UTC, in milliseconds."""

from datetime import UTC, datetime, timedelta

import pytest

from app import times
from app.times import iso_time


def test_now_is_the_time_of_the_clock_aware_and_in_milliseconds(monkeypatch):
    monkeypatch.setattr(times, "time_ns", lambda: 1_767_323_045_678_999_999)

    found = times.now()

    assert found == datetime(2026, 1, 2, 3, 4, 5, 678_000, tzinfo=UTC)
    assert found.utcoffset() == timedelta(0)


@pytest.mark.parametrize(
    ("microsecond", "text"),
    [
        (0, "2026-01-02T03:04:05.000Z"),
        (678_000, "2026-01-02T03:04:05.678Z"),
        (678_999, "2026-01-02T03:04:05.678Z"),
    ],
)
def test_a_time_in_json_has_milliseconds(microsecond, text):
    assert iso_time(datetime(2026, 1, 2, 3, 4, 5, microsecond, tzinfo=UTC)) == text
