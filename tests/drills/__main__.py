"""Run drills in their long form: all of them, or those that are named."""

import argparse
import logging
import sys

from . import find_drills

# Seconds of load for each drill.
SECONDS = 15.0


def main() -> int:
    """Print a line of counts for each drill, and what went wrong; return 1 if anything did."""
    drills = find_drills()
    parser = argparse.ArgumentParser(prog="python -m tests.drills", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(drills))
    parser.add_argument("--seconds", type=float, default=SECONDS, help="of load, for each")
    arguments = parser.parse_args()
    if unknown := set(arguments.names) - set(drills):
        parser.error(f"there is no drill {', '.join(sorted(unknown))}")
    # The apps of drills that need no service of their own say what goes wrong, as they should.
    logging.basicConfig(handlers=[logging.NullHandler()])
    status = 0
    for name in arguments.names or drills:
        report = drills[name](arguments.seconds)
        print(report, flush=True)
        status |= bool(report.problems)
    return status


if __name__ == "__main__":
    sys.exit(main())
