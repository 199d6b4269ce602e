"""No call that LoopBack 3 refuses by the same rules is allowed here, but for documented reasons."""

from collections import Counter

import pytest

from app.access.policy import compiled_rules
from app.testing.apps import close
from tools.compatibility import LOOSER

from .cases import CALLS
from .reasons import REASONS, reason
from .recording import MISSING, PERMITTED, REFUSED, load
from .replay import Replay, give, is_refused, responses
from .worlds import ONE, SEVERAL

# Methods that are about the rows of one model, for which only its own rules count.
READING = ("find", "findOne", "count", "findById", "exists")
DENIALS = (401, 403)

# The recordings are replayed in parts, by as many tests.
PARTS = 2


@pytest.fixture
def replay(sqlite_url, tmp_path):
    return Replay(ONE, sqlite_url, tmp_path)


@pytest.fixture
def app(replay):
    with replay.serving() as app:
        yield app


# The second half takes its time beside the tests of processes.
@pytest.mark.parametrize("part", [0, pytest.param(1, marks=pytest.mark.live)])
def test_what_loopback_refuses_is_refused_and_what_it_lets_read_is_not(part, app):
    allowed, refused = compare(ONE, app, load(ONE)[part::PARTS], may_read)

    assert allowed == []
    assert refused == []


def test_what_loopback_refuses_users_of_several_models_is_refused(sqlite_url, tmp_path):
    settings = {"RELATION_PERMISSIONS": "parent", "DEFAULT_PERMISSION": "allow"}

    with Replay(SEVERAL, sqlite_url, tmp_path, **settings).serving() as app:
        allowed, refused = compare(SEVERAL, app, load(SEVERAL), reads)

    assert allowed == []
    assert refused == []


def compare(world, app, recordings, is_made):
    """Return the calls that are allowed or refused unlike in LoopBack 3, without a reason.

    Of those that LoopBack permits, those of which `is_made` is true are made.
    """
    allowed, refused = [], []
    for rules, decisions in recordings:
        made = list(zip(rules.calls, decisions, strict=True))
        made = [call for call in made if call[1] == REFUSED or is_made(rules, *call)]
        answers = responses(world, app, rules, [call for call, _ in made])
        for (call, decision), response in zip(made, answers, strict=True):
            if decision == PERMITTED and is_refused(response):
                refused.append((call, response.status, rules.models))
            is_looser = decision == REFUSED and not is_refused(response)
            if is_looser and not reason(world, call, response):
                allowed.append((call, response.status, rules.models))
    return allowed, refused


def may_read(rules, call, decision):
    """Tell whether LoopBack permits a call that reads rows, by rules and not by its default."""
    return reads(rules, call, decision) and "defaultPermission" in rules.models[call.model]


def reads(rules, call, decision):
    """Tell whether LoopBack permits a call that reads rows."""
    return decision == PERMITTED and call.method in READING


def test_the_rules_of_the_parent_decide_on_relations_as_those_of_loopback_do(sqlite_url, tmp_path):
    settings = {"RELATION_PERMISSIONS": "parent", "DEFAULT_PERMISSION": "allow"}
    differing, compared = [], Counter()

    with Replay(ONE, sqlite_url, tmp_path, **settings).serving() as app:
        # A third of them: each takes time.
        for rules, decisions in load(ONE)[::3]:
            made = zip(rules.calls, decisions, strict=True)
            made = [call for call in made if is_of_models(call[0]) and call[1] != MISSING]
            answers = responses(ONE, app, rules, [call for call, _ in made])
            for (call, decision), response in zip(made, answers, strict=True):
                compared[decision] += 1
                if decision == REFUSED:
                    differs = not is_refused(response) and not reason(ONE, call, response)
                else:
                    # The status of rows that there are not is none of the rules.
                    differs = response.status_code in DENIALS and not denies_more(rules, call)
                if differs:
                    differing.append((call, decision, response.status, rules.models))

    assert differing == []
    assert compared[PERMITTED] > 150
    assert compared[REFUSED] > 1000


def denies_more(rules, call):
    """Tell whether a rule denies everything here, and nothing in LoopBack: by `*` in a list."""
    return any(
        rule.get("permission") == "DENY" and "*" in rule.get("property", "")
        for rule in rules.models[call.model]["acls"]
        if isinstance(rule.get("property"), list)
    )


def is_of_models(call):
    """Tell whether a call is one of a relation to rows that are not those of users."""
    relation = call.method.rpartition("__")[2]
    return relation in ONE.related[call.model] and relation != "customer"


def test_rules_are_given_to_an_app_as_its_files_give_them(sqlite_url, tmp_path):
    # The rules also name methods that do not exist.
    replay = Replay(ONE, sqlite_url, tmp_path, COMPATIBILITY="loopback3")
    with replay.serving() as app:
        for rules, _ in load(ONE)[:5]:
            started = replay.start(rules)
            give(app, rules)

            compiled = [compiled_rules.of(service) for service in (app, started)]
            assert compiled[0].keys() == compiled[1].keys()
            for key in compiled[0]:
                assert vars(compiled[0][key]) == vars(compiled[1][key]), key
            close(started)


def test_there_are_enough_calls_of_every_kind():
    recordings = load(ONE)
    calls = [call for recording in recordings for call in recording.rules.calls]
    made = "".join(recording.decisions for recording in recordings)

    assert (len(recordings), len(calls)) == (ONE.sets, ONE.sets * CALLS)
    assert {call.verb for call in calls} == {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"}
    assert made.count(REFUSED) > 5000
    assert made.count(PERMITTED) > 1000


def test_every_reason_is_documented():
    assert REASONS.keys() == LOOSER.keys()
