"""Times: aware, in UTC, in milliseconds."""

from datetime import UTC, datetime, timedelta

import pytest

from app.times import iso_time, now


def test_now_is_aware_and_in_milliseconds():
    before = datetime.now(UTC)

    found = now()

    assert timedelta(0) <= before - found + timedelta(milliseconds=1)
    assert found.utcoffset() == timedelta(0)
    assert found.microsecond % 1000 == 0


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
