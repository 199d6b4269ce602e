"""A live service to administer: a shop in JSON, notes in Python, users, mails, locks, files."""

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import requests
from flask import Flask
from sqlalchemy import func, insert, select, update

from app.access.roles import grant
from app.database.metadata import all_metadata, app_metadata, project_tables
from app.database.session import db
from app.outbox.models import FAILED, Delivery
from app.testing.apps import close
from app.throttles import Throttle
from app.times import now
from app.users.models import User
from tests.conftest import PASSWORD
from tests.definitions.conftest import running_a_command
from tests.support.apps import build
from tests.support.documents import blocks
from tests.support.live import serve_app
from tests.support.ports import free_port
from tests.support.second_factors import FACTOR_KEY
from tests.support.shop import JSON, created, write_files

ADMIN, SUPPORT, PLAIN = "root@example.com", "sue@example.com", "ada@example.com"
# Those of a list that has several pages.
CUSTOMERS = [f"customer{number:02}@example.com" for number in range(30)]
# One who may list users, and not open any.
CLERK = CUSTOMERS[-1]
# What support and clerks may do here, beside what everybody may.
SUPPORT_RULES = [
    {"principalId": "support", "permission": "ALLOW", "property": ["findUsers", "findUserById"]},
    {"principalId": "listing", "permission": "ALLOW", "property": ["findUsers"]},
]
PROVIDER = {
    "company": {
        "label": "Company login",
        "issuer": "https://id.example.com",
        "clientID": "people",
        "clientSecret": "of the company",
        "successRedirect": "/welcome.html",
    }
}

ADMINS_ONLY = {"principalType": "ROLE", "principalId": "admin", "permission": "ALLOW"}
CONTAINER = {"name": "container", "base": "Model", "acls": [ADMINS_ONLY]}
# Values of an enumeration, or none, and numbers beyond those of JavaScript.
PARCEL = {
    "name": "parcel",
    "properties": {
        "size": {"type": "string", "enum": ["small", "large"]},
        "grams": {"type": "integer"},
    },
}


class Service:
    """A service, its app, and who calls it with which token."""

    def __init__(self, url: str, app: Flask) -> None:
        self.url, self.app = url, app
        self._tokens: dict[str, str] = {}

    def call(self, verb: str, path: str, body: Any = None, caller: str = ADMIN) -> Any:
        """Call the API as a user; return the JSON of the answer, which is successful."""
        headers = {"Authorization": self.token(caller)} if caller else {}
        answer = requests.request(
            verb, f"{self.url}/api{path}", json=body, headers=headers, timeout=30
        )
        assert answer.ok, (path, answer.text)
        return answer.json() if answer.content else None

    def token(self, email: str) -> str:
        """Return a token of a user."""
        if email not in self._tokens:
            self._tokens[email] = self.log_in(email)
        return self._tokens[email]

    def log_in(self, email: str) -> str:
        """Return a new token of a user."""
        credentials = {"email": email, "password": PASSWORD}
        token: str = self.call("POST", "/users/login", credentials, caller="")["id"]
        return token

    def user_id(self, email: str) -> Any:
        """Return the id of a user."""
        with self.app.app_context():
            return db.session.scalar(select(User.id).where(User.email == email))


@contextmanager
def administered(folder: Path, template: Path, **settings: Any) -> Iterator[Service]:
    """Serve it from a folder, on a copy of a migrated database."""
    write_files(JSON, folder)
    [notes, *_] = blocks("docs/models.md", "python", "A model in Python")
    (folder / "models" / "note.py").write_text(notes)
    (folder / "models" / "parcel.json").write_text(json.dumps(PARCEL))
    _attach_container(folder)
    shutil.copy(template, folder / "ostiary.sqlite")
    port = free_port()
    with running_a_command():
        app = build(
            f"sqlite:///{folder}/ostiary.sqlite",
            folder / "mail",
            MODELS_FOLDER=str(folder / "models"),
            DATA_SOURCES=_data_sources(port, folder / "files"),
            PROVIDERS=PROVIDER,
            PERSONAL_TOKENS={},
            WEBHOOKS=True,
            WEBHOOK_KEYS=[FACTOR_KEY],
            WEBHOOK_HOSTS=["127.0.0.0/8"],
            ACLS={"admin": SUPPORT_RULES},
            **settings,
        )
    own = {*project_tables(), *app_metadata.of(app).tables}
    tables = [table for table in all_metadata(app).sorted_tables if table.name in own]
    with created(app, tables), serve_app(app, port) as url:
        service = Service(url, app)
        _fill(service)
        yield service
    close(app)


