"""The audit log of all users."""

from dataclasses import replace

from flask.typing import ResponseReturnValue

from app.access.rules import READ
from app.admin.calls import FILTER_ERRORS, call
from app.rest.collection import served_collections
from app.rest.filters.tree import Filter, Order, Place
from app.rest.requests.parameters import read_parameter
from app.rest.views.lists import respond_page
from app.users.views.audit import LATEST_FIRST

# The same order; the records of one action have an index for it.
LATEST_OF_ACTION = (Order(Place("time"), descending=True), *LATEST_FIRST)


@call(
    "findAudit",
    READ,
    "GET /audit",
    query="filter",
    answer="[{}WithRelations]",
    has_pages=True,
    subject="audit",
    errors=FILTER_ERRORS,
)
def find_audit() -> ResponseReturnValue:
    """List the records of the audit log that a filter selects, newest first."""
    collection = served_collections.current["audit"]
    filter_ = collection.parse(read_parameter("filter"))
    ordered = replace(filter_, order=filter_.order or _latest_first(filter_))
    return respond_page(collection, collection.rows.find([], ordered), list, ordered)


def _latest_first(filter_: Filter) -> tuple[Order, ...]:
    where = filter_.raw.get("where")
    is_of_action = isinstance(where, dict) and isinstance(where.get("action"), str)
    return LATEST_OF_ACTION if is_of_action else LATEST_FIRST
