"""The metrics of a running service, and what Prometheus and the dashboard make of them."""

import json
import math
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import gettempdir
from typing import Any

import pytest
import requests
from prometheus_client.parser import text_string_to_metric_families

from app.metrics.exposition import MEMORY, PREFIX
from tests.conftest import PASSWORD, TOKEN
from tests.connector.conftest import http_server  # noqa: F401 a fixture
from tests.support.documents import blocks
from tests.support.installation import ROOT
from tests.support.live import Server, serve
from tests.support.ports import free_port
from tests.support.programs import require
from tests.support.waiting import eventually
from tools.generate import metrics as table_of_metrics

pytestmark = pytest.mark.live

EMAIL = "ada@example.com"
PLANTED = "Pl4ntedS3cret" * 5
DASHBOARD = ROOT / "deploy" / "grafana-dashboard.json"
SETTINGS = {
    "METRICS_ENABLED": True,
    # A hash takes long enough for another one to be refused meanwhile.
    "PASSWORD_HASH": {"time_cost": 4, "memory_cost": 32768},
    "PASSWORD_HASHES": 1,
    "PASSWORD_HASH_WAIT": 0,
    # What is not recorded is counted all the same.
    "AUDIT_DAYS": None,
    "THROTTLE_ENABLED": True,
    # Jobs that are due are found soon.
    "OUTBOX_POLL_INTERVAL": 0.5,
    "THROTTLES": {
        "reset_email": {"limit": 1},
        "login_identity": {"limit": 1000},
        "login_address": {"limit": 1000},
    },
}


@dataclass
class Service:
    """A service, what it was asked, and what it exposes."""

    server: Server
    exposition: str
    calls: list[tuple[str, str, str]] = field(default_factory=list)

    def call(self, method: str, path: str, route: str, label: str = "", **options: Any) -> int:
        """Send a request; note what it should be counted as, and return the status."""
        url = f"{self.server.url}{path}"
        options = {"timeout": 60, "allow_redirects": False, **options}
        status = requests.request(method, url, **options).status_code
        self.calls.append((label or method, route, str(status)))
        return status

    def login(self, password: str = PASSWORD) -> int:
        body = {"email": EMAIL, "password": password}
        return self.call("POST", "/api/users/login", "/api/users/login", json=body)

    def exposed(self) -> str:
        return requests.get(self.exposition, timeout=60).text

    def samples(self, name: str, *labels: str) -> dict[tuple[str, ...], float]:
        """Return the samples of a metric by the values of labels."""
        families = text_string_to_metric_families(self.exposed())
        found = [sample for family in families for sample in family.samples if sample.name == name]
        return {tuple(sample.labels[name] for name in labels): sample.value for sample in found}

    def counted(self) -> Counter[tuple[str, ...]]:
        """Return the requests that were counted, without those by which a test waits."""
        found = self.samples("ostiary_http_requests_total", "method", "route", "status")
        return Counter({key: int(value) for key, value in found.items() if key[1] != "/"})

    def statuses(self, route: str) -> Counter[str]:
        return Counter(status for _, found, status in self.calls if found == route)

    def has_counted_refusals(self) -> bool:
        """Tell whether the metric of refused hashes has all logins and registrations refused."""
        refused = sum(self.statuses(route)["503"] for route in ("/api/users", "/api/users/login"))
        return refused > 0 and self.samples("ostiary_password_hashes_refused_total") == {
            (): refused
        }


@pytest.fixture(scope="module")
def service(sqlite_template, http_server, tmp_path_factory):  # noqa: F811
    """A service with two processes, both of which have done something of everything."""
    folder = tmp_path_factory.mktemp("metrics")
    shutil.copy(sqlite_template, folder / "ostiary.sqlite")
    port = free_port()
    settings = {
        **SETTINGS,
        "METRICS_PORT": port,
        "DATA_SOURCES": {"geo": data_source(http_server.url)},
        "PROVIDERS": {"acme": {"issuer": http_server.url, "clientID": "x", "clientSecret": "y"}},
    }
    environment = {f"APP_{name}": json.dumps(value) for name, value in settings.items()}
    with serve(folder, f"sqlite:///{folder}/ostiary.sqlite", **environment) as server:
        service = Service(server, f"http://127.0.0.1:{port}/metrics")
        run_the_purge(folder / "ostiary.sqlite")
        first, second = server.workers()
        with server.only(first):
            use(service, todos=3)
        with server.only(second):
            use(service, todos=4)
        be_refused(service)
        # They are counted periodically: a process that is killed takes along what is not counted.
        eventually(service.has_counted_refusals)
        yield service


