"""The stores of an app, to which models are attached."""

from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from flask import Flask

from app.config import require_extra
from app.problems import ConfigurationError
from app.rest.endpoint import Endpoint
from app.state import AppState

from . import PROVIDERS
from .local import LocalStore
from .settings import read_settings
from .views import store_endpoints

if TYPE_CHECKING:
    from .settings import StoreSettings
    from .store import Store


@dataclass(frozen=True)
class OpenStore:
    """A store with its settings."""

    store: "Store"
    settings: "StoreSettings"

    def endpoints(self) -> list[Endpoint]:
        """Return the endpoints of a model attached to the store."""
        most = self.settings.max_request_size
        return [
            endpoint.replace(max_upload=most) if endpoint.method == "upload" else endpoint
            for endpoint in store_endpoints(self.store, self.settings)
        ]


stores = AppState[dict[str, OpenStore]]("stores", factory=lambda _app: {})


def init_app(app: Flask) -> None:
    """Open the stores of STORES; raise ConfigurationError for an invalid one."""
    for name, entry in app.config["STORES"].items():
        try:
            stores.of(app)[name] = _open(app, name, entry)
        except ConfigurationError as error:
            raise ConfigurationError(f"the store {name} cannot be used: {error}") from None


def _open(app: Flask, name: str, entry: object) -> OpenStore:
    settings, ignored = read_settings(entry)
    for key in ignored:
        app.logger.warning("the store %s: %s is without effect", name, key)
    if settings.provider == PROVIDERS[0]:
        _check_root(app, Path(app.instance_path, settings.root))
        return OpenStore(LocalStore.open(settings, app.instance_path), settings)
    require_extra("provider amazon", "s3", "boto3")
    # Only imported if used, because it takes time and memory.
    s3 = import_module("app.storage.s3")
    return OpenStore(s3.S3Store.open(settings, app.instance_path), settings)


def _check_root(app: Flask, root: Path) -> None:
    """Raise ConfigurationError for a root that contains files of something else.

    Clients could otherwise replace files of the project or its front end, or stored files would be
    public regardless of the rules.
    """
    project, root = Path(app.instance_path).resolve(), root.resolve()
    if project.is_relative_to(root):
        raise ConfigurationError(f"root has the whole project in it: {root}")
    if app.config["STATIC_FOLDER"] is None:
        return
    front_end = Path(project, app.config["STATIC_FOLDER"]).resolve()
    if root.is_relative_to(front_end) or front_end.is_relative_to(root):
        raise ConfigurationError(f"root and STATIC_FOLDER must not be in each other: {root}")
