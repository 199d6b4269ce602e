"""Requests to providers through the proxy that HTTPS_PROXY names."""

import base64
import socket
import ssl
import threading
from contextlib import closing, contextmanager, suppress
from urllib.parse import urlsplit

import pytest
import requests.adapters
import trustme

from tests.conftest import Api
from tests.support.answers import refusal

from .conftest import Browser, forget_discovery
from .provider import serve_provider

# A name that only the proxy knows.
HOST = "id.invalid"
ISSUER = f"https://{HOST}"
REFUSED = (401, "LOGIN_FAILED")
LOGIN = "ostiary:of the proxy"
PRIVATE = (
    *("10.0.0.1", "169.254.169.254", "[::1]", "[::ffff:10.0.0.1]", "2130706433", "0x7f.1", "127.1"),
    *("localhost", "localhost.:443", "intranet", "metadata.google.internal", "printer.local"),
)
HEAD_END = b"\r\n\r\n"


class Proxy:
    """A proxy with CONNECT, behind which a provider of plain HTTP answers as the https host HOST.

    It notes the hosts that it was asked for, and the headers `Proxy-Authorization`.
    """

    def __init__(self, port, provider_port, context):
        self.url = f"http://127.0.0.1:{port}"
        self.provider_port = provider_port
        self.context = context
        self.reset()

    def reset(self):
        self.hosts, self.credentials = [], []
        # The user and the password that it asks for, if any.
        self.login = None

    def serve(self, client):
        with suppress(OSError), closing(client):
            head = b""
            while HEAD_END not in head:
                head += client.recv(4096)
            lines = head.decode().split("\r\n")
            headers = dict(line.split(": ", 1) for line in lines[1:] if line)
            self.hosts.append(lines[0].split()[1])
            self.credentials.append(headers.get("Proxy-Authorization"))
            if self.login and self.credentials[-1] != basic(self.login):
                client.sendall(b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n")
            elif self.hosts[-1] != f"{HOST}:443":
                client.sendall(b"HTTP/1.1 502 Bad Gateway\r\n\r\n")
            else:
                client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
                self.relay(self.context.wrap_socket(client, server_side=True))

    def relay(self, client):
        """Pass on one request, and the answer up to its end, as often as there is one."""
        with (
            closing(client),
            closing(socket.create_connection(("127.0.0.1", self.provider_port))) as provider,
        ):
            answers = threading.Thread(target=copy, args=(provider, client), daemon=True)
            answers.start()
            copy(client, provider)
            answers.join()


def copy(source, target):
    with suppress(OSError, ValueError):
        while data := source.recv(65536):
            target.sendall(data)
    with suppress(OSError):
        target.shutdown(socket.SHUT_WR)


def basic(login):
    return f"Basic {base64.b64encode(login.encode()).decode()}"


@contextmanager
def serve_proxy(provider_port, context):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        proxy = Proxy(listener.getsockname()[1], provider_port, context)

        def accept():
            with suppress(OSError):
                while True:
                    client, _ = listener.accept()
                    threading.Thread(target=proxy.serve, args=(client,), daemon=True).start()

        thread = threading.Thread(target=accept, daemon=True)
        thread.start()
        yield proxy
        listener.shutdown(socket.SHUT_RDWR)
        thread.join()


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    """A certificate authority; its certificate's file."""
    authority = trustme.CA()
    path = tmp_path_factory.mktemp("authority") / "ca.pem"
    authority.cert_pem.write_to_path(str(path))
    return authority, str(path)


@pytest.fixture(scope="module")
def servers(authority):
    """A provider, and a proxy through which it is https://id.invalid."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority[0].issue_cert(HOST).configure_cert(context)
    with serve_provider() as provider:
        port = urlsplit(provider.url).port
        provider.url = ISSUER
        with serve_proxy(port, context) as proxy:
            yield provider, proxy


@pytest.fixture
def proxy(servers, authority, monkeypatch):
    """The proxy, named by the environment."""
    for name in ("HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    proxy = servers[1]
    proxy.reset()
    monkeypatch.setenv("HTTPS_PROXY", proxy.url)
    # What this process trusts: the service by the library's list, the test's browser by its own.
    monkeypatch.setattr(requests.adapters, "DEFAULT_CA_BUNDLE_PATH", authority[1])
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", authority[1])
    return proxy


@pytest.fixture
def provider(servers, proxy, secrets):
    servers[0].reset(secrets)
    return servers[0]


@pytest.fixture
def app(make_app, settings):
    """An app without connections that another test has opened."""
    return make_app(**settings)


@pytest.fixture
def browser(app, provider, secrets):
    return Browser(app.test_client(), provider, secrets)


def test_a_login_goes_through_the_proxy(browser, proxy):
    response = browser.log_in()

    assert response.status_code == 302, response.text
    assert browser.token
    assert set(proxy.hosts) == {f"{HOST}:443"}


@pytest.mark.parametrize("name", ["https_proxy", "ALL_PROXY"])
def test_the_proxy_has_the_other_names_that_programs_know(browser, proxy, monkeypatch, name):
    monkeypatch.delenv("HTTPS_PROXY")
    monkeypatch.setenv(name, proxy.url)

    assert browser.begin().status_code == 302
    assert proxy.hosts


@pytest.mark.parametrize("names", [HOST, "other.example, .invalid", "*"])
def test_hosts_of_no_proxy_are_called_without_it(browser, proxy, monkeypatch, names):
    monkeypatch.setenv("NO_PROXY", names)

    assert refusal(browser.begin()) == REFUSED
    assert proxy.hosts == []


def test_the_proxy_gets_its_own_password_and_nobody_else_does(
    browser, proxy, monkeypatch, secrets, caplog
):
    proxy.login = LOGIN
    secrets.append("of the proxy")
    wrong = browser.begin()
    monkeypatch.setenv("HTTPS_PROXY", proxy.url.replace("//", "//ostiary:of%20the%20proxy@"))
    forget_discovery(browser.client.application)

    response = browser.log_in()

    assert refusal(wrong) == REFUSED
    assert "ProxyError" in caplog.text
    assert response.status_code == 302, response.text
    assert proxy.credentials[-1] == basic(LOGIN)


def test_a_provider_leads_the_proxy_into_no_private_network(browser, proxy, provider):
    for endpoint in PRIVATE:
        forget_discovery(browser.client.application)
        provider.metadata["jwks_uri"] = f"https://{endpoint}/keys"

        assert refusal(browser.log_in()) == REFUSED, endpoint
    assert set(proxy.hosts) == {f"{HOST}:443"}


def test_a_provider_on_this_machine_is_called_without_a_proxy(
    shared_app, running_provider, proxy, monkeypatch, secrets
):
    monkeypatch.setenv("HTTP_PROXY", proxy.url)
    running_provider.reset(secrets)
    app = shared_app(PROVIDERS={"test": running_provider.settings()}, TOKEN_MIDDLEWARE={})
    forget_discovery(app)

    assert Api(app.test_client(), secrets).client.get("/auth/test").status_code == 302
    assert proxy.hosts == []


def test_a_proxy_that_is_down_refuses_the_login(browser, proxy, monkeypatch, caplog):
    with socket.create_server(("127.0.0.1", 0)) as unused:
        port = unused.getsockname()[1]
    monkeypatch.setenv("HTTPS_PROXY", f"http://127.0.0.1:{port}")

    assert refusal(browser.begin()) == REFUSED
    assert "ProxyError" in caplog.text
