"""docs/deployment.md, followed as it is printed: from the installation to the restored backup."""

import json
import re
import shutil
import sqlite3
import stat
import subprocess

import pytest
import requests
from sqlalchemy import URL, create_engine, make_url, text

from app.testing.apps import close
from tests.conftest import PASSWORD
from tests.drills.load import load
from tests.frontend.test_files import HASHED, NOT_HASHED
from tests.support.apps import build
from tests.support.documents import blocks
from tests.support.installation import ROOT
from tests.support.live import serve_app
from tests.support.machine import GUIDE, PORTS, PROXY, RELEASE_ROUTE, SERVICE, Machine
from tests.support.programs import require
from tests.support.releases import start

pytestmark = pytest.mark.live

ROWS = 'SELECT id, title, "desc", is_complete, created, owner_id FROM todos ORDER BY id'
TODOS = [{"title": "a"}, {"title": "b"}]
# Almost as long as a request line may be.
LONG_FILTER = json.dumps({"where": {"title": {"neq": "x" * 15_500}}, "order": "title", "limit": 1})
DATABASES = ["ostiary", "ostiary_before", "restored"]
FIRST, SECOND = ({"VERSION": name, "REPOSITORY": "code"} for name in "12")
BROWSER = {"Accept": "text/html"}
NAMES = [*HASHED, *NOT_HASHED]
NEITHER = [
    *(("GET", path) for path in ("/.env", "/main.3f2a1c.js.map", "/absent.js", "/outside.txt")),
    *(("GET", path) for path in ("/api/absent", "/explorer/absent", "/health/absent")),
    *(("POST", path) for path in ("/", "/main.3f2a1c.js", "/books")),
]
# What nginx and the service say of a file; the former compresses those of some types.
HEADERS = [
    *("Cache-Control", "Content-Security-Policy", "Content-Type", "Referrer-Policy"),
    "X-Content-Type-Options",
]


@pytest.fixture
def server(postgres_url):
    """A PostgreSQL server without the databases of the guide, as a URL."""
    engine = create_engine(postgres_url, isolation_level="AUTOCOMMIT")
    yield make_url(postgres_url)
    with engine.connect() as connection:
        for name in DATABASES:
            connection.execute(text(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)"))
    engine.dispose()


@pytest.fixture
def machine(tmp_path, server):
    for program in ("curl", "nginx", "pg_dump"):
        require(program)
    machine = Machine(tmp_path, server)
    yield machine
    machine.stop()


# It starts the service six times.
@pytest.mark.timeout(600)
def test_the_guide_leads_to_a_service_that_is_upgraded_and_restored(machine, monkeypatch):
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(machine.authority))

    install(machine)
    check(machine)
    check_proxy(machine)
    check_front_end(machine)
    prepare_upgrade(machine)
    with load(machine.address, clients=1) as clients:
        clients.goes_on()
        upgrade(machine)
        clients.goes_on()
        before = set(clients.titles("acknowledged"))
        machine.run("Backup of PostgreSQL", 0)
        clients.goes_on()

    assert [clients.count(outcome) for outcome in ("unanswered", "refused", "wrong")] == [0, 0, 0]
    restore(machine, before)


def install(machine):
    """Follow the guide until the service runs."""
    machine.run("The machine")
    machine.write_files(*SERVICE, PROXY)
    for name in (*HASHED, *NOT_HASHED):
        machine.write(f"repository/public/{name}", name)
    machine.run("A release", **FIRST)
    machine.run("Settings", -2)
    machine.run("Settings", **FIRST, ADMIN_PASSWORD=PASSWORD)
    machine.run("systemd")
    machine.run("nginx")


def check(machine):
    stated, printed = machine.run("Checks", ADMIN_PASSWORD=PASSWORD)
    assert printed == stated
    assert len(stated) == 5


