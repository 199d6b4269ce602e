"""Two instances behind nginx, on one PostgreSQL: both upgraded in turn, and one killed."""

import time
from collections.abc import Callable
from contextlib import ExitStack

from tests.support.live import Server, serve
from tests.support.nginx import balancer
from tests.support.ports import free_port

from .load import CLIENTS, Load, load
from .places import Place, places
from .report import Report


def run(seconds: float) -> Report:
    """Upgrade for half of the time, without a request that fails; kill for the other half."""
    report = Report("instances")
    with places("postgresql") as [place], ExitStack() as stack:
        instances = [_start(place, name, stack) for name in ("first", "second")]
        port = free_port()
        url = stack.enter_context(
            balancer(place.folder, port, [served.url for served in instances])
        )
        with load(url) as clients:
            clients.goes_on()
            upgrades = _in_turn(seconds / 2, instances, clients, _upgrade)
            report.did("upgrades", upgrades)
            # Where a connection arrives between the last look for some and the end of the listener.
            report.at_most("writes failed in upgrades", clients.count("unanswered"), upgrades)
            unanswered = clients.count("unanswered")
            unanswered_reads = clients.count("unanswered_reads")
            report.at_most("reads failed in upgrades", unanswered_reads, 0)
            report.none_may("writes refused in upgrades", clients.titles("refused"))
            kills = _in_turn(seconds / 2, instances, clients, _kill)
            report.did("kills", kills)
            # Those that the killed instance had received.
            unanswered = clients.count("unanswered") - unanswered
            report.at_most("writes failed in kills", unanswered, kills * CLIENTS)
            # nginx asks the other instance, unless the killed one had sent the head of its answer
            # and not yet the body.
            unanswered_reads = clients.count("unanswered_reads") - unanswered_reads
            report.at_most("reads cut off in kills", unanswered_reads, kills)
            clients.report_on(report)
    return report


def _start(place: Place, name: str, stack: ExitStack) -> Server:
    folder = place.folder / name
    folder.mkdir()
    return stack.enter_context(serve(folder, place.url))


def _in_turn(
    seconds: float, instances: list[Server], clients: Load, work: Callable[[Server], None]
) -> int:
    """Do something to one instance after the other, until the time is over; return how often."""
    end, times = time.monotonic() + seconds, 0
    while time.monotonic() < end or not times:
        work(instances[times % len(instances)])
        times += 1
        clients.goes_on()
    return times


def _upgrade(server: Server) -> None:
    server.stop()
    server.start()


def _kill(server: Server) -> None:
    server.kill()
    server.start()
