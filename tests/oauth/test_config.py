"""PROVIDERS: what is read, what is refused, and what is served for it."""

import json
from urllib.parse import parse_qs, urlsplit

import pytest

from app.oauth import clients
from app.problems import ConfigurationError
from tests.support.answers import refusal
from tests.support.documents import blocks
from tests.support.installation import Installation

from .provider import Answer

# As the documentation of LoopBack 3's passport component shows it, with one secret elsewhere.
LOOPBACK_FILE = {
    "local": {
        "provider": "local",
        "module": "passport-local",
        "usernameField": "username",
        "passwordField": "password",
        "authPath": "/auth/local",
        "successRedirect": "/auth/account",
    },
    "facebook-login": {
        "provider": "facebook",
        "module": "passport-facebook",
        "profileFields": ["gender", "link", "locale", "name", "email"],
        "clientID": "{facebook-client-id-1}",
        "clientSecret": "{facebook-client-secret-1}",
        "callbackURL": "http://localhost:3000/auth/facebook/callback",
        "authPath": "/auth/facebook",
        "callbackPath": "/auth/facebook/callback",
        "successRedirect": "/auth/account",
        "scope": ["email"],
        "authOptions": {"display": "popup"},
    },
    "google-login": {
        "provider": "google",
        "module": "passport-google-oauth",
        "strategy": "OAuth2Strategy",
        "clientID": "{google-client-id-1}",
        "clientSecret": {"$env": "GOOGLE_SECRET"},
        "callbackURL": "http://localhost:3000/auth/google/callback",
        "authPath": "/auth/google",
        "callbackPath": "/auth/google/callback",
        "successRedirect": "/auth/account",
        "scope": ["email", "profile"],
    },
    "twitter-login": {
        "provider": "twitter",
        "authScheme": "oauth",
        "module": "passport-twitter",
        "callbackURL": "http://localhost:3000/auth/twitter/callback",
        "authPath": "/auth/twitter",
        "callbackPath": "/auth/twitter/callback",
        "successRedirect": "/auth/account",
        "consumerKey": "{twitter-consumer-key}",
        "consumerSecret": "{twitter-consumer-secret}",
    },
    "facebook-link": {
        "provider": "facebook",
        "module": "passport-facebook",
        "clientID": "{facebook-client-id-2}",
        "clientSecret": "{facebook-client-secret-2}",
        "callbackURL": "http://localhost:3000/link/facebook/callback",
        "authPath": "/link/facebook",
        "callbackPath": "/link/facebook/callback",
        "successRedirect": "/auth/account",
        "scope": ["email", "user_likes"],
        "link": True,
    },
}
LIST_ROUTES = """
import json
from wsgi import app
print(json.dumps(sorted(r.rule for r in app.url_map.iter_rules() if r.endpoint[:6] == "oauth.")))
"""


@pytest.mark.live
def test_a_file_of_loopback_is_served_as_it_is(tmp_path):
    installation = Installation(tmp_path)
    file = tmp_path / "instance" / "providers.json"
    file.write_text(json.dumps(LOOPBACK_FILE))

    started = installation.run("-c", LIST_ROUTES, GOOGLE_SECRET="one of Google")

    assert started.returncode == 0, started.stderr
    assert json.loads(started.stdout) == [
        "/auth/facebook",
        "/auth/facebook/callback",
        "/auth/google",
        "/auth/google/callback",
        "/auth/google/token",
        "/link/facebook",
        "/link/facebook/callback",
        "/link/google",
        "/link/google/callback",
    ]
    assert "local is not served: passwords are checked by POST /users/login" in started.stderr
    assert "twitter-login is not served: its module is none of passport-apple" in started.stderr
    assert "one of Google" not in started.stderr


def test_the_documented_file_can_be_used(make_app, monkeypatch):
    [file] = blocks("docs/identity.md", "json", "Setting up")
    for name in ("GOOGLE_SECRET", "GITHUB_SECRET", "COMPANY_SECRET"):
        monkeypatch.setenv(name, "secret")

    app = make_app(PROVIDERS=json.loads(file), TOKEN_MIDDLEWARE={})

    names = [client.provider.label for client in clients.of(app).values()]
    assert names == ["Google", "GitHub", "Company login"]


def test_the_document_says_where_browsers_begin_a_login(shared_app):
    app = shared_app(PROVIDERS={"github": {"clientID": "id", "clientSecret": "secret"}})

    document = app.test_client().get("/api/openapi.json").json

    assert document["x-login-paths"] == {"github": "../auth/github"}


def test_settings_that_are_null_are_missing(shared_app):
    unset = dict.fromkeys(["label", "authorizationURL", "scope", "authPath", "realm"])
    app = shared_app(
        PROVIDERS={"github": {"clientID": "id", "clientSecret": "secret", **unset}},
    )

    response = app.test_client().get("/auth/github")

    assert response.status_code == 302
    assert response.headers["Location"].startswith("https://github.com/login/oauth/authorize?")
    assert [client.provider.label for client in clients.of(app).values()] == ["GitHub"]