def check_proxy(machine):
    """Send requests through nginx that it must pass on, change or refuse."""
    plain = f"http://127.0.0.1:{machine.ports['80']}"
    moved = requests.post(f"{plain}/api/users?a=b", timeout=60, allow_redirects=False)
    assert moved.status_code == 308
    assert moved.headers["Location"] == "https://ostiary.example.com/api/users?a=b"

    credentials = {"email": "root@example.com", "password": PASSWORD}
    answer = requests.post(f"{machine.address}/api/users/login", json=credentials, timeout=60)
    token = answer.json()["id"]
    login = {"Authorization": token}
    spoofed = {f"X-Forwarded-{name}": "192.0.2.66" for name in ("For", "Host", "Proto", "Prefix")}
    answer = requests.get(
        f"{machine.address}/api/todos",
        {"access_token": token, "a": "x" * 16000},
        headers=spoofed,
        timeout=60,
    )
    large = requests.post(f"{machine.address}/api/users", data="x" * 200_000, timeout=60)
    requests.post(f"{machine.address}/api/todos", json=TODOS, headers=login, timeout=60)
    page = requests.get(
        f"{machine.address}/api/todos", {"filter": LONG_FILTER}, headers=login, timeout=60
    )
    next_page = requests.get(machine.address + page.links["next"]["url"], headers=login, timeout=60)

    assert answer.status_code == 200
    assert answer.headers["Strict-Transport-Security"] == "max-age=31536000"
    assert [page.json()[0]["title"], next_page.json()[0]["title"]] == ["a", "b"]
    assert (large.status_code, large.json()["error"]["code"]) == (413, "PAYLOAD_TOO_LARGE")
    logs = [
        *machine.folder.glob("etc/systemd/system/*.log"),
        *machine.folder.glob("var/log/nginx/*"),
    ]
    logged = "\n".join(path.read_text() for path in logs)
    assert '"address": "127.0.0.1"' in logged
    assert '"GET /api/todos" 200' in logged
    assert answer.headers["X-Request-Id"] in logged
    assert "192.0.2.66" not in logged
    assert token not in logged


def check_front_end(machine):
    """Compare what nginx and the service answer for files; look for what neither may send."""
    outside = machine.folder / "srv/ostiary/1/public/outside.txt"
    outside.symlink_to(machine.folder / "etc/ostiary/ostiary.env")
    service = f"http://127.0.0.1:{machine.ports['3000']}"
    client = requests.Session()
    for path in ("/", "/docs", "/main.3f2a1c.js", "/module.mjs", *map("/{}".format, NAMES)):
        sent, own = (client.get(f"{url}{path}", timeout=60) for url in (machine.address, service))

        assert (sent.status_code, sent.text) == (200, own.text)
        assert [sent.headers[name].lower() for name in HEADERS] == [
            own.headers[name].lower().replace("text/javascript", javascript(path))
            for name in HEADERS
        ], path
        assert sent.headers["Strict-Transport-Security"]
    script = client.get(f"{machine.address}/main.3f2a1c.js", timeout=60)
    page = client.get(f"{machine.address}/books/7", headers=BROWSER, timeout=60)
    api = client.get(f"{machine.address}/api/openapi.json", timeout=60)
    again = {"If-None-Match": script.headers["ETag"]}
    kept = client.get(f"{machine.address}/main.3f2a1c.js", headers=again, timeout=60)
    absent = [
        client.request(method, f"{machine.address}{path}", headers=BROWSER, timeout=60)
        for method, path in NEITHER
    ]
    root = client.get(machine.address, timeout=60)
    client.close()

    assert kept.status_code == 304
    assert page.text == root.text
    assert [answer.headers.get("Content-Encoding") for answer in (script, page, api)] == [
        *("gzip", None, None)
    ]
    assert {answer.json()["status"] for answer in absent} == {404}


def javascript(path):
    """Return the type of a script by nginx, of the two that mean the same."""
    return "application/javascript" if path.endswith(".js") else "text/javascript"


def prepare_upgrade(machine):
    """Make another release, which says so, and switch metrics on from the next restart."""
    machine.run("Metrics")
    machine.write("repository/project.py", RELEASE_ROUTE)
    machine.run("A release", **SECOND)


def upgrade(machine):
    """Serve the other release."""
    instances = [f"http://127.0.0.1:{machine.ports[name]}/release" for name in PORTS[:2]]
    metrics = [f"http://127.0.0.1:{machine.ports[name]}/metrics" for name in PORTS[2:]]
    before = [requests.get(url, timeout=60).status_code for url in instances]

    machine.run("Upgrade", **SECOND)

    after = [requests.get(url, timeout=60).status_code for url in [*instances, *metrics]]
    assert (before, after) == ([404, 404], [200, 200, 200, 200])


def restore(machine, acknowledged):
    """Restore the backup; compare it with the database that it was made of."""
    [backup] = (machine.folder / "var" / "backups" / "ostiary").iterdir()
    assert stat.S_IMODE(backup.stat().st_mode) == 0o600

    machine.run("Backup of PostgreSQL", 1, BACKUP=str(backup))

    check(machine)
    compare(*(rows(machine.database.set(database=name)) for name in DATABASES[:2]), acknowledged)


