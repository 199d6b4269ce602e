"""Every view of the admin page, and of its dialogs the most important ones."""

from typing import NamedTuple
from urllib.parse import quote

DRAFTS = '{"status": "draft"}'


class Shown(NamedTuple):
    """A view by its address, and the buttons that open the dialog that is looked at, if any."""

    name: str
    address: str
    buttons: tuple[str, ...] = ()


VIEWS = [
    Shown("state", "state"),
    Shown("users", "users"),
    Shown("user", "users/3"),
    Shown("user-disable", "users/3", ("Disable",)),
    Shown("user-roles", "users/1/roles"),
    Shown("user-sessions", "users/1/sessions"),
    Shown("user-identities", "users/3/identities"),
    Shown("user-factors", "users/3/factors"),
    Shown("user-tokens", "users/3/tokens"),
    Shown("user-history", "users/3/history"),
    Shown("user-new", "users/new"),
    Shown("roles", "roles"),
    Shown("role", "roles/clerk"),
    Shown("audit", "audit"),
    Shown("outbox", "outbox"),
    Shown("webhooks", "webhooks"),
    Shown("jobs", "jobs"),
    Shown("locks", "locks"),
    Shown("files", "files"),
    Shown("container", "files/containers/manuals"),
    Shown("models", "models"),
    Shown("model", "models/products"),
    Shown("sources", "sources"),
    Shown("source-call", "sources/shop/product"),
    Shown("providers", "providers"),
    Shown("settings", "settings"),
    Shown("rows", "rows/products"),
    Shown("rows-filtered", "rows/products?q=lantern&order=price&where=" + quote(DRAFTS)),
    Shown("rows-filter", "rows/products", ("Filter",)),
    Shown("rows-columns", "rows/products", ("Columns",)),
    Shown("rows-download", "rows/products", ("Download",)),
    Shown("rows-references", "rows/order-items"),
    Shown("rows-empty", "rows/shipments"),
    Shown("row", "rows/products/1"),
    Shown("row-delete", "rows/products/1", ("Delete",)),
    Shown("row-related", "rows/products/1/reviews"),
    Shown("row-new", "rows/shipments/new"),
    Shown("row-search", "rows/reviews/new", ("Search for productId",)),
    Shown("nothing", "nothing"),
]
