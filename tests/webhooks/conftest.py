"""A receiver over HTTP, and a shop that sends it webhooks."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from sqlalchemy import update

from app.database.session import db
from app.webhooks.models import Webhook, WebhookDelivery
from app.webhooks.worker import workers
from tests.changes.conftest import SHOP
from tests.changes.conftest import make_shop as make_shop_of_caller
from tests.definitions.conftest import make_models, write_models  # noqa: F401 fixtures
from tests.support.rows import make_admin

KEY = "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="
make_callers_shop = make_shop_of_caller


class Handler(BaseHTTPRequestHandler):
    """Keeps what it is sent, and answers as the receiver says for the path."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        receiver = self.server.receiver
        receiver.messages.append((self.path, dict(self.headers.items()), body))
        receiver.answers.get(self.path, Handler.answer)(self)

    def answer(self, status: int = 200, text: bytes = b"thanks", **headers: str) -> None:
        self.send_response(status)
        for name, value in {"Content-Length": str(len(text)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *arguments: object) -> None:
        """Log nothing."""


class Receiver:
    """The messages that were received, and how each path is answered."""

    def __init__(self, server: ThreadingHTTPServer) -> None:
        self.url = f"http://127.0.0.1:{server.server_port}"
        self.messages: list[tuple[str, dict[str, str], bytes]] = []
        self.answers = {}

    def take(self, path: str = "/") -> list[dict]:
        """Return the messages of a path that have come since the last time."""
        taken = [json.loads(body) for found, _, body in self.messages if found == path]
        self.messages[:] = [message for message in self.messages if message[0] != path]
        return taken


@pytest.fixture
def receiver():
    """A server of receivers, one for each path."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.receiver = Receiver(server)
    threading.Thread(target=server.serve_forever, args=[0.01], daemon=True).start()
    yield server.receiver
    server.shutdown()
    server.server_close()


class Sending:
    """A shop with webhooks, whose caller is an admin."""

    def __init__(self, caller) -> None:
        self.call, self.app = caller, caller.app

    def add(self, url, **settings):
        """Add a webhook; return it."""
        answer = self.call("POST", "/admin/webhooks", {"url": url, **settings})
        assert answer.status_code == 200, answer.json
        return answer.json

    def work(self) -> None:
        """Send what is due."""
        workers.of(self.app).work()

    def age(self, model=WebhookDelivery, **values):
        """Set columns of all deliveries, or webhooks: by default all are due."""
        with self.app.app_context(), db.engine.begin() as database:
            for each in (model, Webhook):
                changed = values if each is model else {}
                changed = changed | {"next_attempt": each.created}
                database.execute(update(each).values(changed))

    def deliveries(self, webhook):
        """Return the deliveries of a webhook, oldest first."""
        answer = self.call("GET", f"/admin/webhooks/{webhook['id']}/deliveries")
        assert answer.status_code == 200, answer.json
        return answer.json[::-1]


@pytest.fixture
def make_sending(make_callers_shop):
    """Serve models with webhooks."""

    def make(models=SHOP, **settings):
        given = {"WEBHOOK_HOSTS": ["127.0.0.0/8"], **settings}
        caller = make_callers_shop(
            models, WEBHOOKS=True, WEBHOOK_KEYS=[KEY], ADMIN_ENABLED=True, **given
        )
        make_admin(caller.app)
        return Sending(caller)

    return make


@pytest.fixture
def sending(make_sending):
    return make_sending()