def test_the_paths_and_the_client_are_those_of_the_settings(shared_app):
    app = shared_app(
        PROVIDERS={"facebook-login": LOOPBACK_FILE["facebook-login"]},
        PUBLIC_URL="https://people.example.com/portal",
    )

    response = app.test_client().get("/auth/facebook", headers={"Host": "evil.example"})

    location = urlsplit(response.headers["Location"])
    query = {name: value for name, [value] in parse_qs(location.query).items()}
    assert response.status_code == 302
    assert location.netloc == "www.facebook.com"
    assert query["client_id"] == "{facebook-client-id-1}"
    assert query["redirect_uri"] == "https://people.example.com/portal/auth/facebook/callback"
    assert (query["scope"], query["code_challenge_method"]) == ("email", "S256")
    cookie = response.headers["Set-Cookie"]
    # With this prefix no other host can set it; it needs this path.
    assert cookie.startswith("__Host-login_flow=")
    assert {"HttpOnly", "SameSite=Lax", "Path=/", "Max-Age=600", "Secure"} <= {*cookie.split("; ")}


KNOWN = "apple, facebook, github, gitlab, google, microsoft"


@pytest.mark.parametrize(
    ("name", "entry", "problem"),
    [
        ("acme", {"provider": "acme"}, f"acme must have a `module` or an `issuer`, or be {KNOWN}"),
        ("acme", {}, f"acme must have a `module` or an `issuer`, or be {KNOWN}"),
        ("gogle", {}, f"or be {KNOWN}; did you mean 'google'?"),
        ("login", {"provider": "git-hub"}, f"or be {KNOWN}; did you mean 'github'?"),
        ("oidc", {}, "oidc.issuer is missing"),
    ],
)
def test_an_entry_of_nobody_known_stops_the_start(make_app, name, entry, problem):
    with pytest.raises(ConfigurationError) as raised:
        make_app(PROVIDERS={name: {"clientID": "1", **entry}})

    assert str(raised.value).startswith("PROVIDERS cannot be used: ")
    assert problem in str(raised.value)


def test_an_entry_of_another_module_with_an_issuer_is_one_of_openid_connect(make_app):
    entry = {"module": "passport-acme", "issuer": "https://id.example.com", "clientID": "1"}

    app = make_app(PROVIDERS={"acme": entry})

    assert clients.of(app)["acme"].provider.label == "OpenID Connect"


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        ({"module": "passport-github"}, "x.clientID is missing"),
        ({"module": "passport-github", "clientID": "1"}, "x.clientSecret is missing"),
        ({"module": "passport-facebook", "clientID": "1"}, "x.clientSecret is missing"),
        ({"module": 7}, "x must have a `module` or an `issuer`, or be apple"),
        ({"module": 7, "issuer": "https://x.example"}, "x.module Not a valid string."),
        ({"module": "passport-openidconnect", "clientID": "1"}, "x.issuer is missing"),
        ({"issuer": "http://id.example.com"}, "x.issuer must be an https address"),
        ({"issuer": "https://id.example.com?x"}, "x.issuer must be an https address"),
        ({"clientSecret": {"$env": "NO_SUCH"}}, "environment variable NO_SUCH is not set"),
        ({"authPath": "auth"}, "x.authPath must be a path such as /auth/google"),
        ({"authPath": "/auth/<name>"}, "x.authPath must be a path such as /auth/google"),
        ({"authPath": "/reset-password"}, "x has the path /reset-password, as the service has"),
        (
            {"callbackPath": "/reset-password/"},
            "x has the path /reset-password, as the service has",
        ),
        ({"callbackPath": "/auth/x/token"}, "x has the path /auth/x/token, as x has"),
        ({"callbackPath": "/auth/x"}, "x has the path /auth/x, as x has"),
        ({"callbackPath": "/auth/x/"}, "x has the path /auth/x, as x has"),
        ({"successRedirect": "https://evil.example/"}, "x.successRedirect must be a path, or one"),
        ({"successRedirect": "//evil.example/"}, "x.successRedirect must be an http or https"),
        ({"successRedirect": "/\\evil.example/"}, "x.successRedirect must be an http or https"),
        ({"failureRedirect": "javascript:alert(1)"}, "x.failureRedirect must be an http or https"),
        ({"scope": 7}, "x.scope must be a text, or a list of texts"),
        ({"callbackHTTPMethod": "put"}, "x.callbackHTTPMethod Must be one of: get, post."),
        ({"json": "perhaps"}, "x.json Not a valid boolean."),
    ],
)
def test_an_entry_that_cannot_be_used_stops_the_start(make_app, entry, problem):
    known = {"issuer": "https://id.example.com", "clientID": "ostiary"}
    full = entry if "module" in entry else {**known, **entry}

    with pytest.raises(ConfigurationError) as raised:
        make_app(PROVIDERS={"x": full})

    assert str(raised.value).startswith("PROVIDERS cannot be used: ")
    assert problem in str(raised.value)


