"""Search for the request of at most 100 kB that costs most: the CPU time of each candidate."""

import argparse

from benchmarks import stack

from .catalog import requests
from .measuring import measure
from .models import ROWS
from .service import serving

# Milliseconds that a request may cost besides hashing.
AIM = 100


def main() -> None:
    """Print the cost of each request, the highest first."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="only the requests whose name has this in it")
    parser.add_argument("--top", type=int, default=30, help="how many of them are printed")
    options = parser.parse_args()
    chosen = [request for request in requests() if options.only in request.name]
    with (
        stack.temporary_folder() as folder,
        serving(folder, stack.sqlite(folder, "worst"), ROWS) as (app, token),
    ):
        found = [(measure(app, request, token), request) for request in chosen]
    print(stack.machine())
    print(f"{'ms':>8}{'bytes':>9}{'status':>8}  request")
    for (milliseconds, status), each in sorted(found, key=lambda one: -one[0][0])[: options.top]:
        size = len(each.path) + len(each.body) + sum(map(len, each.headers.values()))
        print(f"{milliseconds:>8.1f}{size:>9}{status:>8}  {each.name}")
    print(f"{sum(cost > AIM for (cost, _), _ in found)} of {len(found)} above {AIM} ms")


if __name__ == "__main__":
    main()
