"""What happens to the servers of a cluster: they fail, or are changed on purpose."""

import signal
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice

from tests.support import processes
from tests.support.live import Server
from tests.support.patroni import Host, PatroniCluster
from tests.support.waiting import eventually

from .load import Load
from .report import Report

# Seconds for writes that no standby receives.
HELD_BACK = 0.5
# Seconds without etcd's majority: of refused writes, and, in failsafe mode, more than a lease has.
REFUSED, FAILSAFE = 3, 25
# What goes wrong at a switchover does so at some of them: a proxy takes the last primary for the
# new one for a moment, in which a connection may be opened.
SWITCHOVERS = 10
# What pg_rewind says in Patroni's log, unless it finds that there is nothing to do.
REWOUND = "pg_rewind: Done!"


@dataclass
class Scene:
    """A cluster as a failure finds it, with the service that uses it."""

    cluster: PatroniCluster
    primary: Host
    instances: list[Server]
    clients: Load
    report: Report

    @property
    def standbys(self) -> list[Host]:
        return [host for host in self.cluster.hosts if host is not self.primary]

    def recovers(self) -> None:
        """Wait until the cluster is as before, and the clients go on."""
        self.cluster.wait_until_whole()
        self.clients.goes_on()


Failure = Callable[[Scene], None]


def kill(scene: Scene) -> None:
    """Kill all processes on the primary's host, until another one is the primary."""
    scene.primary.kill()
    scene.clients.goes_on()


def kill_for_a_while(scene: Scene) -> None:
    kill(scene)
    scene.primary.start()
    scene.recovers()


def switch_over(scene: Scene) -> None:
    """Let another host be the primary, again and again."""
    for _ in range(SWITCHOVERS):
        scene.cluster.primary().switch_over()
        scene.recovers()


def freeze(scene: Scene) -> None:
    """Let nothing on the primary's host go on until another one is the primary."""
    processes.freeze(scene.primary.folder)
    scene.clients.goes_on()
    processes.thaw(scene.primary.folder)
    scene.recovers()


def freeze_patroni(scene: Scene) -> None:
    """Let Patroni on the primary's host not go on, while its PostgreSQL does."""
    scene.primary.patroni.send(signal.SIGSTOP)
    eventually(lambda: any(host.is_primary() for host in scene.standbys))
    scene.clients.goes_on()
    scene.primary.patroni.send(signal.SIGCONT)
    scene.recovers()


def lose_etcd(scene: Scene) -> None:
    """Freeze two of etcd's three members: nothing is written until they go on."""
    clients = scene.clients
    _freeze_majority(scene)
    eventually(lambda: not any(host.is_primary() for host in scene.cluster.hosts))
    refused, acknowledged = clients.count("refused"), clients.count("acknowledged")
    time.sleep(REFUSED)
    written = clients.count("acknowledged") - acknowledged
    scene.report.require(clients.count("refused") > refused, "no write was refused without etcd")
    scene.report.require(not written, f"{written} writes were acknowledged without a primary")
    _thaw_majority(scene)


def lose_etcd_in_failsafe_mode(scene: Scene) -> None:
    """Freeze them where the primary goes on as long as it reaches all other hosts."""
    scene.primary.configure(failsafe_mode=True)
    for host in scene.cluster.hosts:
        eventually(lambda: host.get("failsafe"))  # noqa: B023 called at once
    _freeze_majority(scene)
    time.sleep(FAILSAFE)
    scene.clients.goes_on()
    scene.report.require(scene.primary.is_primary(), "the primary did not go on without etcd")
    _thaw_majority(scene)
    scene.primary.configure(failsafe_mode=False)


def _freeze_majority(scene: Scene) -> None:
    for host in scene.cluster.hosts[:2]:
        processes.freeze(host.etcd.folder)


def _thaw_majority(scene: Scene) -> None:
    for host in scene.cluster.hosts[:2]:
        processes.thaw(host.etcd.folder)
    scene.recovers()


def rewind(scene: Scene) -> None:
    """Kill a primary that has stored what no standby has, and let it return."""
    before = len(scene.primary.patroni.log)
    processes.send(signal.SIGSTOP, scene.primary.folder, "walsender")
    time.sleep(HELD_BACK)
    kill_for_a_while(scene)
    rewound = REWOUND in scene.primary.patroni.log[before:]
    scene.report.require(rewound, "the old primary returned without pg_rewind")


def restart_all(scene: Scene) -> None:
    """Restart one host after the other, that of the primary at last."""
    for host in (*scene.standbys, scene.primary):
        host.stop()
        host.start()
        scene.recovers()


def upgrade(scene: Scene) -> None:
    """Kill the primary, and meanwhile restart one instance of the service after the other."""
    scene.primary.kill()
    for server in scene.instances:
        server.stop()
        eventually(lambda: _starts(server))  # noqa: B023 called at once
    scene.clients.goes_on()
    scene.primary.start()
    scene.recovers()


def _starts(server: Server) -> bool:
    """Start an instance as systemd does, again and again: it needs the database to start."""
    with suppress(AssertionError):
        server.start()
        return True
    return False


FAILURES: dict[str, Failure] = {
    "primary killed": kill_for_a_while,
    "switchover": switch_over,
    "primary frozen": freeze,
    "etcd lost": lose_etcd,
    "etcd lost in failsafe mode": lose_etcd_in_failsafe_mode,
    "return by pg_rewind": rewind,
    "rolling restart": restart_all,
    "upgrade while killed": upgrade,
}
OF_PRIMARY = dict(islice(FAILURES.items(), 3))
OF_PATRONI: dict[str, Failure] = {"Patroni frozen": freeze_patroni}
# Without the time that the killed host takes to return.
BRIEF: dict[str, Failure] = {"primary killed": kill}
