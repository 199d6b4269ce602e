"""A proxy that takes a standby for the primary: it is refused, as it may lack what was written."""

import os
import signal
from contextlib import ExitStack, contextmanager

import pytest
from sqlalchemy import make_url, text

from app.database import libpq
from app.database.session import db
from app.database.standbys import group
from app.database.standbys.reader import standbys
from app.factory import create_app
from app.problems import ConfigurationError
from app.testing.apps import close
from tests.conftest import Api
from tests.support.apps import build
from tests.support.databases import connected, migrate
from tests.support.pgbouncer import pgbouncer
from tests.support.postgres import cluster
from tests.support.postgres_proxy import counted
from tests.support.waiting import eventually

pytestmark = pytest.mark.live

TODO = {"title": "x"}
READS = ("/todos/{id}", "/todos", "/todos/count", "/todos/{id}/exists", "/users/{user}")


def execute(server, sql):
    with connected(server.url) as connection:
        connection.execute(text(sql))


def ask(server, sql):
    with connected(server.url) as connection:
        return connection.execute(text(sql)).scalar_one()


@contextmanager
def two_servers(folder):
    """Yield a primary, and a standby that replays nothing of what follows."""
    with cluster() as primary, cluster() as standby:
        primary.create()
        primary.start()
        migrate(primary.url, folder)
        standby.follow(primary)
        standby.start()
        execute(standby, "SELECT pg_wal_replay_pause()")
        yield primary, standby


@pytest.fixture(scope="module")
def servers(tmp_path_factory):
    """A primary and its standby, which keep their roles."""
    with two_servers(tmp_path_factory.mktemp("servers")) as servers:
        yield servers


@pytest.fixture
def switching(tmp_path):
    """A primary and its standby, of which each may become the other."""
    with two_servers(tmp_path) as servers:
        yield servers


@pytest.fixture
def start(tmp_path):
    with ExitStack() as apps:

        def start(url, **settings):
            app = build(url, tmp_path, **settings)
            apps.callback(close, app)
            return app

        yield start


def lose_connections(app):
    with app.app_context():
        db.engine.dispose()


def statuses(api, token, user, todo):
    answers = [api("GET", path.format(id=todo, user=user), token=token) for path in READS]
    return {answer.status_code for answer in answers}


@pytest.fixture
def proxy(servers):
    """What stands between the service and its server, as HAProxy does."""
    with counted(servers[0].url) as proxy:
        yield proxy


def test_a_new_connection_to_a_standby_is_503_and_no_wrong_answer(servers, proxy, start, secrets):
    primary, standby = servers
    app = start(proxy.url)
    api = Api(app.test_client(), secrets)
    token = api.newcomer("behind@example.com")
    todo = api("POST", "/todos", TODO, token=token).json
    ids = todo["ownerId"], todo["id"]

    proxy.target = standby.url
    lose_connections(app)
    refused = api("GET", f"/todos/{todo['id']}", token=token)
    behind = statuses(api, token, *ids)
    ready = app.test_client().get("/ready").status_code
    proxy.target = primary.url

    assert (refused.status_code, refused.headers["Retry-After"]) == (503, "5")
    assert (behind, ready) == ({503}, 503)
    assert statuses(api, token, *ids) == {200}


def switch_over(primary, standby):
    """Let both change their roles, as Patroni does; the one that is a standby now falls behind."""
    execute(standby, "SELECT pg_wal_replay_resume()")
    primary.stop("fast")
    standby.promote()
    primary.become_standby(standby)
    primary.start()
    execute(primary, "SELECT pg_wal_replay_pause()")


def test_the_last_primary_is_refused_when_it_has_become_a_standby(switching, start, secrets):
    primary, standby = switching
    with counted(primary.url) as proxy:
        app = start(proxy.url)
        api = Api(app.test_client(), secrets)
        token = api.newcomer()
        before = api("POST", "/todos", TODO, token=token).json

        # The connections that are open end with the server.
        switch_over(primary, standby)
        taken_for_primary = api("GET", f"/todos/{before['id']}", token=token)
        proxy.target = standby.url
        todo = api("POST", "/todos", TODO, token=token).json
        proxy.target = primary.url
        lose_connections(app)
        behind = statuses(api, token, todo["ownerId"], todo["id"])

    assert (taken_for_primary.status_code, behind) == (503, {503})


