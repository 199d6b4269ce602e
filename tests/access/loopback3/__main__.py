"""Record LoopBack's decisions anew, or compare those for other sets of rules with ours."""

import argparse
import logging
import sys
import tempfile
from collections import Counter
from pathlib import Path

from tests.support.databases import make_template

from .cases import SEED, make_sets, recorded_sets
from .reasons import reason
from .recording import PERMITTED, REFUSED, Recording, ask, store
from .replay import Replay, is_refused, responses
from .worlds import ONE, SEVERAL, World

WORLDS = {"one": ONE, "several": SEVERAL}


def main() -> int:
    """Record or compare; return 1 if a call that LoopBack refuses is allowed without a reason."""
    parser = argparse.ArgumentParser(prog="python -m tests.access.loopback3", description=__doc__)
    parser.add_argument("action", choices=["record", "compare"])
    parser.add_argument("--models-of-users", choices=WORLDS, default="one")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--sets", type=int, default=200)
    arguments = parser.parse_args()
    world = WORLDS[arguments.models_of_users]
    if arguments.action == "record":
        store(world, ask(world, recorded_sets(world)))
        return 0
    return compare(world, ask(world, make_sets(world, arguments.seed, arguments.sets)))


def compare(world: World, recordings: list[Recording]) -> int:
    """Print what is allowed here alone, with the reasons, and how much is refused here alone."""
    logging.disable()
    allowed: Counter[str | None] = Counter()
    refused: Counter[str] = Counter()
    folder = Path(tempfile.mkdtemp())
    replay = Replay(world, f"sqlite:///{make_template(folder)}", folder)
    with replay.serving() as app:
        for rules, decisions in recordings:
            answers = responses(world, app, rules, rules.calls)
            for call, made, response in zip(rules.calls, decisions, answers, strict=True):
                if made == REFUSED and not is_refused(response):
                    allowed[why := reason(world, call, response)] += 1
                    if why is None:
                        print(call, response.status, response.data, rules.models, sep="\n")
                if made == PERMITTED and is_refused(response):
                    refused[f"{call.model}.{call.method}"] += 1
    calls = sum(len(recording.decisions) for recording in recordings)
    print(f"{calls} calls; allowed here alone, by reason: {dict(allowed)}")
    print(f"refused here alone: {dict(refused.most_common())}")
    return int(allowed[None] > 0)


if __name__ == "__main__":
    sys.exit(main())