def test_all_problems_are_told_at_once(make_app):
    entries = {
        "google": {},
        "a b": {},
        "gitlab": {"clientID": "1", "tokenURL": "http://x"},
        "github": {"clientID": "1", "clientSecret": {"$env": "NO_SUCH"}},
    }

    with pytest.raises(ConfigurationError) as raised:
        make_app(PROVIDERS=entries, REALM_REQUIRED=True)

    said = str(raised.value).split("; ")
    assert len(said) == 7
    assert any("google.clientID is missing" in line for line in said)
    assert [line for line in said if "clientSecret" in line] == [
        "PROVIDERS cannot be used: github.clientSecret environment variable NO_SUCH is not set"
    ]


def test_all_problems_of_an_entry_are_told_at_once(make_app):
    wrong = {"scope": 7, "json": "perhaps", "issuer": "http://x.example", "clientID": 7}
    entries = {
        "gogle": {},
        "first": {**wrong, "authPath": "/reset-password", "successRedirect": "//evil.example"},
        "second": {"issuer": "https://x.example", "authPath": "/auth/first"},
        "third": {"issuer": "https://x.example", "authPath": "/auth/first"},
    }

    with pytest.raises(ConfigurationError) as raised:
        make_app(PROVIDERS=entries)

    said = str(raised.value).removeprefix("PROVIDERS cannot be used: ").split("; ")
    assert sorted(line.split()[0] for line in said) == [
        "did",
        "first",
        *(f"first.{key}" for key in ("clientID", "issuer", "json", "scope", "successRedirect")),
        "gogle",
        "second.clientID",
        *["third"] * 3,
        "third.clientID",
    ]


def test_redirects_may_lead_to_listed_addresses(make_app):
    url = "https://www.example.com/welcome"
    entry = {"clientID": "1", "successRedirect": url, "failureRedirect": f"{url}?failed"}

    app = make_app(PROVIDERS={"gitlab": entry}, REDIRECT_URLS=[url, f"{url}?failed"])

    assert clients.of(app)["gitlab"].provider.login.success_redirect == url


def test_without_the_libraries_the_start_names_the_extra(make_app, monkeypatch):
    monkeypatch.setattr("app.config.find_spec", {"joserfc": True}.get)

    with pytest.raises(ConfigurationError) as raised:
        make_app(PROVIDERS={"gitlab": {"clientID": "1"}})

    assert str(raised.value) == (
        "PROVIDERS needs the extra oidc; install it with pip install 'ostiary[oidc]'"
    )


def test_settings_without_effect_are_warned_of(make_app, caplog):
    make_app(PROVIDERS={"gitlab": {"clientID": "1", "profileMapping": [], "clientSecrets": "x"}})

    assert (
        "PROVIDERS: gitlab has settings that are not used: clientSecrets, profileMapping"
        in caplog.messages
    )
    assert any("sets no cookie without TOKEN_MIDDLEWARE" in message for message in caplog.messages)


def test_without_providers_nothing_is_served(shared_app):
    client = shared_app().test_client()

    assert refusal(client.get("/auth/google")) == (404, "NOT_FOUND")
    assert refusal(client.get("/api/users/1/identities")) == (404, "NOT_FOUND")


def test_the_command_says_what_it_found(app, provider):
    result = app.test_cli_runner().invoke(args=["providers", "check"])

    assert result.exit_code == 0, result.output
    assert result.output.splitlines() == [
        f"test: OpenID Connect, {provider.url}",
        "  /auth/test needs the redirect URI http://127.0.0.1:3000/auth/test/callback",
        "  /link/test needs the redirect URI http://127.0.0.1:3000/link/test/callback",
        f"  authorization endpoint {provider.url}/authorize",
        f"  token endpoint {provider.url}/token",
        "  1 keys for signatures: EC",
        "  PKCE with S256: yes",
        "  issuer in its answers: yes",
    ]


@pytest.mark.parametrize(
    ("metadata", "answers", "reason"),
    [
        ({"issuer": "https://evil.example"}, {}, "the issuer in its metadata is not the one of"),
        ({"token_endpoint": "http://evil.example/"}, {}, "have no https address as token_endpoint"),
        ({}, {"/keys": Answer(500)}, "answered 500"),
        ({}, {"/keys": Answer(302, headers={"Location": "/other"})}, "its answer is a redirect"),
    ],
)
def test_the_command_fails_for_a_provider_that_cannot_be_used(
    app, provider, metadata, answers, reason
):
    provider.metadata, provider.answers = metadata, answers

    result = app.test_cli_runner().invoke(args=["providers", "check"])

    assert result.exit_code == 1
    assert reason in result.output.splitlines()[-1]


def test_the_command_works_without_providers(shared_app):
    result = shared_app().test_cli_runner().invoke(args=["providers", "check"])

    assert (result.exit_code, result.output) == (0, "There are no providers.\n")


def test_the_pages_link_to_the_providers(app):
    client = app.test_client()

    explorer = client.get("/explorer").text
    reset = client.get("/reset-password?access_token=unknown").text

    assert '<a href="/auth/test">OpenID Connect</a>' in explorer
    assert '<a href="/auth/test">OpenID Connect</a>' in reset
