"""A hundred followers of changes, while workers and the service are killed.

Each follower is sent every acknowledged change that it may see, and none of another user.
"""

from tests.definitions.conftest import running_a_command
from tests.support.live import serve

from .followers import SETTINGS, WATCHED, following
from .kills import kill_a_worker, kill_repeatedly, kill_the_service
from .places import Place, places
from .report import Report


def run(seconds: float) -> Report:
    """On each database, kill workers for half of the time, and the service for the other half."""
    report = Report("changes_kills")
    # What migrates starts without the triggers that it makes.
    with running_a_command(), places(**WATCHED) as found:
        for place in found:
            _kill(place, seconds / len(found) / 2, report)
    return report


def _kill(place: Place, seconds: float, report: Report) -> None:
    prefix = f"{place.name} "
    with serve(place.folder, place.url, **SETTINGS) as server, following(server.url) as clients:
        clients.goes_on()
        workers = kill_repeatedly(seconds, clients, lambda: kill_a_worker(server))
        services = kill_repeatedly(seconds, clients, lambda: kill_the_service(server))
        report.did(f"{prefix}workers killed", workers)
        report.did(f"{prefix}services killed", services)
        clients.report_on(report, prefix)
        report.none_may(f"{prefix}out of order", clients.all("out_of_order"))
        resynced = [each.writer.email for each in clients.followers if each.resyncs]
        report.none_may(f"{prefix}resyncs", resynced)
