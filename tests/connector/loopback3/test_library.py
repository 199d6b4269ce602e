"""Every case with the library: the remote is sent, and the caller returned, what LoopBack does."""

from collections.abc import Iterator
from typing import Any

import pytest

from app.connector import ConfigError
from docs.differences import DIFFERENCES

from .cases import RECORDED, Case, Outcome, read_cases
from .differences import ACCEPTED, AT_ENDPOINTS, IN_THE_LIBRARY, OPEN, REFUSED
from .remote import Remote, running
from .replay import replay

LISTED = {call for calls in IN_THE_LIBRARY.values() for call in calls}
LISTED_AS_REFUSED = {name for names in REFUSED.values() for name in names}
LISTED_AS_ACCEPTED = {name for names in ACCEPTED.values() for name in names}

Results = dict[str, tuple[Case, list[Outcome] | None]]


@pytest.fixture(scope="module")
def remote() -> Iterator[Remote]:
    with running() as remote:
        yield remote


@pytest.fixture(scope="module")
def results(remote: Remote) -> Results:
    """The outcomes of all cases; None where the settings are refused."""
    return {name: (case, _outcomes(case, remote)) for name, case in read_cases(remote).items()}


def _outcomes(case: Case, remote: Remote) -> list[Outcome] | None:
    try:
        return replay(case, remote)
    except ConfigError:
        return None


def _differences(case: Case, outcomes: list[Outcome]) -> dict[str, Any]:
    pairs = zip(case.calls, outcomes, strict=True)
    return {
        call.id: {"LoopBack 3": call.recorded, "Ostiary": outcome}
        for call, outcome in pairs
        if outcome != call.recorded
    }


@pytest.mark.parametrize("name", RECORDED)
def test_outcomes_are_those_of_loopback(name: str, results: Results) -> None:
    case, outcomes = results[name]
    loads_here = outcomes is not None
    assert (case.loads and not loads_here) == (name in LISTED_AS_REFUSED)
    assert (loads_here and not case.loads) == (name in LISTED_AS_ACCEPTED)
    if outcomes is not None and case.loads:
        differences = _differences(case, outcomes)
        listed = {call.id for call in case.calls if call.id in LISTED}
        assert differences.keys() == listed, differences


def test_the_tables_name_existing_calls(results: Results) -> None:
    calls = {call.id for case, _ in results.values() for call in case.calls}
    assert calls >= LISTED
    assert results.keys() >= LISTED_AS_REFUSED | LISTED_AS_ACCEPTED


def test_every_difference_has_a_documented_reason() -> None:
    keys = {*REFUSED, *ACCEPTED, *IN_THE_LIBRARY, *AT_ENDPOINTS} - {OPEN}
    assert keys <= DIFFERENCES.keys()


@pytest.mark.xfail(strict=True, reason="some differences are still open")
def test_most_settings_load_and_most_functions_are_equivalent(results: Results) -> None:
    # Probes are not counted: they are made of what is known to differ.
    counted = [result for result in results.values() if not result[0].is_probe]
    loaded = [(case, outcomes) for case, outcomes in counted if outcomes is not None]
    functions = {call.function for case, _ in counted for call in case.calls}
    equivalent = {call.function for case, _ in loaded for call in case.calls}
    for case, outcomes in loaded:
        differing = _differences(case, outcomes)
        equivalent -= {call.function for call in case.calls if call.id in differing}
    assert len(counted) >= 60
    assert len(functions) >= 150
    assert len(loaded) / len(counted) >= 0.98
    assert len(equivalent) / len(functions) >= 0.95