def data_source(url: str) -> dict[str, Any]:
    functions = {"ask": "echo", "fail": "status/500"}
    return {
        "connector": "rest",
        "public": True,
        "acls": [{"principalType": "ROLE", "principalId": "$everyone", "permission": "ALLOW"}],
        "operations": [
            {"template": {"method": "GET", "url": f"{url}/{path}"}, "functions": {name: []}}
            for name, path in functions.items()
        ],
    }


def use(service: Service, todos: int) -> None:
    """Send requests of every kind."""
    body = {"email": EMAIL, "password": PASSWORD}
    # A hash whose answer was sent just before may not have ended yet.
    eventually(lambda: service.call("POST", "/api/users", "/api/users", json=body) != 503)
    eventually(lambda: service.login() != 503)
    eventually(lambda: service.login(PLANTED) != 503)
    service.call("POST", "/api/users/reset", "/api/users/reset", json={"email": EMAIL})
    for _ in range(todos):
        service.call("GET", f"/api/todos?access_token={PLANTED[:64]}", "/api/todos")
    service.call("GET", f"/{PLANTED}", "unknown")
    service.call("GET", f"/api/users/1/accessTokens/{PLANTED[:64]}/x", "unknown")
    service.call(PLANTED[:13].upper(), "/api/todos", "unknown", label="unknown")
    service.call("GET", "/api/geo/ask", "/api/geo/ask")
    service.call("GET", "/api/geo/fail", "/api/geo/fail")
    service.call("GET", "/auth/acme", "/auth/acme")


def run_the_purge(database: Path) -> None:
    """Let the service's job be due."""
    with closing(sqlite3.connect(database, isolation_level=None)) as file:
        due = "UPDATE scheduled_jobs SET next_run = '2020-01-01 00:00:00.000000'"
        eventually(lambda: file.execute(due).rowcount)


