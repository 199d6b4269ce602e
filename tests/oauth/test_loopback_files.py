"""A `providers.json` as applications of LoopBack 2 and 3 have them, with all their habits."""

from urllib.parse import parse_qs, urlsplit

from tests.support.answers import refusal

# What applications set besides, most of which means something to passport or Express alone.
HABITS = {
    "autoLogin": True,
    "emailOptional": True,
    "failureFlash": True,
    "failureMessage": True,
    "failureRedirect": "/login",
    "forceDefaultCallback": True,
    "profileField": "first_name,last_name,email",
    "profileFields": ["gender", "link", "locale", "name", "email"],
    "profileMapping": {"email": "emails[0].value"},
    "session": True,
    "setAccessToken": True,
    "successFlash": "Welcome",
}
FACEBOOK = {
    "provider": "facebook",
    "module": "passport-facebook",
    "clientID": "facebook-client",
    "clientSecret": "facebook-secret",
    "scope": ["email", "public_profile"],
    **HABITS,
}
GOOGLE = {
    "provider": "google",
    "module": "passport-google-oauth",
    "strategy": "OAuth2Strategy",
    "clientID": "google-client",
    "clientSecret": "google-secret",
    "accessType": "offline",
    "prompt": "consent",
    "scope": "profile email",
    **HABITS,
}
FILE = {
    "local": {
        "provider": "local",
        "module": "passport-local",
        "usernameField": "email",
        "passwordField": "password",
        "authPath": "/auth/local",
        "successRedirect": "/api/users/authenticate",
        **HABITS,
    },
    "facebook-login": {
        **FACEBOOK,
        "authPath": "/auth/facebook",
        "callbackURL": "/auth/facebook/callback",
        "callbackPath": "/auth/facebook/callback",
        "successRedirect": "/auth/account",
        "authOptions": {"display": "popup"},
    },
    "facebook-widget-login": {
        **FACEBOOK,
        "authPath": "/widget-auth/facebook",
        "callbackURL": "/widget-auth/facebook/callback",
        "callbackPath": "/widget-auth/facebook/callback",
        "successRedirect": "/widget-auth/account/facebook",
    },
    "facebook-link": {
        **FACEBOOK,
        "authPath": "/link/facebook",
        "callbackURL": "/link/facebook/callback",
        "callbackPath": "/link/facebook/callback",
        "successRedirect": "/link/account",
        "link": True,
    },
    "google-login": {
        **GOOGLE,
        "authPath": "/auth/google",
        "callbackURL": "http://localhost:3000/auth/google/callback",
        "callbackPath": "/auth/google/callback/",
        "successRedirect": "/auth/account",
        "json": True,
    },
    "google-link": {
        **GOOGLE,
        "authPath": "/link/google",
        "callbackURL": "http://localhost:3000/link/google/callback",
        "callbackPath": "/link/google/callback/",
        "successRedirect": "/link/account",
        "link": True,
    },
    "github": {
        "provider": "github",
        "module": "passport-github2",
        "clientID": "github-client",
        "clientSecret": "github-secret",
        "authPath": "/auth/github/",
        "callbackPath": "/auth/github/callback/",
        "scope": "user:email",
        **HABITS,
    },
    "twitter-login": {
        "provider": "twitter",
        "authScheme": "oauth",
        "module": "passport-twitter",
        "authPath": "/auth/twitter",
        "callbackPath": "/auth/twitter/callback",
        "consumerKey": "twitter-key",
        "consumerSecret": "twitter-secret",
        **HABITS,
    },
}


def begin(client, path):
    response = client.get(path)
    assert response.status_code == 302, response.text
    return {name: values[0] for name, values in parse_qs(urlsplit(response.location).query).items()}


def test_it_loads_as_it_is_and_its_paths_are_served(make_app):
    client = make_app(PROVIDERS=FILE, TOKEN_MIDDLEWARE={}).test_client()

    for path, client_id in {
        "/auth/facebook": "facebook-client",
        "/widget-auth/facebook": "facebook-client",
        "/auth/github": "github-client",
    }.items():
        query = begin(client, path)
        assert query["client_id"] == client_id
        assert query["redirect_uri"].startswith(f"http://127.0.0.1:3000{path}/callback")
    # The addresses that were registered at the providers, to the letter.
    assert query["redirect_uri"] == "http://127.0.0.1:3000/auth/github/callback/"
    for path in ("/link/facebook", "/link/google", "/auth/github/callback/"):
        assert client.get(path).location == "/login"
    # With `json` the answer is none for browsers.
    for path in ("/auth/google/callback/", "/auth/google/callback"):
        assert refusal(client.get(path)) == (401, "LOGIN_FAILED")
    assert client.get("/auth/local").status_code == client.get("/auth/twitter").status_code == 404
