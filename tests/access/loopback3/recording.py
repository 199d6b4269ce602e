"""Decisions of LoopBack 3 on the calls of the cases: asked, and as recorded."""

import json
import subprocess
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from tests.support.node_packages import install
from tests.support.programs import require

from .cases import RuleSet, recorded_sets
from .worlds import World

FOLDER = Path(__file__).parent
# The service of the benchmark has the packages.
PACKAGES = FOLDER.parents[2] / "benchmarks" / "loopback3"
# The decisions: refused by the rules, no such row or path, and anything else.
REFUSED, MISSING, PERMITTED = "rmp"


class Recording(NamedTuple):
    """A set of rules, and for each of its calls LoopBack's decision."""

    rules: RuleSet
    decisions: str


def ask(world: World, sets: Sequence[RuleSet]) -> list[Recording]:
    """Let LoopBack 3 decide."""
    require("node")
    install(PACKAGES)
    command, given = ["node", str(FOLDER / "record.js")], _as_json(world, sets)
    run = subprocess.run(
        command, cwd=PACKAGES, input=given, capture_output=True, text=True, check=True
    )
    decisions = json.loads(run.stdout)
    return [Recording(*pair) for pair in zip(sets, decisions, strict=True)]


def store(world: World, recordings: Sequence[Recording]) -> None:
    """Write down LoopBack's decisions for the sets that the tests use."""
    digest = _digest(world, [recording.rules for recording in recordings])
    decisions = [recording.decisions for recording in recordings]
    text = json.dumps({"cases": digest, "decisions": decisions}, indent=0)
    (FOLDER / world.recorded).write_text(f"{text}\n")


def load(world: World) -> list[Recording]:
    """Return the decisions as they were recorded; raise ValueError if the cases are others."""
    recorded, sets = json.loads((FOLDER / world.recorded).read_text()), recorded_sets(world)
    if recorded["cases"] != _digest(world, sets):
        raise ValueError("the cases have changed: python -m tests.access.loopback3 record")
    return [Recording(*pair) for pair in zip(sets, recorded["decisions"], strict=True)]


def _digest(world: World, sets: Sequence[RuleSet]) -> str:
    return sha256(_as_json(world, sets).encode()).hexdigest()


def _as_json(world: World, sets: Sequence[RuleSet]) -> str:
    """Return what `record.js` reads."""
    return json.dumps(
        {
            "models": world.models,
            "rows": world.rows,
            "roles": world.roles,
            "sets": [
                {
                    "models": rules_.models,
                    "calls": [
                        [call.caller, call.verb, call.path, call.body] for call in rules_.calls
                    ],
                }
                for rules_ in sets
            ],
        }
    )
