"""The page of a front end, for the paths that it knows, and the API beside it."""

import shutil

import pytest

from app.problems import ConfigurationError
from tests.conftest import PASSWORD
from tests.support.documents import blocks
from tests.support.live import serve_app

from .conftest import PAGE, POLICY, Client

GUIDE = "docs/frontend.md"
BROWSER = {"Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"}

# Paths that are never the front end's, though a browser asks for a page.
ELSEWHERE = [
    *("/api/absent", "/api/absent/", "/api/users/1/absent", "/API-absent.js", "/api//absent"),
    *("/explorer/absent", "/auth", "/auth/absent", "/reset-password/a", "/confirm-email/a"),
    *("/health/a", "/ready/a", "/metrics", "/metrics/a", "/.well-known/change-password"),
    *("/absent.html", "/books/7.json", "/books/.env"),
]
OTHER_METHODS = [
    ("POST", "/", 404),
    ("POST", "/books", 404),
    ("PUT", "/main.3f2a1c.js", 404),
    ("DELETE", "/index.html", 404),
    ("OPTIONS", "/books", 404),
    ("POST", "/health", 405),
]


@pytest.mark.parametrize("path", ["/", "/books", "/books/7/loans/", "/apiary", "/?a=b", "/healthy"])
def test_a_browser_gets_the_page(client, path):
    answer = client.get(path, headers=BROWSER)

    assert (answer.status_code, answer.text) == (200, PAGE)
    assert answer.headers["Content-Type"] == "text/html; charset=utf-8"
    assert answer.headers["Cache-Control"] == "no-cache"
    assert client.head(path, headers=BROWSER).status_code == 200


@pytest.mark.parametrize("accepted", ["*/*", "application/json", None])
def test_others_get_the_page_at_the_root_alone(client, accepted):
    headers = {"Accept": accepted} if accepted else {}

    assert client.get("/", headers=headers).text == PAGE
    assert client.get("/books", headers=headers).json["error"]["code"] == "NOT_FOUND"


def test_caches_keep_the_page_and_the_error_apart(client):
    assert client.get("/books", headers=BROWSER).headers["Vary"] == "Accept"
    assert "Vary" not in client.get("/", headers=BROWSER).headers


def test_an_unknown_path_elsewhere_stays_an_error(client):
    for path in ELSEWHERE:
        answer = client.get(path, headers=BROWSER)

        assert (answer.status_code, answer.json["error"]["code"]) == (404, "NOT_FOUND"), path


def test_routes_go_before_files(client):
    for path, status in {"/api": 200, "/api/todos": 401, "/health": 200, "/explorer": 200}.items():
        answer = client.get(path, headers=BROWSER)

        assert answer.status_code == status
        assert answer.text != "hidden"


def test_other_methods_are_not_for_files(client):
    for method, path, status in OTHER_METHODS:
        answer = client.open(path, method=method, headers=BROWSER)

        assert (answer.status_code, answer.json["status"]) == (status, status), path


def test_routes_of_the_application_go_before_the_page(make_app, site):
    app = make_app(STATIC_FOLDER=str(site))

    def label(number):
        return f"label {number}"

    def card(name):
        return f"card of {name}"

    app.add_url_rule("/labels/<int:number>", view_func=label)
    app.add_url_rule("/<name>/card", view_func=card)
    client = Client(app, app.response_class)

    texts = [client.get(path, headers=BROWSER).text for path in ("/labels/7", "/ada/card")]
    absent = client.get("/labels/none", headers=BROWSER)

    assert texts == ["label 7", "card of ada"]
    assert (absent.status_code, absent.json["status"]) == (404, 404)
    assert client.get("/ada", headers=BROWSER).text == PAGE


def test_without_the_setting_nothing_is_served(shared_app):
    client = shared_app().test_client()

    assert client.get("/", headers=BROWSER).json.keys() == {"started", "uptime"}
    assert client.get("/books", headers=BROWSER).status_code == 404


