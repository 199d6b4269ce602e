"""Two hosts, a balancer and a database, as docs/deployment.md prints them."""

import re
import shutil

import psycopg
import pytest
import requests
import trustme
from sqlalchemy import URL

from tests.drills.load import load
from tests.support.documents import blocks
from tests.support.machine import GUIDE, PROXY, RELEASE_ROUTE, SERVICE, SETTINGS, Machine
from tests.support.ports import free_port
from tests.support.postgres import cluster
from tests.support.programs import require

pytestmark = pytest.mark.live

DATABASE, HOSTS, BALANCER, UPGRADE = (
    *("The database", "The hosts of the service", "The balancer", "An upgrade of both"),
)
FIRST, SECOND = ({"VERSION": name, "REPOSITORY": "code"} for name in "12")
AUTHORITY = "etc/ssl/certs/ostiary-database.pem"
PASSWORD = "secret"


@pytest.fixture
def authority():
    return trustme.CA()


@pytest.fixture
def database(authority):
    """A PostgreSQL server with the settings that the guide prints, as a URL of its superuser."""
    with cluster() as server:
        server.create("postgres")
        port = free_port()
        server.start(**database_settings(server, authority), port=str(port))
        yield URL.create("postgresql", "postgres", port=port, query={"host": str(server.folder)})


def database_settings(server, authority):
    """Write the printed list of who may connect; return the printed settings."""
    certificate = authority.issue_cert("db.example.com")
    chain = server.folder / "server.crt"
    certificate.cert_chain_pems[0].write_to_path(str(chain))
    key = server.folder / "server.key"
    certificate.private_key_pem.write_to_path(str(key))
    key.chmod(0o600)
    for path in (chain, key):
        if server.user:
            shutil.chown(path, server.user)
    printed, allowed, *_ = blocks(GUIDE, "text", DATABASE)
    # The address of every client here.
    allowed = allowed.replace("10.0.0.11", "127.0.0.1").replace("10.0.0.12", "127.0.0.1")
    (server.data / "pg_hba.conf").write_text(f"local all all trust\n{allowed}")
    printed = printed.replace("/etc/postgresql", str(server.folder)).replace("10.0.0", "127.0.0")
    return dict(re.findall(r"^(\w+) = '?(.*?)'?$", printed, re.M))


@pytest.fixture
def hosts(tmp_path, database, authority):
    """The machines of the guide by their names; what they share is the database."""
    for program in ("curl", "nginx"):
        require(program)
    first = Machine(tmp_path / "app1", database)
    names = ("app2", "balancer", "db")
    hosts = {name: Machine(tmp_path / name, database, first.ports) for name in names}
    hosts["app1"] = first
    hosts["db"].replace_program("systemctl", "exit 0")
    for name in ("app1", "app2"):
        authority.cert_pem.write_to_path(str(hosts[name].folder / AUTHORITY))
    yield hosts
    for host in hosts.values():
        host.stop()


def test_two_hosts_are_installed_and_upgraded(hosts, database, monkeypatch):
    app1, balancer = hosts["app1"], hosts["balancer"]
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(balancer.authority))

    hosts["db"].run(DATABASE, DATABASE_PASSWORD=PASSWORD)
    for name, address in {"app1": "10.0.0.11", "app2": "10.0.0.12"}.items():
        prepare(hosts[name], address)
    app1.run("A release", **FIRST)
    stated, printed = app1.run(HOSTS, **FIRST)
    write_upstream(balancer)
    app1.run(BALANCER, **FIRST)
    app1.write("repository/project.py", RELEASE_ROUTE)
    app1.run("A release", **SECOND)
    with load(balancer.address, clients=1) as clients:
        clients.goes_on()
        app1.run(UPGRADE, **SECOND)
        clients.goes_on()
        # A host fails.
        hosts["app2"].stop()
        clients.goes_on()

    assert stated == ["200"]
    assert printed == ["200", "200"]
    assert [clients.count(outcome) for outcome in ("unanswered", "refused", "wrong")] == [0, 0, 0]
    assert requests.get(f"{balancer.address}/release", timeout=60).text == "2"
    assert (balancer.folder / "srv/ostiary/current").readlink().name == "2"
    check_encryption(app1)


def prepare(host, address):
    """Follow the sections for one host of the service."""
    host.run("The machine")
    host.write_files(*SERVICE)
    settings = host.folder / SETTINGS[1:]
    own = host.localize(blocks(GUIDE, "sh", HOSTS)[0].replace("10.0.0.11", address))
    settings.write_text(re.sub(r"^DATABASE_URL=.*\n", own, settings.read_text(), flags=re.M))
    host.run("Settings", 2)


def write_upstream(balancer):
    """Write the configuration of nginx, with the instances on other hosts."""
    balancer.write_files(PROXY)
    path = balancer.folder / PROXY[1:]
    upstream = balancer.localize(blocks(GUIDE, "nginx", BALANCER)[0])
    text, count = re.subn(r"^upstream .*?^}\n", upstream, path.read_text(), flags=re.M | re.S)
    assert count == 1
    path.write_text(text)


def check_encryption(host):
    """Try to reach the database without TLS, and as if it had another name."""
    settings = (host.folder / SETTINGS[1:]).read_text()
    url = re.search(r"^DATABASE_URL='?postgresql\+psycopg(.*?)'?$", settings, re.M)[1]
    url = f"postgresql{url}"

    with psycopg.connect(url) as connection:
        encrypted = connection.execute("SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()")
        assert encrypted.fetchone() == (True,)
    for other, problem in [
        (url.replace("verify-full", "disable"), "no encryption"),
        (url.replace("db.example.com", "db.example.org"), "does not match host name"),
    ]:
        with pytest.raises(psycopg.OperationalError, match=problem):
            psycopg.connect(other)
