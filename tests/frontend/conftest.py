"""A front end as a bundler writes it, with what must not be sent in it and beside it."""

import pytest
from flask.testing import FlaskClient

POLICY = "default-src 'self'"
PAGE = (
    "<!doctype html><title>Library</title><link rel=icon href=data:,>"
    "<script src=/main.3f2a1c.js></script>"
)
FILES = {
    "index.html": PAGE,
    "main.3f2a1c.js": "document.title = 'Library, loaded';",
    "docs/index.html": "Documents",
    "images/logo one.svg": "<svg/>",
    "größe.txt": "größe",
    ".well-known/security.txt": "Contact: mailto:security@example.com",
    ".well-known/.hidden": "hidden",
    ".env": "hidden",
    ".git/config": "hidden",
    "images/.hidden": "hidden",
    "main.3f2a1c.js.map": "hidden",
    "explorer/index.html": "hidden",
    "api/index.html": "hidden",
    "health": "hidden",
}


class Client(FlaskClient):
    """Closes each response, as servers do."""

    def open(self, *args, **options):
        return super().open(*args, buffered=True, **options)


@pytest.fixture(scope="session")
def site(tmp_path_factory):
    """A folder of a front end; its page is also that of the explorer."""
    folder = tmp_path_factory.mktemp("project") / "site"
    for name, text in FILES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (folder.parent / "config.py").write_text("hidden")
    (folder.parent / "site-private").mkdir()
    (folder.parent / "site-private" / "a.txt").write_text("hidden")
    (folder / "outside.txt").symlink_to(folder.parent / "config.py")
    (folder / "outside").symlink_to(folder.parent)
    (folder / "itself.txt").symlink_to("itself.txt")
    (folder / "round").symlink_to(".")
    (folder / "neighbour").symlink_to(folder.parent / "site-private")
    (folder / "inside.js").symlink_to("main.3f2a1c.js")
    return folder


@pytest.fixture
def app(shared_app, site):
    return shared_app(STATIC_FOLDER=str(site), TOKEN_MIDDLEWARE={})


@pytest.fixture
def client(app):
    return Client(app, app.response_class)