@pytest.mark.parametrize(("policy", "sent"), [(POLICY, POLICY), (None, None)])
def test_the_policy_is_a_setting(shared_app, site, policy, sent):
    app = shared_app(STATIC_FOLDER=str(site), STATIC_POLICY=policy)
    client = Client(app, app.response_class)

    assert client.get("/").headers.get("Content-Security-Policy") == sent
    assert "Content-Security-Policy" not in client.get("/api").headers


def test_a_folder_may_be_a_link_that_is_changed(make_app, site, tmp_path):
    """As a deployment of the front end alone does."""
    second = shutil.copytree(site, tmp_path / "second", symlinks=True)
    (second / "index.html").write_text("another")
    (tmp_path / "current").symlink_to(site)
    app = make_app(STATIC_FOLDER=str(tmp_path / "current"))
    client = Client(app, app.response_class)

    before = client.get("/").text
    (tmp_path / "current").unlink()
    (tmp_path / "current").symlink_to(second)

    assert [before, client.get("/").text] == [PAGE, "another"]


def test_a_folder_with_the_project_in_it_stops_the_start(make_app, tmp_path, monkeypatch):
    monkeypatch.setenv("INSTANCE_PATH", str(tmp_path))

    for folder in (".", "..", str(tmp_path)):
        with pytest.raises(ConfigurationError, match="STATIC_FOLDER has the whole project in it"):
            make_app(STATIC_FOLDER=folder)
    with pytest.raises(ConfigurationError, match="STATIC_FOLDER cannot be used"):
        make_app(STATIC_FOLDER="")


def test_a_folder_may_be_built_later(make_app, tmp_path, monkeypatch, caplog):
    monkeypatch.setenv("INSTANCE_PATH", str(tmp_path))
    app = make_app(STATIC_FOLDER="public")
    client = Client(app, app.response_class)

    before = client.get("/", headers=BROWSER)
    (tmp_path / "public").mkdir()
    (tmp_path / "public" / "index.html").write_text(PAGE)

    assert before.json["error"]["code"] == "NOT_FOUND"
    assert client.get("/", headers=BROWSER).text == PAGE
    assert f"STATIC_FOLDER has no index.html: {tmp_path}/public" in caplog.text


LOG_IN = """async ([email, password]) => {
    const headers = {"Content-Type": "application/json"};
    const send = (path, body) => fetch(path, {method: "POST", headers, body: JSON.stringify(body)});
    await send("/api/users", {email, password});
    await send("/api/users/login", {email, password});
    const created = await send("/api/todos", {title: "Return the book"});
    await send("/api/users/logout");
    %s
    return [created.status, todos[0].title, document.cookie, document.title, location.pathname];
}"""


@pytest.mark.live
def test_a_front_end_works_with_the_cookie(browser, make_app, site, monkeypatch):
    """As docs/frontend.md sets it up, and logs in."""
    monkeypatch.setenv("INSTANCE_PATH", str(site.parent))
    settings = {}
    for code in blocks(GUIDE, "python"):
        exec(code, settings)
    assert settings["STATIC_FOLDER"] == "public"
    policy = settings["STATIC_POLICY"]
    app = make_app(STATIC_FOLDER=site.name, STATIC_POLICY=policy, TOKEN_MIDDLEWARE={})
    log_in = LOG_IN % blocks(GUIDE, "js")[0]
    errors = []

    with serve_app(app) as address, browser.new_context() as context:
        app.config["PUBLIC_URL"] = address
        page = context.new_page()
        page.on("console", lambda message: errors.append(message.text))
        answer = page.goto(f"{address}/books/7")
        result = page.evaluate(log_in, ["ada@example.com", PASSWORD])

    assert answer.headers["content-security-policy"] == policy
    assert result == [200, "Return the book", "", "Library, loaded", "/books/7"]
    assert errors == []


def test_the_path_of_the_account_page_is_the_front_end_s_as_long_as_that_is_off(shared_app, site):
    off = shared_app(STATIC_FOLDER=str(site)).test_client()
    on = shared_app(STATIC_FOLDER=str(site), ACCOUNT_PAGE=True).test_client()

    with off.get("/account", headers=BROWSER) as theirs, on.get("/account", headers=BROWSER) as own:
        assert (theirs.status_code, theirs.text) == (200, PAGE)
        assert (own.status_code, "data-page" in own.text) == (200, True)