def rows(url):
    engine = create_engine(url)
    with engine.connect() as connection:
        found = [tuple(row) for row in connection.execute(text(ROWS))]
    engine.dispose()
    return found


def compare(restored, before, acknowledged):
    titles = [title for _, title, *_ in before]
    assert len(titles) == len(set(titles))
    assert set(restored) <= set(before)
    assert acknowledged <= {title for _, title, *_ in restored}
    assert len(restored) < len(before)


def test_a_backup_of_sqlite_is_restored(tmp_path, sqlite_template):
    machine = Machine(tmp_path, URL.create("sqlite"))
    machine.replace_program("systemctl", "exit 0")
    machine.run("The machine")
    path = tmp_path / "var" / "lib" / "ostiary" / "ostiary.sqlite"
    shutil.copy(sqlite_template, path)
    app = build(f"sqlite:///{path}", tmp_path)
    with serve_app(app) as address, load(address) as clients:
        clients.goes_on()
        acknowledged = set(clients.titles("acknowledged"))
        machine.run("Backup of SQLite", 0)
        clients.goes_on()
    close(app)
    [backup] = (tmp_path / "var" / "backups" / "ostiary").iterdir()

    machine.run("Backup of SQLite", 1, BACKUP=str(backup))

    assert {stat.S_IMODE(file.stat().st_mode) for file in (backup, path)} == {0o600}
    with sqlite3.connect(path) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    connection.close()
    compare(
        rows(f"sqlite:///{path}"), rows(f"sqlite:///{path.parent}/before/{path.name}"), acknowledged
    )


def test_another_role_acts_as_the_owner(server):
    """The statements for a new password, on a server that lets everybody in."""
    engine = create_engine(server, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.exec_driver_sql(blocks(GUIDE, "sql")[0])
    member = create_engine(server.set(username="ostiary_2", password="the new one"))

    with member.connect() as connection:
        found = connection.execute(text("SELECT session_user, current_user")).one()
    member.dispose()
    with engine.connect() as connection:
        connection.execute(text("DROP ROLE ostiary_2"))
    engine.dispose()

    assert found == ("ostiary_2", "ostiary")


def test_systemd_accepts_the_unit_and_finds_it_restricted(tmp_path):
    require("systemd-analyze")
    path = tmp_path / "ostiary@3000.service"
    unit = blocks(GUIDE, "ini", "systemd")[0]
    path.write_text(unit.replace("/srv/ostiary/current/.venv/bin/ostiary", "/bin/true"))

    # The user does not exist here.
    rating = analyze("security", "--offline=true", "--threshold=20", path)
    path.write_text(path.read_text().replace("User=ostiary", "User=root"))
    verified = analyze("verify", path)

    assert rating.returncode == 0, rating.stdout
    assert (verified.returncode, verified.stderr) == (0, "")


def analyze(*arguments):
    command = ["systemd-analyze", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_image_starts_and_checks_the_installed_wheel(installed, tmp_path):
    """Execute what the Dockerfile starts and checks; nothing here can build it."""
    dockerfile = (ROOT / "deploy" / "Dockerfile").read_text()
    [check] = re.findall(r"^HEALTHCHECK .* CMD (.*)$", dockerfile, re.MULTILINE)
    [command] = re.findall(r"^CMD (.*)$", dockerfile, re.MULTILINE)
    state = tmp_path / "state"
    state.mkdir()

    def check_health(port):
        return subprocess.run(
            ["sh", "-c", check.replace(":3000", f":{port}")],
            env=installed.variables(),
            capture_output=True,
            check=False,
        ).returncode

    assert json.loads(command) == ["ostiary", "run"]
    with start(installed, "run", state, INSTANCE_PATH=str(state)) as server:
        server.wait_for("/ready")
        assert check_health(server.url.rpartition(":")[2]) == 0
    assert check_health(1) == 1


def test_the_image_is_installed_with_the_versions_that_make_installs():
    text = (ROOT / "deploy" / "Dockerfile").read_text()

    installed = re.search(r"pip install .*(-c .*)$", text, re.MULTILINE)[1]

    assert installed == '-c requirements.txt "$(echo ostiary-*.whl)[postgres,metrics]"'
    assert "-c requirements.txt\n" in (ROOT / "Makefile").read_text()