def _attach_container(folder: Path) -> None:
    """Write a model of files, and which data source each model has."""
    (folder / "models" / "container.json").write_text(json.dumps(CONTAINER))
    names = [json.loads(file.read_text())["name"] for file in folder.glob("models/*.json")]
    sources = {name: {"dataSource": "storage" if name == "container" else "db"} for name in names}
    (folder / "model-config.json").write_text(json.dumps(sources))


def _data_sources(port: int, files: Path) -> dict[str, Any]:
    template = {
        "method": "GET",
        "url": f"http://127.0.0.1:{port}/api/products/{{!id:number}}",
        "query": {"filter": "{filter={}:string}"},
    }
    functions = {"product": ["id", "filter"]}
    return {
        "shop": {
            "connector": "rest",
            "operations": [{"template": template, "functions": functions}],
        },
        "storage": {"connector": "loopback-component-storage", "root": str(files)},
    }


def _fill(service: Service) -> None:
    for email in (ADMIN, SUPPORT, PLAIN, *CUSTOMERS):
        service.call("POST", "/users", {"email": email, "password": PASSWORD}, caller="")
    roles = ((ADMIN, "admin"), (ADMIN, "clerk"), (SUPPORT, "support"), (CLERK, "listing"))
    with service.app.app_context():
        for email, role in roles:
            grant(db.session.scalar(select(User.id).where(User.email == email)), role)
    _stock(service)
    service.call("POST", "/users/reset", {"email": PLAIN}, caller="")
    _break(service.app)


def _stock(service: Service) -> None:
    """Fill the shop, and write a note."""
    for name in ("Lamps", "Books", "Chairs"):
        service.call("POST", "/categories", {"name": name})
    names = ("Desk lamp", "Reading lamp", "Floor lamp", "Lantern")
    service.call("POST", "/products", [_product(number, names) for number in range(60)])
    customers = [service.user_id(email) for email in (PLAIN, *CUSTOMERS[:4])]
    for number, customer in enumerate(customers, 1):
        order = service.call("POST", "/orders", {"customerId": customer})
        item = {"orderId": order["id"], "productId": number, "quantity": number}
        service.call("POST", "/order-items", {**item, "customerId": customer})
        review = {"stars": number, "text": "Bright, and warm", "productId": 1}
        service.call("POST", "/reviews", {**review, "customerId": customer})
    service.call("POST", "/notes", {"text": "The key is under the mat"})
    service.call("POST", "/containers", {"name": "manuals"})


def _product(number: int, names: tuple[str, ...]) -> dict[str, Any]:
    return {
        "sku": f"LAMP-{number}",
        "name": f"{names[number % len(names)]} {number}",
        "price": f"{5 + number * 7 % 200}.{number % 100:02}",
        "status": ("on sale", "draft", "sold out")[number % 3],
        "releasedOn": f"2026-{number % 12 + 1:02}-15",
        "tags": ["brass", "warm"] if number % 2 else [],
    }


def _break(app: Flask) -> None:
    """Let a mail fail, and an address be locked out."""
    with app.app_context(), db.engine.begin() as connection:
        # The worker may be about to deliver it.
        last = select(func.max(Delivery.id)).where(Delivery.subscriber == "mail").scalar_subquery()
        failed = {"state": FAILED, "last_error": "the server refused the sender", "attempts": 5}
        connection.execute(
            update(Delivery).where(Delivery.id == last).values(**failed, finished=now())
        )
        moments = {
            "blocked_until": now() + timedelta(minutes=15),
            "expires_at": now() + timedelta(hours=1),
        }
        connection.execute(
            insert(Throttle).values(
                name="login_identity",
                digest="3f1c9a77b2d04e5f" * 4,
                count=50,
                started=now(),
                **moments,
            )
        )
