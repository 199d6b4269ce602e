"""Each drill once, in a short form; `make drills` runs the long one."""

import pytest

from . import find_drills

pytestmark = pytest.mark.live

# Seconds of load.
SECONDS = 2.0
DRILLS = find_drills()


@pytest.mark.parametrize("name", DRILLS)
def test_it_holds(name):
    report = DRILLS[name](SECONDS)

    assert report.problems == []
    assert any(report.counts.values())