def test_a_standby_that_is_refused_as_the_primary_is_asked_as_a_standby(servers, proxy, start):
    primary, standby = servers
    app = start(proxy.url, READ_DATABASE_URL=standby.url, READ_MAX_LAG=60)
    members = standbys.of(app)
    execute(standby, "SELECT pg_wal_replay_resume()")
    execute(primary, "SELECT pg_switch_wal()")
    eventually(lambda: members.look() or members.in_use)
    execute(standby, "SELECT pg_wal_replay_pause()")
    in_use = members.in_use

    proxy.target = standby.url
    lose_connections(app)
    members.look()

    assert (in_use, members.in_use) == (1, 1)
    assert app.test_client().get("/ready").status_code == 503


def test_a_standby_that_has_come_further_than_the_new_primary_is_not_asked(
    tmp_path, start, secrets, monkeypatch
):
    """It has received what the last primary sent to it alone, and does not follow the new one."""
    monkeypatch.setattr(group.Standbys, "_start", lambda self: None)
    with two_servers(tmp_path) as (primary, further), cluster() as new:
        new.follow(primary)
        new.start()
        execute(further, "SELECT pg_wal_replay_resume()")
        frozen = new.freeze()
        execute(
            primary, "CREATE TABLE lost AS SELECT repeat('x', 1000) FROM generate_series(1, 999)"
        )
        eventually(lambda: ask(further, "SELECT to_regclass('lost') IS NOT NULL"))
        primary.kill()
        for pid in frozen:
            os.kill(pid, signal.SIGCONT)
        new.promote()
        app = start(new.url, READ_DATABASE_URL=further.url, READ_MAX_LAG=60)
        api = Api(app.test_client(), secrets)
        standbys.of(app).look()
        token = api.newcomer()
        todo = api("POST", "/todos", TODO, token=token).json
        standbys.of(app).look()

        assert statuses(api, token, todo["ownerId"], todo["id"]) == {200}
        assert standbys.of(app).in_use == 0


def test_of_several_hosts_the_standby_is_passed_over(servers, start, secrets):
    primary, standby = servers
    hosts = [f"{server.folder}:5432" for server in (standby, primary)]
    url = make_url(primary.url).set(query={"host": hosts}).render_as_string(hide_password=False)

    api = Api(start(url).test_client(), secrets)

    assert api("POST", "/todos", TODO, token=api.newcomer("hosts@example.com")).status_code == 200


def test_a_standby_alone_stops_the_start(servers, tmp_path):
    settings = {"SQLALCHEMY_DATABASE_URI": servers[1].url, "MAIL_FOLDER": str(tmp_path)}

    with pytest.raises(ConfigurationError, match="the server is a standby, and not the primary"):
        create_app(settings)


def test_pgbouncer_keeps_no_connection_to_a_standby(switching, start, secrets, monkeypatch):
    """What the service has open to PgBouncer stays open when the server behind it is another."""
    monkeypatch.setattr(libpq, "GRACE", 0.3)
    primary, standby = switching
    execute(primary, "ALTER ROLE CURRENT_USER SET statement_timeout = '1s'")
    with pgbouncer(primary.url, 2) as url:
        app = start(url, PGBOUNCER=True, STATEMENT_TIMEOUT=1)
        api = Api(app.test_client(), secrets)
        token = api.newcomer()
        todo = api("POST", "/todos", TODO, token=token).json
        ids = todo["ownerId"], todo["id"]

        switch_over(primary, standby)
        behind = statuses(api, token, *ids)
        # The one at this address is the primary again.
        primary.promote()
        eventually(lambda: statuses(api, token, *ids) == {200})

    assert behind == {503}
