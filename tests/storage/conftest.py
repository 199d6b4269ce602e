"""An app with containers in a folder, and an S3 server over HTTP (moto)."""

import json
import logging
from types import SimpleNamespace

import pytest
from flask.testing import FlaskClient
from moto.server import ThreadedMotoServer

from tests.conftest import Api
from tests.definitions.conftest import running_a_command

CONTAINER = {
    "name": "container",
    "base": "Model",
    "acls": [
        {"principalType": "ROLE", "principalId": "$authenticated", "permission": "ALLOW"},
        {
            "principalType": "ROLE",
            "principalId": "$everyone",
            "permission": "ALLOW",
            "property": "download",
        },
    ],
}
# Without rules, nobody may do anything.
CLOSED = {"name": "closed", "base": "Model"}
CONFIG = {
    "container": {"dataSource": "storage"},
    "closed": {"dataSource": "storage", "public": True},
}
FORM = {"Content-Type": "multipart/form-data; boundary=x"}
PNG = b"\x89PNG\r\n\x1a\n" + b"the picture"


class Client(FlaskClient):
    """Closes each response, as servers do."""

    def open(self, *args, **options):
        return super().open(*args, buffered=True, **options)


@pytest.fixture(autouse=True)
def quiet_libraries():
    """Leave out what these log of each request while debugging: signatures look like tokens."""
    loggers = [logging.getLogger(name) for name in ("werkzeug", "botocore", "urllib3")]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.ERROR)
    yield
    for logger, level in zip(loggers, levels, strict=True):
        logger.setLevel(level)


@pytest.fixture(scope="session")
def s3_server():
    """The address of an S3 server."""
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture
def serve_files(make_app, tmp_path, secrets):
    """Serve containers of a store with this entry; return the API and the folder."""

    def serve(settings=None, **entry):
        folder = tmp_path / "models"
        folder.mkdir()
        (folder / "container.json").write_text(json.dumps(CONTAINER))
        (folder / "closed.json").write_text(json.dumps(CLOSED))
        (tmp_path / "model-config.json").write_text(json.dumps(CONFIG))
        root = tmp_path / "files"
        entry = {"connector": "loopback-component-storage", "root": str(root), **entry}
        with running_a_command():
            app = make_app(
                MODELS_FOLDER=str(folder), DATA_SOURCES={"storage": entry}, **(settings or {})
            )
        api = Api(Client(app, app.response_class), secrets)
        token = api.logged_in()

        def call(method, path, **kwargs):
            return api(method, f"/containers{path}", token=token, **kwargs)

        return SimpleNamespace(call=call, anonymous=api, root=root, app=app, token=token)

    return serve


@pytest.fixture(params=["filesystem", "amazon"])
def files(request, serve_files):
    """Containers in a folder, and in S3."""
    if request.param == "filesystem":
        yield serve_files(provider="filesystem")
        return
    address = request.getfixturevalue("s3_server")
    served = serve_files(
        provider="amazon", endpoint=address, keyId="key-id", key="key", region="us-east-1"
    )
    yield served
    for container in served.call("GET", "").json:
        served.call("DELETE", f"/{container['name']}")


@pytest.fixture
def local(serve_files):
    """Containers in a folder, one of which is `photos`."""
    served = serve_files()
    served.call("POST", "", json={"name": "photos"})
    return served


def send(files, *parts, container="photos", **fields):
    """Upload files, each a name, its content and its type."""
    texts = [part(f'name="{name}"', text.encode()) for name, text in fields.items()]
    sent = [part(f'name="file"; filename="{name}"', *rest) for name, *rest in parts]
    path = f"/{container}/upload"
    return files.call("POST", path, data=form(*texts, *sent), headers=FORM)


def form(*parts):
    """Return the bytes of a form."""
    return b"".join(b"--x\r\n" + part + b"\r\n" for part in parts) + b"--x--\r\n"


def part(disposition, content=b"a", kind="text/plain", more=b""):
    """Return a part of a form."""
    head = f"Content-Disposition: form-data; {disposition}\r\nContent-Type: {kind}\r\n"
    return head.encode() + more + b"\r\n" + content


def names_in(files, container="photos"):
    return [file["name"] for file in files.call("GET", f"/{container}/files").json]


def remains_of(files):
    """Return what is left of uploads that were not completed."""
    return list((files.root / ".uploads").iterdir())