def be_refused(service: Service) -> None:
    """Log in at once by several clients, until one is refused as too many hash a password."""

    def is_refused() -> bool:
        threads = [threading.Thread(target=service.login) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return service.statuses("/api/users/login")["503"] > 0

    eventually(is_refused)


def test_the_numbers_of_all_processes_add_up(service):
    assert service.counted() == Counter(service.calls)
    assert service.statuses("/api/todos") >= Counter({"401": 7})
    found = service.samples("ostiary_http_request_duration_seconds_count", "method", "route")
    calls = Counter((method, route) for method, route, _ in service.calls)
    assert {key: value for key, value in found.items() if key[1] != "/"} == calls


def test_what_features_do_is_counted_by_its_outcome(service):
    logins = service.statuses("/api/users/login")
    assert service.samples("ostiary_logins_total", "outcome") == {
        ("success",): logins["200"],
        ("failed",): logins["401"],
        ("unverified",): 0,
    }
    assert logins["401"] == 2
    failed = service.samples("ostiary_provider_logins_total", "provider", "outcome")
    assert failed["acme", "failed"] == 2
    throttled = service.samples("ostiary_throttled_requests_total", "throttle")
    assert {key: value for key, value in throttled.items() if value} == {("reset_email",): 1}
    calls = service.samples("ostiary_data_source_calls_total", "data_source", "outcome")
    assert calls["geo", "success"] == service.statuses("/api/geo/ask")["200"]
    assert calls["geo", "HTTPStatusError"] == service.statuses("/api/geo/fail")["502"] == 2
    seconds = service.samples("ostiary_data_source_call_duration_seconds_count", "data_source")
    assert seconds["geo",] == sum(calls.values())


def test_runs_of_jobs_are_counted_and_the_last_ones_are_shown(service):
    labels = ("name", "outcome")
    eventually(
        lambda: service.samples("ostiary_job_runs_total", *labels)["purge-expired", "success"]
    )

    assert service.samples("ostiary_job_runs_total", *labels)["purge-expired", "failed"] == 0
    assert service.samples("ostiary_job_last_duration_seconds", "name").keys() == {
        ("purge-expired",)
    }


def test_what_the_outbox_delivers_is_counted(service):
    def mails():
        return service.samples("ostiary_deliveries_total", "subscriber", "outcome")

    outcomes = ("delivered", "delayed", "failed", "expired", "obsolete")
    assert mails().keys() == {("mail", outcome) for outcome in outcomes}
    eventually(lambda: mails()["mail", "delivered"] == 1)
    eventually(lambda: service.samples("ostiary_outbox_pending_deliveries") == {(): 0})
    assert service.samples("ostiary_outbox_oldest_pending_seconds") == {(): 0}
    assert service.samples("ostiary_database_up") == {(): 1}


def test_levels_are_those_of_each_process(service):
    assert service.has_counted_refusals()
    for name, level in (
        ("ostiary_database_pool_connections", 4),
        ("ostiary_database_connections_in_use", 0),
        ("ostiary_password_hashes_in_progress", 0),
        ("ostiary_password_hashes_waiting", 0),
        ("ostiary_change_streams", 0),
    ):
        expected = {("1",): level, ("2",): level}
        eventually(lambda: service.samples(name, "process") == expected)  # noqa: B023


def test_no_secret_and_no_word_of_a_client_is_exposed(service):
    exposed = service.exposed()

    assert PLANTED[:32].lower() not in exposed.lower()
    assert PASSWORD not in exposed
    assert EMAIL not in exposed
    assert not TOKEN.search(exposed)


def test_the_port_of_the_service_has_no_metrics(service):
    assert service.call("GET", "/metrics", "unknown") == 404


def test_the_successor_of_a_killed_process_continues_its_numbers(service):
    killed = service.server.workers()[0]
    os.kill(killed, signal.SIGKILL)
    eventually(lambda: killed not in service.server.workers())
    eventually(lambda: len(service.server.workers()) == 2)
    service.call("GET", "/api/todos", "/api/todos")

    assert service.counted() == Counter(service.calls)
    in_use = "ostiary_database_connections_in_use"
    eventually(lambda: set(service.samples(in_use, "process")) == {("1",), ("2",)})


def test_a_file_that_a_process_has_only_created_is_no_obstacle(service):
    """A process that starts creates its files empty, and one that is killed then leaves them."""
    name = f"{PREFIX}{service.server.process.pid}-*"
    (folder,) = (found for parent in (MEMORY, Path(gettempdir())) for found in parent.glob(name))
    (folder / "gauge_liveall_9.db").touch()

    assert service.counted() == Counter(service.calls)


def test_prometheus_answers_each_query_of_the_dashboard_and_takes_the_alerts(service, tmp_path):
    require("prometheus")
    queries = [
        target["expr"]
        for panel in json.loads(DASHBOARD.read_text())["panels"]
        for target in panel.get("targets", [])
    ]

    with prometheus(service.exposition, tmp_path) as url, traffic(service):
        for query in queries:
            eventually(lambda: ask(url, query))  # noqa: B023
        rules = eventually(lambda: evaluated_rules(url))

    assert all(rule["health"] == "ok" for rule in rules), rules
    assert len(rules) == len(re.findall("alert:", blocks("docs/monitoring.md", "yaml")[1]))
    # What is exposed is shown.
    names = re.findall(r"^\| `(\w+)`", table_of_metrics(), re.MULTILINE)
    assert names
    assert [name for name in names if name not in str(queries)] == []


@contextmanager
def traffic(service: Service) -> Iterator[None]:
    """Keep calling the service, as rates and quantiles are of the last seconds."""
    done = threading.Event()

    def send() -> None:
        while not done.wait(0.1):
            service.call("GET", "/api/todos", "/api/todos")
            service.call("GET", "/api/geo/ask", "/api/geo/ask")

    thread = threading.Thread(target=send)
    thread.start()
    yield
    done.set()
    thread.join()


@contextmanager
def prometheus(exposition: str, folder: Path) -> Iterator[str]:
    """Run Prometheus with the documented configuration, but for a scrape each second."""
    configuration, alerts = blocks("docs/monitoring.md", "yaml")
    target = exposition.removeprefix("http://").removesuffix("/metrics")
    often = "global: {scrape_interval: 1s, evaluation_interval: 1s}\n"
    (folder / "p.yml").write_text(often + configuration.replace("127.0.0.1:9464", target))
    (folder / "ostiary-alerts.yml").write_text(alerts)
    address = f"127.0.0.1:{free_port()}"
    options = {
        "config.file": folder / "p.yml",
        "storage.tsdb.path": folder / "data",
        "web.listen-address": address,
        "log.level": "error",
    }
    command = ["prometheus", *(f"--{name}={value}" for name, value in options.items())]
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        yield f"http://{address}"
    finally:
        process.kill()
        process.wait(30)


def ask(url: str, query: str) -> list[float]:
    """Return the values that a query has, as Grafana asks it."""
    found = get(url, "query", query=query.replace("$__rate_interval", "10s"))
    values = [float(result["value"][1]) for result in found.get("result", [])]
    return [value for value in values if not math.isnan(value)]


def evaluated_rules(url: str) -> list[dict[str, Any]]:
    """Return the alerts, once each has been evaluated."""
    groups = get(url, "rules").get("groups", [])
    rules = [rule for group in groups for rule in group["rules"]]
    return rules if all(rule["health"] != "unknown" for rule in rules) else []


def get(url: str, what: str, **params: str) -> dict[str, Any]:
    """Return data of Prometheus' API; nothing until it has started."""
    try:
        response = requests.get(f"{url}/api/v1/{what}", params=params, timeout=60)
    except requests.ConnectionError:
        return {}
    assert response.status_code in (200, 503), response.text
    return response.json()["data"] if response.status_code == 200 else {}
