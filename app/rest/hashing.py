"""Endpoints that compute password hashes."""

from typing import TypeVar

from flask import Flask

from .collection import Collection, served_collections
from .endpoint import Endpoint, View, served_endpoints

AnyView = TypeVar("AnyView", bound=View)


def computes_hash(view: AnyView) -> AnyView:
    """Declare that a Flask view without a resource hashes a password.

    Requests for it are queued without occupying a thread. It is a decorator.
    """
    view.computes_hash = True  # type: ignore[attr-defined]
    return view


def hashed_property(endpoint: Endpoint, subject: Collection | None) -> str | None:
    """Return the property without which an endpoint's body causes no password hash.

    Empty if any body causes one, and None if none does. `subject` is the collection of the body.
    """
    if endpoint.hashes:
        return ""
    return subject.rows.hashed if subject and isinstance(endpoint.body, str) else None


def hashing_views(app: Flask) -> dict[str, str]:
    """Return the names of the views that compute hashes, each with its `hashed_property`."""
    found = {
        name: "" for name, view in app.view_functions.items() if hasattr(view, "computes_hash")
    }
    collections = served_collections.of(app)
    for name, endpoint in served_endpoints.of(app).items():
        subject = collections.get(endpoint.subject or name.partition(".")[0])
        if (needed := hashed_property(endpoint, subject)) is not None:
            found[name] = needed
    return found
