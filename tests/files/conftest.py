"""An app whose photos have files, in a folder or in S3."""

import pytest

from app.outbox.delivery import drain
from tests.conftest import Api
from tests.definitions.conftest import make_models, write_models
from tests.definitions.library import OPEN, rule
from tests.storage.conftest import PNG, Client, quiet_libraries, s3_server

__all__ = ["make_models", "quiet_libraries", "s3_server", "write_models"]

KEY = "a key for tests of at least 32 characters"
IMAGE = {"type": "file", "store": "pictures", "types": ["image/*"], "maxBytes": 2000}
PHOTO = {
    "name": "Photo",
    "properties": {
        "title": {"type": "string", "required": True},
        "stars": "number",
        "tags": ["string"],
        "image": IMAGE,
    },
    "relations": {
        "owner": {"type": "belongsTo", "model": "User", "foreignKey": "ownerId"},
        "album": {"type": "belongsTo", "model": "Album"},
    },
    "acls": [
        rule("$authenticated", property="create"),
        rule("$owner", "ALLOW"),
    ],
}
ALBUM = {
    "name": "Album",
    "properties": {"title": "string"},
    "relations": {"photos": {"type": "hasMany", "model": "Photo"}},
    "acls": OPEN,
}


FORM = {"Content-Type": "multipart/form-data; boundary=x"}


def form(*parts):
    """Return the bytes of a form."""
    return b"".join(b"--x\r\n" + part + b"\r\n" for part in parts) + b"--x--\r\n"


def text_part(name, text):
    return f'Content-Disposition: form-data; name="{name}"\r\n\r\n{text}'.encode()


def file_part(name, filename, content=PNG, kind="image/png"):
    head = f'Content-Disposition: form-data; name="{name}"; filename="{filename}"\r\n'
    return head.encode() + f"Content-Type: {kind}\r\n\r\n".encode() + content


@pytest.fixture
def serve_photos(make_models, tmp_path, secrets):
    """Serve models whose files are in a store; return calls of one user."""

    def serve(models=None, settings=None, code=None, **entry):
        models = models or {"photo": PHOTO, "album": ALBUM}
        root = tmp_path / "files"
        entry = {"connector": "loopback-component-storage", "root": str(root), **entry}
        settings = {"FILE_URL_KEYS": [KEY], "OUTBOX_IN_PROCESS": False, **(settings or {})}
        app = make_models(models, code=code, DATA_SOURCES={"pictures": entry}, **settings)
        return Photos(app, Api(Client(app, app.response_class), secrets), root)

    return serve


@pytest.fixture
def photos(serve_photos):
    """Photos with files in a folder."""
    return serve_photos()


@pytest.fixture(params=["filesystem", "amazon"])
def stored_photos(request, serve_photos):
    """Photos with files in a folder, and in S3."""
    if request.param == "filesystem":
        yield serve_photos()
        return
    address = request.getfixturevalue("s3_server")
    yield serve_photos(
        provider="amazon", endpoint=address, keyId="key-id", key="key", region="us-east-1"
    )


class Photos:
    """Calls of one user."""

    def __init__(self, app, api, root):
        self.app, self.api, self.root = app, api, root
        self.token = api.logged_in()

    def __call__(self, method, path, body=None, **options):
        return self.api(method, path, body, **{"token": self.token, **options})

    def upload(self, path="/photos", image=("cat.png", PNG, "image/png"), **fields):
        """Send a form with a file, unless it is None."""
        parts = [text_part(name, value) for name, value in fields.items()]
        if image is not None:
            parts.append(file_part("image", *image))
        return self("POST", path, data=form(*parts), headers=FORM)

    def photo(self, **fields):
        """Store a photo with a file; return its JSON object."""
        answer = self.upload(**{"title": "A cat", **fields})
        assert answer.status_code == 200, answer.json
        return answer.json

    def stored(self):
        """Return the keys of the files in the container of photos."""
        return sorted(path.name for path in self.root.glob("*/*") if path.parent.name != ".uploads")

    def drain(self):
        """Do what is to be done after commits."""
        return drain(self.app)
