"""The service behind PgBouncer in transaction mode: more clients than connections to the server."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import text

from app.database.session import db
from app.factory import create_app
from app.migrate.running import upgrade
from app.outbox.delivery import drain
from app.problems import ConfigurationError
from app.testing.apps import close
from app.todos.models import Todo
from tests.conftest import NEW, PASSWORD, Api, login_status
from tests.mail.resets import LINK
from tests.support.apps import build
from tests.support.databases import connected
from tests.support.documents import blocks
from tests.support.pgbouncer import pgbouncer
from tests.support.races import at_once
from tests.support.rows import count

pytestmark = pytest.mark.live

# Connections of PgBouncer to the server, and requests at once.
CONNECTIONS, CLIENTS = 2, 8
# More than a statement must be executed for the driver to prepare it.
REPEATED = 12


@pytest.fixture(scope="module")
def bouncer_url(postgres_database):
    """The database behind PgBouncer; the role has the time-outs, as the documentation says."""
    with connected(postgres_database.url) as connection:
        for statements in blocks("docs/postgresql.md", "sql", "PgBouncer"):
            connection.exec_driver_sql(statements.replace("ostiary", "CURRENT_USER"))
    with pgbouncer(postgres_database.url, CONNECTIONS) as url:
        yield url
    with connected(postgres_database.url) as connection:
        connection.execute(text("ALTER ROLE CURRENT_USER RESET ALL"))


@pytest.fixture
def database_url(postgres_url):
    return postgres_url


@pytest.fixture
def app(database_url, bouncer_url, tmp_path):
    settings = {"PGBOUNCER": True, "THROTTLE_ENABLED": True, "OUTBOX_IN_PROCESS": False}
    settings |= {"IDEMPOTENCY_TTL": 60}
    app = build(bouncer_url, tmp_path / "mail", THREADS=CLIENTS, **settings)
    yield app
    close(app)


def test_users_todos_and_resets_work(app, api, tmp_path):
    token = api.newcomer()
    for number in range(REPEATED):
        todo = api("POST", "/todos", {"title": f"{number}"}, token=token).json
        path = f"/todos/{todo['id']}"
        assert api("PATCH", path, {"isComplete": True}, token=token).json["isComplete"] is True
        assert api("GET", path, token=token).status_code == 200
    everything = [{"title": "a"}, {"title": "b"}]
    assert len(api("POST", "/todos", everything, token=token).json) == len(everything)
    filter_ = '{"where": {"title": {"like": "1%"}}, "order": "title DESC"}'
    found = api("GET", f"/todos?filter={filter_}", token=token).json
    assert [each["title"] for each in found] == ["11", "10", "1"]

    api("POST", "/users/reset", {"email": "ada@example.com"})
    drain(app)
    [mail] = (tmp_path / "mail").glob("*.eml")
    reset = LINK.search(mail.read_text())[2]
    api.secrets.append(reset)
    changed = api("POST", "/users/reset-password", {"newPassword": NEW}, token=reset)

    assert changed.status_code == 204
    assert [login_status(api, password) for password in (NEW, PASSWORD)] == [200, 401]
    assert api("GET", "/todos", token=token).status_code == 401


def test_a_transaction_is_whole(app, api):
    token = api.newcomer()

    def create_array(number):
        """Two titles, of which every other array has a wrong one."""
        titles = [f"{number}", "" if number % 2 else "second"]
        return Api(app.test_client(), api.secrets)(
            "POST", "/todos", [{"title": title} for title in titles], token=token
        ).status_code

    with ThreadPoolExecutor(CLIENTS) as pool:
        statuses = list(pool.map(create_array, range(CLIENTS * 3)))

    assert statuses == [200, 422] * (CLIENTS * 3 // 2)
    assert count(app, Todo) == statuses.count(200) * 2


def test_a_race_has_one_winner(app):
    body = {"email": "ada@example.com", "password": PASSWORD}

    answers = at_once(app, *[lambda client: client.post("/api/users", json=body)] * CLIENTS)

    assert sorted(answer.status_code for answer in answers) == [200] + [422] * (CLIENTS - 1)


def test_a_request_with_a_key_is_done_once(app, api):
    headers = {"Idempotency-Key": "k", "Authorization": api.newcomer()}
    todo = {"title": "once"}

    answers = at_once(
        app,
        *[lambda client: client.post("/api/todos", json=todo, headers=headers)] * CLIENTS,
    )

    assert {answer.status_code for answer in answers} <= {200, 409}
    assert count(app, Todo) == 1
    assert api("POST", "/todos", todo, headers=headers).headers["Idempotency-Replayed"] == "true"


def test_no_more_logins_pass_than_the_throttle_allows(app, api):
    api.register()
    body = {"email": "ada@example.com", "password": "wrong"}

    answers = at_once(app, *[lambda client: client.post("/api/users/login", json=body)] * CLIENTS)

    assert sorted(answer.status_code for answer in answers) == [401] * 5 + [429] * (CLIENTS - 5)


def test_each_mail_is_claimed_once(app, api, bouncer_url, tmp_path):
    everyone = [f"user{number}@example.com" for number in range(CLIENTS)]
    for email in everyone:
        api.register(email)
    others = [
        build(bouncer_url, tmp_path / "mail", PGBOUNCER=True, OUTBOX_IN_PROCESS=False)
        for _ in range(CONNECTIONS + 1)
    ]
    for email in everyone:
        assert api("POST", "/users/reset", {"email": email}).status_code == 200

    with ThreadPoolExecutor(len(others)) as pool:
        delivered = sum(each["delivered"] for each in pool.map(drain, others))
    for each in others:
        close(each)

    mails = [path.read_text() for path in (tmp_path / "mail").glob("*.eml")]
    api.secrets.extend(LINK.search(mail)[2] for mail in mails)
    assert delivered == len(mails) == len(everyone)


def test_migrations_work_and_leave_no_setting_behind(app, bouncer_url):
    with app.app_context():
        upgrade()
        with db.engine.connect() as connection:
            found = [connection.scalar(text("SHOW statement_timeout")) for _ in range(CONNECTIONS)]

    assert set(found) == {"5s"}


def test_without_its_setting_the_start_fails_and_names_it(bouncer_url, tmp_path):
    with pytest.raises(ConfigurationError, match="for PgBouncer set PGBOUNCER"):
        create_app({"SQLALCHEMY_DATABASE_URI": bouncer_url, "MAIL_FOLDER": str(tmp_path)})
