"""Files of rows: their stores, URLs and forms, for the models that have such properties."""

import re
from collections.abc import Callable
from functools import wraps
from typing import Any

from flask import Flask, request
from flask.typing import ResponseReturnValue
from werkzeug.exceptions import RequestEntityTooLarge

from app import outbox
from app.access.policy import CREATE, authorize, related_method
from app.fields.files import File
from app.problems import ConfigurationError
from app.rest.answers import NO_CONTENT
from app.rest.collection import Collection, served_collections
from app.rest.endpoint import ASKS_FOR_UPLOAD, Endpoint, View, served_endpoints
from app.rest.requests.bodies import LOADED
from app.rest.routing import served_path
from app.rest.rows.files import UNUSED
from app.storage.errors import FileNotFound
from app.storage.setup import stores
from app.storage.uploads import MULTIPART

from .receiving import FilePlace, places, received_form
from .urls import UrlSigner
from .views import UPLOAD_ERRORS

NO_KEYS = (
    "needs FILE_URL_KEYS, a list with a secret of at least 32 characters, such as the output of"
    ' `python -c "import secrets; print(secrets.token_hex())"`'
)


def init_app(app: Flask) -> None:
    """Serve the files of rows; raise ConfigurationError without a key or a store for them."""
    # Also files of a property that was removed meanwhile.
    outbox.subscribe(app, UNUSED, "files", remove_unused)
    collections = served_collections.of(app)
    for collection in collections.values():
        for name, field in collection.files.items():
            try:
                _serve(app, collection, name, field)
            except ValueError as error:
                raise ConfigurationError(f"{collection.singular}.{name}: {error}") from None
    if places.of(app):
        for name, endpoint in [*served_endpoints.of(app).items()]:
            model = name.partition(".")[0]
            target = collections.get(endpoint.subject or model)
            is_creating = endpoint.method == CREATE or endpoint.requires == CREATE
            if target is not None and target.files and is_creating:
                _take_forms(app, name, endpoint, target)


def remove_unused(app: Flask, info: dict[str, Any]) -> str:
    """Remove files that no row has any more; some may be removed already."""
    removed = 0
    for file in info["files"]:
        opened = stores.of(app).get(file["store"])
        if opened is None:
            raise outbox.UndeliverableError("there is no such store")
        try:
            opened.store.remove_file(file["container"], file["key"])
            removed += 1
        except FileNotFound:
            continue
    return f"removed {removed} files"


def _serve(app: Flask, collection: Collection, name: str, field: File) -> None:
    """Open the place of a property's files; raise ValueError if that is not possible."""
    keys, options = app.config["FILE_URL_KEYS"], field.options
    if not keys:
        raise ValueError(NO_KEYS)
    opened = stores.of(app).get(options.store)
    if opened is None:
        raise ValueError(f"there is no store {options.store!r} of files in datasources.json")
    usual = re.sub(r"[^a-z0-9]+", "-", f"{collection.name}-{name}".lower()).strip("-")
    path = f"{app.config['REST_API_ROOT']}/{served_path(collection.path)}"
    signer = UrlSigner(keys, path, name)
    place = FilePlace.of(opened, options, options.container or usual, signer)
    places.of(app)[collection.name, name] = place
    field.url_of = signer.url_of


def _take_forms(app: Flask, name: str, endpoint: Endpoint, target: Collection) -> None:
    """Let an endpoint that creates a row take a form with its files."""
    most_text = app.config["MAX_CONTENT_LENGTH"]
    most = most_text + sum(field.options.max_bytes for field in target.files.values())
    view = app.view_functions[name]
    app.view_functions[name] = _with_form(name, endpoint, target, view, (most, most_text))
    served_endpoints.of(app)[name] = endpoint.replace(
        max_upload=most, upload_type=MULTIPART, errors=(*endpoint.errors, *UPLOAD_ERRORS)
    )


def _with_form(
    name: str, endpoint: Endpoint, target: Collection, view: View, limits: tuple[int, int]
) -> View:
    model, _, method = name.partition(".")
    call: Callable[..., ResponseReturnValue] = view

    @wraps(view)
    def respond(**arguments: str) -> ResponseReturnValue:
        asks = ASKS_FOR_UPLOAD in request.environ
        if request.mimetype != MULTIPART:
            if asks:
                raise RequestEntityTooLarge()
            return call(**arguments)
        # Again by the view. Here it refuses callers before the form is received.
        authorize(model, method, arguments.get("id"))
        if endpoint.requires:
            needed = endpoint.requires if target.is_owner_model else related_method(CREATE)
            target.related_grant(needed, method.split("__", 2)[2])
        if asks:
            return NO_CONTENT
        request.max_content_length = limits[0]
        content_type = request.headers.get("Content-Type", "")
        with received_form(target, request.stream, content_type, *limits) as body:
            request.environ[LOADED] = body
            return call(**arguments)

    return respond
