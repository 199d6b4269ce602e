"""Differences between two answers, and their kinds, documented ones and others."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple


class Kind(NamedTuple):
    """A kind of differences; one that is documented does not fail a comparison."""

    name: str
    is_documented: bool
    meaning: str


# Kinds with which clients read the same values.
DATE = Kind("date", True, "the same moment, written in another way")
KEY_ORDER = Kind("key order", True, "the keys of an object are in another order")
NULL = Kind("null", True, "a property is null in one answer and missing in the other")
ERROR_TEXT = Kind("error text", True, "errors of the same status and code have other words")
# Kinds that docs/compatibility.md documents.
REFUSAL = Kind("refusal", True, "both refuse, one with 401 and the other with 403")
HIDDEN_ROW = Kind("hidden row", True, "refused, and as if the row did not exist")
OWN_ROWS = Kind("own rows", True, "refused, and answered with the rows of the caller alone")
NO_RELATED = Kind("no related row", True, "an empty relation is {} or null, and 404")
UNKNOWN_PROPERTY = Kind("unknown property", True, "a filter with it is answered, and refused")
EMBEDDED_SCOPE = Kind("embedded scope", True, "an include of what is embedded has a scope")
INCLUDED = Kind("included row", True, "a relation has rows, and LoopBack 3 does not include them")
LIST_OF_ONE = Kind("list of one", True, "a list of at most one row is included as the row alone")
USERS_SCOPE = Kind("scope of users", True, "users include relations by default, and here not")
INCLUDES = Kind("number of includes", True, "a filter includes more relations than are allowed")
LINKED_LIMIT = Kind("limit of links", True, "limit in the include of a relation through a model")
NO_VALUE = Kind("no value", True, "rows without the property fulfil neq, nin and nlike")
TIES = Kind("order of ties", True, "rows that the order does not tell apart, or without an order")
NULLS = Kind("order of nulls", True, "rows without a value come first, with DESC last")
COLLATION = Kind("collation", True, "text is compared by code point, and not by letter")
OTHER_PAGE = Kind("other page", True, "another order puts other rows on a page; all are there")
RELATION = Kind("relation refused", True, "the rules of the related model refuse a relation")
FAILURE = Kind("failure", True, "the old service fails with 500, and the new one answers")
ADMIN = Kind("administrator", True, "calls of users are refused, and allowed for the role admin")
OWN_RECORD = Kind("own record", True, "exists of users is refused, and answered for their own")
HIDDEN_USER = Kind("hidden user", True, "a related user whom the caller may not read is left out")
ACCOUNT = Kind("account", True, "users have properties that they have in every application")
ROLE = Kind("role", True, "roles have a name, and an id of their own, alone")
EMAIL = Kind("email", True, "emails are in lower case")
SESSIONS = Kind("sessions", True, "access tokens are listed without their values")
# All other kinds, which are not documented.
STATUS = Kind("status", False, "the statuses differ")
ALLOWED = Kind("allowed", False, "the old service refuses, and the new one answers")
ERROR_CODE = Kind("error code", False, "errors of the same status have different codes")
MISSING_ROW = Kind("missing row", False, "a row is in the old answer only")
ADDED_ROW = Kind("added row", False, "a row is in the new answer only")
ROW_ORDER = Kind("row order", False, "the same rows are in another order")
MISSING = Kind("missing property", False, "a property is in the old answer only")
ADDED = Kind("added property", False, "a property is in the new answer only")
TYPE = Kind("type", False, "values of different types")
VALUE = Kind("value", False, "different values of the same type")
CONTENT = Kind("content", False, "answers that are not both JSON, or not JSON and not the same")
SIZE = Kind("size", False, "answers too large to be compared, of different sizes")
NO_ANSWER = Kind("no answer", False, "one of the services did not answer")

KINDS: Sequence[Kind] = (
    *(STATUS, ALLOWED, ERROR_CODE, MISSING_ROW, ADDED_ROW, ROW_ORDER, MISSING, ADDED, TYPE),
    *(VALUE, CONTENT, SIZE, NO_ANSWER),
    *(REFUSAL, HIDDEN_ROW, OWN_ROWS, NO_RELATED, UNKNOWN_PROPERTY, RELATION, SESSIONS),
    *(
        EMBEDDED_SCOPE,
        INCLUDED,
        LIST_OF_ONE,
        USERS_SCOPE,
        INCLUDES,
        LINKED_LIMIT,
        NO_VALUE,
        TIES,
        NULLS,
        COLLATION,
        OTHER_PAGE,
    ),
    *(FAILURE, ADMIN, OWN_RECORD, HIDDEN_USER, ACCOUNT, ROLE, EMAIL),
    *(DATE, KEY_ORDER, NULL, ERROR_TEXT),
)


Row = Mapping[str, Any]


class Difference(NamedTuple):
    """A difference: its kind, its place in the answers, and both values as a report shows them."""

    kind: Kind
    place: str
    old: str
    new: str
    # The rows of each answer that differ; no report has them.
    old_rows: Sequence[Row] = ()
    new_rows: Sequence[Row] = ()
