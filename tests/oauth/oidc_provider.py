"""The OpenID Connect provider `oidc-provider`, on node: installed once, run as a process."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from urllib.parse import urlsplit

import requests
from playwright.sync_api import Page

from tests.support.node_packages import install
from tests.support.programs import require

FOLDER = Path(__file__).parent / "provider_node"
# The accounts' password. Ada and Eve have the same email, which is verified for Ada alone.
PASSWORD = "a provided password"


@dataclass(frozen=True)
class Client:
    """A confidential client of the provider."""

    id: str
    secret: str


@dataclass(frozen=True)
class OidcProvider:
    """The running provider, by its issuer."""

    issuer: str

    def register(self, *callbacks: str) -> Client:
        """Register a client that may be called back at these addresses."""
        answer = requests.post(f"{self.issuer}/reg", json={"redirect_uris": callbacks}, timeout=60)
        assert answer.status_code == 201, answer.text
        return Client(answer.json()["client_id"], answer.json()["client_secret"])

    def log_in(self, page: Page, name: str = "ada") -> None:
        """Go through the pages of the provider, on the first of which the browser is."""
        assert page.url.startswith(self.issuer), page.url
        page.get_by_label("Name").fill(name)
        page.get_by_label("Password").fill(PASSWORD)
        page.get_by_role("button", name="Log in").click()

        page.get_by_role("button", name="Allow").click()

    def authorize(self, location: str) -> str:
        """Do the same without a browser; return the path and query of the callback."""
        with requests.Session() as session:
            page = session.get(location, timeout=60)
            page = session.post(page.url, {"login": "ada", "password": PASSWORD}, timeout=60)
            answer = session.post(page.url, timeout=60, allow_redirects=False)
            answer = session.get(answer.headers["Location"], timeout=60, allow_redirects=False)
        parts = urlsplit(answer.headers["Location"])
        return f"{parts.path}?{parts.query}"


@contextmanager
def oidc_provider() -> Iterator[OidcProvider]:
    """Run the provider on a free port."""
    require("node")
    install(FOLDER)
    with TemporaryFile("w+") as log:
        process = subprocess.Popen(
            ["node", "serve.js"], cwd=FOLDER, stdout=subprocess.PIPE, stderr=log, text=True
        )
        with process:
            try:
                issuer = process.stdout.readline().strip()
                log.seek(0)
                assert issuer, log.read()
                yield OidcProvider(issuer)
            finally:
                process.kill()
