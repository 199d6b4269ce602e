"""Two realms with a database each behind one nginx, as docs/deployment.md prints them."""

import re
import shutil
from contextlib import ExitStack
from functools import partial

import pytest
import trustme
import urllib3
from sqlalchemy import URL

from app.testing.apps import close
from tests.conftest import PASSWORD
from tests.support.apps import build
from tests.support.documents import blocks
from tests.support.live import serve_app
from tests.support.machine import GUIDE, PROXY, SETTINGS, Machine
from tests.support.programs import require

pytestmark = pytest.mark.live

SECTION = "Several realms, each with a database of its own"
PORTS = ["3000", "3001"]
NAMES = ["brass.example.com", "wood.example.com"]
ADA = {"email": "ada@example.com", "password": PASSWORD}
# The commands note what they are called for; the instances are a part of the test.
PROGRAMS = {
    "createdb": 'echo "createdb ${{@: -1}}" >> {}/calls',
    "ostiary": 'echo "$* $DATABASE_URL" >> {}/calls',
    "systemctl": '[[ $2 = ostiary* ]] || exec {python} {manager} {}/etc/systemd/system "$@"',
}


@pytest.fixture
def machine(tmp_path):
    """A machine that follows the section, without PostgreSQL and a release."""
    require("nginx")
    machine = Machine(tmp_path, URL.create("sqlite"))
    for name, command in PROGRAMS.items():
        machine.replace_program(name, command)
    machine.write_files(SETTINGS, PROXY)
    for port, settings in zip(PORTS, blocks(GUIDE, "sh", SECTION)[:2], strict=True):
        machine.write(f"etc/ostiary/{machine.ports[port]}.env", settings)
    yield machine
    machine.stop()


@pytest.fixture
def realms(machine, sqlite_template):
    """The instances that the files of the section describe, on SQLite."""
    with ExitStack() as stack:
        for port in PORTS:
            path = machine.folder / f"{port}.sqlite"
            shutil.copy(sqlite_template, path)
            public_url = own_settings(machine, port)["APP_PUBLIC_URL"]
            app = build(f"sqlite:///{path}", machine.folder / "mail", PUBLIC_URL=public_url)
            stack.callback(close, app)
            stack.enter_context(serve_app(app, machine.ports[port]))
        yield


def own_settings(machine, port):
    """Return the variables that one instance alone has."""
    text = (machine.folder / f"etc/ostiary/{machine.ports[port]}.env").read_text()
    return dict(re.findall(r"^(\w+)='(.*)'$", text, re.MULTILINE))


def test_the_users_and_tokens_of_a_realm_are_unknown_to_the_other(machine, realms):
    authority = write_certificate(machine)
    write_upstreams(machine)
    machine.run(SECTION, 2)
    machine.run(SECTION, 3)
    brass, wood = (client(machine, authority, name) for name in NAMES)

    brass("POST", "/api/users", json=ADA)
    login = brass("POST", "/api/users/login", json=ADA)
    refused = wood("POST", "/api/users/login", json=ADA)
    user = wood("POST", "/api/users", json=ADA).json()
    token = {"Authorization": login.json()["id"]}
    opened = [call("GET", f"/api/users/{user['id']}", headers=token) for call in (brass, wood)]

    assert (login.status, refused.status) == (200, 401)
    assert user["id"] == login.json()["userId"]
    assert [answer.status for answer in opened] == [200, 401]
    with pytest.raises(urllib3.exceptions.SSLError):
        client(machine, authority, "ostiary.example.com")("GET", "/health")
    urls = [own_settings(machine, port)["DATABASE_URL"] for port in PORTS]
    assert (machine.folder / "calls").read_text().splitlines() == [
        *("createdb brass", "createdb wood"),
        *(f"db upgrade {url}" for url in urls),
    ]
    assert "DATABASE_URL" not in (machine.folder / SETTINGS[1:]).read_text()


def write_certificate(machine):
    """Replace the certificate of the guide by one for both names; return its authority's file."""
    authority = trustme.CA()
    certificate = authority.issue_cert(*NAMES)
    certificate.private_key_pem.write_to_path(f"{machine.folder}/etc/ssl/private/ostiary.key")
    chain = machine.folder / "etc/ssl/certs/ostiary.pem"
    chain.write_bytes(b"".join(pem.bytes() for pem in certificate.cert_chain_pems))
    authority.cert_pem.write_to_path(str(machine.authority))
    return machine.authority


def write_upstreams(machine):
    """Put the lines of the section where the guide has the instances of one database."""
    path = machine.folder / PROXY[1:]
    lines = machine.localize(blocks(GUIDE, "nginx", SECTION)[0])
    text, count = re.subn(
        r"^upstream .*?^}\n", lambda _: lines, path.read_text(), flags=re.M | re.S
    )
    assert count == 1
    path.write_text(text)


def client(machine, authority, name):
    """Return a function that calls the address of nginx by a name."""
    pool = urllib3.HTTPSConnectionPool(
        "127.0.0.1",
        machine.ports["443"],
        server_hostname=name,
        assert_hostname=name,
        ca_certs=str(authority),
        retries=False,
    )
    return partial(request, pool, name)


def request(pool, name, method, path, headers=None, **options):
    """Send a request to a name."""
    return pool.request(method, path, headers={"Host": name, **(headers or {})}, **options)
