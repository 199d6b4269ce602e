"""The connection pool is as large as a process needs: nobody waits for a connection."""

from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest
from sqlalchemy import create_engine, event, text

from app.database.session import db
from app.datasources.sources import call_remote, limit_calls
from app.outbox.delivery import drain
from tests.conftest import NEW, PASSWORD, Api
from tests.mail.resets import LINK
from tests.support.waiting import eventually

THREADS = 3
ONE_CONNECTION = {"pool_size": 1, "max_overflow": 0, "pool_timeout": 0}
NO_WAITING = {"pool_timeout": 0}


@pytest.fixture
def database_url(postgres_url):
    return postgres_url


def test_a_request_takes_one_connection_at_a_time(make_app, secrets, tmp_path):
    app = make_app(
        SQLALCHEMY_ENGINE_OPTIONS=ONE_CONNECTION,
        OUTBOX_IN_PROCESS=False,
        THROTTLE_ENABLED=True,
        TOKEN_SLIDING=True,
        TOKEN_TOUCH_INTERVAL=0,
        EMAIL_VERIFICATION="optional",
        THROTTLES={"login_identity": {"limit": 1, "seconds": 60}},
    )
    api = Api(app.test_client(), secrets)

    def call(status, *arguments, **options):
        response = api(*arguments, **options)
        assert response.status_code == status, response.json
        return response.json

    token = api.newcomer()
    wrong = {"email": "bob@example.com", "password": "wrong"}
    call(401, "POST", "/users/login", wrong)
    call(429, "POST", "/users/login", wrong)
    call(200, "GET", "/users/1", token=token)
    call(200, "POST", "/todos", {"title": "x"}, token=token)
    call(200, "POST", "/todos", [{"title": "x"}, {"title": "y"}], token=token)
    call(200, "GET", '/todos?filter={"include": "owner"}', token=token)
    call(200, "PATCH", "/todos/1", {"title": "z"}, token=token)
    call(200, "POST", '/todos/update?where={"title": "y"}', {"isComplete": True}, token=token)
    call(200, "PATCH", "/users/1", {"email": "eve@example.com"}, token=token)
    call(204, "POST", "/users/1/verify", token=token)
    call(200, "POST", "/users/reset", {"email": "eve@example.com"})
    drain(app)
    mails = [path.read_text() for path in (tmp_path / "mail").glob("*.eml")]
    [reset] = [found[2] for mail in mails if (found := LINK.search(mail))]
    api.secrets.append(reset)
    call(204, "POST", "/users/reset-password", {"newPassword": NEW}, token=reset)
    token = call(200, "POST", "/users/login", {"email": "eve@example.com", "password": NEW})["id"]
    api.secrets.append(token)
    passwords = {"oldPassword": NEW, "newPassword": PASSWORD}
    call(204, "POST", "/users/change-password", passwords, token=token)
    assert api.client.get("/ready").status_code == 200
    call(200, "DELETE", "/users/1", token=token)


@pytest.fixture
def checkouts(app):
    """The connections that are taken from the pool."""
    taken = []
    with app.app_context():
        engine = db.engine
    listen = event.listens_for(engine, "checkout")(lambda connection, *_: taken.append(connection))
    yield taken
    event.remove(engine, "checkout", listen)


def test_the_statements_of_a_request_take_one_connection(app, api, token, checkouts):
    for path in ("/users/1", "/todos/1", '/todos?filter={"limit": 1}', "/todos"):
        # A list's statement is prepared when it is executed again.
        for _ in range(3):
            checkouts.clear()
            api("GET", path, token=token)

        assert len(checkouts) == 1, path
    with app.app_context():
        assert db.engine.pool.checkedout() == 0


def test_a_call_of_a_data_source_holds_no_connection(make_app, secrets):
    app = make_app(AUDIT_DAYS=None)
    limit_calls(app)
    token = Api(app.test_client(), secrets).newcomer()

    with app.test_request_context(headers={"Authorization": token}):
        app.preprocess_request()
        pool = db.engine.pool
        assert (pool.checkedout(), call_remote("remote", "call", pool.checkedout)) == (1, 0)


def test_threads_outbox_jobs_and_metrics_have_a_connection_each(
    make_app, api, token, database_url, tmp_path
):
    """While threads, jobs and metrics hold a connection each, the outbox sends a mail."""
    app = make_app(
        THREADS=THREADS,
        SQLALCHEMY_ENGINE_OPTIONS=NO_WAITING,
        OUTBOX_IN_PROCESS=False,
        STATEMENT_TIMEOUT=60,
    )
    app.test_client().post("/api/users/reset", json={"email": "ada@example.com"})
    engine = create_engine(database_url)
    with engine.connect() as locked, ThreadPoolExecutor(THREADS) as pool, app.app_context():
        locked.execute(text("LOCK TABLE todos IN ACCESS EXCLUSIVE MODE"))
        get = partial(app.test_client().get, "/api/todos", headers={"Authorization": token})
        blocked = [pool.submit(get) for _ in range(THREADS)]
        eventually(lambda: db.engine.pool.checkedout() == THREADS)
        with db.engine.connect(), db.engine.connect():
            outcomes = drain(app)
        locked.close()
        statuses = [each.result().status_code for each in blocked]
    engine.dispose()

    [mail] = (tmp_path / "mail").glob("*.eml")
    api.secrets.append(LINK.search(mail.read_text())[2])
    assert outcomes == {"delivered": 1}
    assert statuses == [200] * THREADS
