"""Every case with the library: the remote is sent, and the caller returned, what LoopBack does."""

from collections.abc import Iterator
from typing import Any

import pytest

from app.connector import ConfigError
from tools.differences import DIFFERENCES

from .cases import RECORDED, Case, Outcome, read_cases
from .differences import (
    ACCEPTED,
    AT_ENDPOINTS,
    IN_THE_LIBRARY,
    NEED_COMPATIBILITY,
    REFUSED,
    WITHOUT_COMPATIBILITY,
)
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
        return replay(case, remote, case.loopback_settings)
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


def test_some_calls_need_the_setting_of_compatibility(results: Results, remote: Remote) -> None:
    for name in NEED_COMPATIBILITY:
        case, _ = results[name]
        differences = _differences(case, replay(case, remote, case.settings))
        calls = {call for calls in WITHOUT_COMPATIBILITY.values() for call in calls}
        assert differences.keys() == {call.id for call in case.calls} & calls


def test_the_tables_name_existing_calls(results: Results) -> None:
    calls = {call.id for case, _ in results.values() for call in case.calls}
    assert calls >= LISTED
    assert results.keys() >= LISTED_AS_REFUSED | LISTED_AS_ACCEPTED


def test_every_difference_has_a_documented_reason() -> None:
    tables = (REFUSED, ACCEPTED, IN_THE_LIBRARY, AT_ENDPOINTS, WITHOUT_COMPATIBILITY)
    assert {key for table in tables for key in table} == DIFFERENCES.keys()


def test_most_settings_load_and_most_functions_are_equivalent(results: Results) -> None:
    """Probes are not counted: they are made of what is known to differ."""
    cases = [case for case, _ in results.values() if not case.is_probe]
    loaded = [case for case in cases if case.name not in LISTED_AS_REFUSED]
    functions = {call.function for case in cases for call in case.calls}
    differing = {call.function for case in cases for call in case.calls if call.id in LISTED}
    assert len(cases) >= 80
    assert len(functions) >= 230
    assert len(loaded) / len(cases) >= 0.98
    assert len(differing) / len(functions) <= 0.05
