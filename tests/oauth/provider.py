"""A provider of OpenID Connect in this process, each of whose answers a test may change."""

import base64
import hashlib
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from secrets import token_urlsafe
from typing import Any
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit

import requests
from joserfc import jws
from joserfc.jwk import ECKey

CLIENT_ID = "ostiary"
CLIENT_SECRET = "a secret between the two"
# The user who is logged in at the provider.
USER = {
    "sub": "248289761001",
    "name": "Ada Lovelace",
    "email": "ada@example.com",
    "email_verified": True,
}


@dataclass
class Answer:
    """What is sent in place of the usual answer."""

    status: int = 200
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)


class Provider:
    """The provider: who is logged in there, and what it answers.

    The user is never asked; the authorization endpoint redirects at once. It refuses a wrong
    client, redirect URI, code or verifier.
    """

    def __init__(self, url: str) -> None:
        self.url = url
        self.key = ECKey.generate_key("P-256", {"kid": "first", "use": "sig", "alg": "ES256"})
        self.reset([])

    def reset(self, secrets: list[str]) -> None:
        """Answer as usual again; add to `secrets` what only the two servers may know."""
        self.secrets = secrets
        # Its user's claims: in ID tokens, and at the userinfo endpoint.
        self.user: dict[str, Any] = dict(USER)
        # Changes to the discovery document, the claims of the ID token, the answer with the tokens,
        # and the parameters of the redirect to the client; None removes one.
        self.metadata: dict[str, Any] = {}
        self.claims: dict[str, Any] = {}
        self.tokens: dict[str, Any] = {}
        self.callback: dict[str, str | None] = {}
        # The keys it publishes and how it signs claims.
        self.keys = [self.key.as_dict(private=False)]
        self.sign: Callable[[dict[str, Any]], str] = self.sign_with(self.key)
        # Answers by path, and what is called before a path is answered.
        self.answers: dict[str, Answer] = {}
        self.before: dict[str, Callable[[], object]] = {}
        # The paths that were asked for, and what the token endpoint was sent.
        self.requests: list[str] = []
        self.forms: list[dict[str, str]] = []
        self._codes: dict[str, dict[str, str]] = {}
        self._tokens: set[str] = set()

    def settings(self, **entry: Any) -> dict[str, Any]:
        """Return an entry of PROVIDERS for this provider."""
        known = {"issuer": self.url, "clientID": CLIENT_ID, "clientSecret": CLIENT_SECRET}
        return {**known, "successRedirect": "/welcome", **entry}

    def authorize(self, location: str) -> str:
        """Open the authorization endpoint as a browser does; return where it redirects to."""
        response = requests.get(location, allow_redirects=False, timeout=30)
        assert response.status_code == 302, response.text
        return response.headers["Location"]

    def sign_with(self, key: Any, **header: Any) -> Callable[[dict[str, Any]], str]:
        """Return a function that signs claims with a key, by default by ES256."""
        full = _without_none({"alg": "ES256", "kid": key.kid, **header})
        anything = jws.JWSRegistry(strict_check_header=False)
        # As ASCII, so that claims may be what UTF-8 cannot encode.
        return lambda claims: jws.serialize_compact(
            full, json.dumps(claims), key, registry=anything
        )

    def id_token(self, **claims: Any) -> str:
        """Return an ID token for the user, with these claims; None leaves one out."""
        moment = int(time.time())
        known = {"iss": self.url, "aud": CLIENT_ID, "iat": moment, "exp": moment + 300}
        full = {**known, **self.user, **claims, **self.claims}
        return self._secret(self.sign(_without_none(full)))

    def respond(self, path: str, query: dict[str, str], form: dict[str, str], auth: str) -> Answer:
        """Return the answer to a request."""
        self.requests.append(path)
        self.before.get(path, lambda: None)()
        if path in self.answers:
            return self.answers[path]
        match path:
            case "/.well-known/openid-configuration":
                return Answer(body=_without_none({**self._metadata(), **self.metadata}))
            case "/keys":
                return Answer(body={"keys": self.keys})
            case "/authorize":
                return self._authorize(query)
            case "/token":
                return self._token(form, auth)
            case "/userinfo":
                return Answer(body=self.user) if auth in self._tokens else Answer(401)
        return Answer(404)

    def _metadata(self) -> dict[str, Any]:
        return {
            "issuer": self.url,
            "authorization_endpoint": f"{self.url}/authorize",
            "token_endpoint": f"{self.url}/token",
            "userinfo_endpoint": f"{self.url}/userinfo",
            "jwks_uri": f"{self.url}/keys",
            "response_types_supported": ["code"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": ["ES256"],
            "code_challenge_methods_supported": ["S256"],
            "authorization_response_iss_parameter_supported": True,
        }

    def _authorize(self, query: dict[str, str]) -> Answer:
        assert query["client_id"] == CLIENT_ID
        assert query["response_type"] == "code"
        assert query["code_challenge_method"] == "S256"
        code = self._secret(token_urlsafe(32))
        self._codes[code] = query
        values = {"code": code, "state": query["state"], "iss": self.url, **self.callback}
        location = f"{query['redirect_uri']}?{urlencode(_without_none(values))}"
        return Answer(302, headers={"Location": location})

    def _token(self, form: dict[str, str], auth: str) -> Answer:
        self.forms.append(form)
        begun = self._codes.pop(form.get("code", ""), None)
        self._secret(form.get("code_verifier", "no verifier"))
        digest = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
        challenge = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
        if not _is_client(form, auth):
            return Answer(401, {"error": "invalid_client"})
        if begun is None or challenge != begun["code_challenge"]:
            return Answer(400, {"error": "invalid_grant"})
        if form.get("redirect_uri") != begun["redirect_uri"]:
            return Answer(400, {"error": "invalid_grant"})
        access = self._secret(token_urlsafe(32))
        self._tokens.add(f"Bearer {access}")
        body = {"access_token": access, "token_type": "Bearer", "expires_in": 300}
        body["id_token"] = self.id_token(nonce=begun.get("nonce"))
        return Answer(body=_without_none({**body, **self.tokens}))

    def _secret(self, secret: str) -> str:
        self.secrets.append(secret)
        return secret


@contextmanager
def serve_provider() -> Iterator[Provider]:
    """Serve a provider by threads of this process."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        # Otherwise the body waits 40 ms for the client to acknowledge the header.
        disable_nagle_algorithm = True

        def do_GET(self) -> None:
            self._answer({})

        def do_POST(self) -> None:
            length = int(self.headers.get("Content-Length", 0))
            self._answer(dict(parse_qsl(self.rfile.read(length).decode())))

        def _answer(self, form: dict[str, str]) -> None:
            parts = urlsplit(self.path)
            auth = self.headers.get("Authorization", "")
            answer = provider.respond(parts.path, dict(parse_qsl(parts.query)), form, auth)
            body = answer.body
            if not isinstance(body, bytes):
                body = json.dumps(body).encode()
            headers = {"Content-Type": "application/json", "Content-Length": str(len(body))}
            self.send_response(answer.status)
            for name, value in {**headers, **answer.headers}.items():
                self.send_header(name, value)
            self.end_headers()
            # The client may have stopped reading, or waiting.
            try:
                self.wfile.write(body)
            except OSError:
                self.close_connection = True

        def log_message(self, *details: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    # Clients that go away are no error.
    server.handle_error = lambda *_: None
    provider = Provider(f"http://127.0.0.1:{server.server_port}")
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield provider
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _without_none(values: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def _is_client(form: dict[str, str], auth: str) -> bool:
    """Tell whether the client authenticates, in the header or the body."""
    if auth.startswith("Basic "):
        name, _, secret = base64.b64decode(auth.removeprefix("Basic ")).decode().partition(":")
        return (unquote(name), unquote(secret)) == (CLIENT_ID, CLIENT_SECRET)
    return (form.get("client_id"), form.get("client_secret")) == (CLIENT_ID, CLIENT_SECRET)
