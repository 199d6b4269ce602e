"""Which differences are documented: those that the rules and the design of Ostiary cause.

None of them hides that a row is lost: the call, the filter and the row itself must explain why a
row is left out, and `Comparison` asks the new service whether it exists.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from .answers import Answer
from .calls import Call
from .filters import (
    compares_letters,
    includes,
    is_limited_include,
    is_whole_page,
    order_of,
    selects_without_value,
)
from .kinds import (
    ACCOUNT,
    ADDED,
    ADDED_ROW,
    ADMIN,
    ALLOWED,
    COLLATION,
    EMBEDDED_SCOPE,
    FAILURE,
    HIDDEN_ROW,
    HIDDEN_USER,
    INCLUDED,
    INCLUDES,
    LINKED_LIMIT,
    LIST_OF_ONE,
    MISSING,
    MISSING_ROW,
    NO_RELATED,
    NO_VALUE,
    OTHER_PAGE,
    OWN_RECORD,
    OWN_ROWS,
    REFUSAL,
    RELATION,
    ROLE,
    ROW_ORDER,
    STATUS,
    TYPE,
    UNKNOWN_PROPERTY,
    USERS_SCOPE,
    VALUE,
    Difference,
    Kind,
)
from .orders import order_kind
from .values import rows_of

REFUSED = (401, 403)
_NOTHING = ("missing", "null")
_EMPTY, _ONE = "a list of 0", "a list of 1"
_NO_ROWS = ("missing", "0 rows", "0 items")
# Properties of users that LoopBack 3 leaves out or does not have, and their values here.
_OF_ACCOUNTS = {"created": None, "emailVerified": "false"}
# Properties of roles that Ostiary does not have, and those with ids of its own.
_OF_ROLES = ("created", "modified", "description")
_IDS_OF_ROLES = ("id", "roleId")
# Parts of the messages of Ostiary's errors for filters: a condition on a property that a model does
# not have, a scope of objects that are embedded in a row, and the limit of includes.
_OF_FILTERS = {
    "There is no property": UNKNOWN_PROPERTY,
    "takes no scope: what is embedded": EMBEDDED_SCOPE,
    "a filter includes at most": INCLUDES,
}

# An error of LoopBack 3 for a single role of a user, who has it: the ids of users in RoleMapping
# are text, and those of users may be numbers.
_NO_LINK_TO_ROLE = "No relation found in RoleMapping"


class Context(NamedTuple):
    """Facts about a call, from the OpenAPI document of the new service."""

    # Whether rules allow the call for the caller's own rows, or for the caller's own record.
    is_own_rows: bool = False
    is_own_record: bool = False
    # Whether rules allow it, as a call of a model of users, for administrators.
    is_admins: bool = False
    # Whether the answer is the first row of a list, or the rows of a list.
    is_first: bool = False
    is_list: bool = False
    # Whether there are users among the rows of the answer.
    is_users: bool = False
    # The property with the ids of the rows, and those of all models whose ids are not named `id`.
    id_name: str = "id"
    id_names: Sequence[str] = ()
    # The relations of these rows.
    relations: frozenset[str] = frozenset()
    # The path of the list of these rows, and those of the lists of users.
    list_path: str | None = None
    users_paths: Sequence[str] = ()
    # A path that only administrators may call.
    admins_path: str | None = None
    # The names of relations to users and to roles, and of those through a third model.
    user_relations: frozenset[str] = frozenset()
    role_relations: frozenset[str] = frozenset()
    linked: frozenset[str] = frozenset()


NO_CONTEXT = Context()


def documented(difference: Difference, call: Call, context: Context) -> Difference:
    """Return a difference, with its documented kind if it has one."""
    for recognize in _RECOGNIZE:
        if kind := recognize(difference, call, context):
            return difference._replace(kind=kind)
    return difference


def _of_users(difference: Difference, call: Call, context: Context) -> Kind | None:
    parent, name = _place(difference.place, call)
    if difference.kind in (MISSING, TYPE, MISSING_ROW) and name in context.user_relations:
        is_left_out = difference.kind is MISSING_ROW or difference.new in _NOTHING
        return HIDDEN_USER if is_left_out and _are_users(difference.old_rows) else None
    is_of_user = context.is_users if not parent else parent in context.user_relations
    if difference.kind in (ADDED, TYPE) and is_of_user and name in _OF_ACCOUNTS:
        is_default = _OF_ACCOUNTS[name] in (None, difference.new)
        return ACCOUNT if difference.old in _NOTHING and is_default else None
    return None


def _place(place: str, call: Call) -> tuple[str, str]:
    """Return the names of the relation and of the property of a place, or of the call."""
    *parents, name = (part.removesuffix("[]") for part in place.split("."))
    return (parents[-1] if parents else ""), name or _relation(call)


def _relation(call: Call) -> str:
    """Return the name of the relation that a call reads, or an empty text."""
    return call.path.rstrip("/").rpartition("/")[2] if _is_relation(call.path) else ""


def _are_users(rows: Sequence[Mapping[str, Any]]) -> bool:
    return bool(rows) and all("email" in row for row in rows)


def _of_roles(difference: Difference, call: Call, context: Context) -> Kind | None:
    parent, name = _place(difference.place, call)
    if difference.kind is MISSING and (parent or _relation(call)) in context.role_relations:
        return ROLE if name in _OF_ROLES else None
    if difference.kind in (TYPE, VALUE) and parent in context.role_relations:
        return ROLE if name in _IDS_OF_ROLES else None
    if difference.kind in (MISSING_ROW, ADDED_ROW) and name in context.role_relations:
        # The ids of these rows may be others.
        names = [
            sorted(str(row.get("name")) for row in rows)
            for rows in (difference.old_rows, difference.new_rows)
        ]
        return ROLE if names[0] == names[1] else None
    return None


def _of_included_rows(difference: Difference, call: Call, context: Context) -> Kind | None:
    relation = included_relation(difference.place)
    if relation not in context.relations:
        return None
    kind, old, new = difference.kind, difference.old, difference.new
    if (kind, new) == (ADDED, _EMPTY) or (kind is TYPE and new == _ONE and _is_same(difference)):
        return LIST_OF_ONE
    if kind is MISSING and context.is_users and not includes(call.query, relation):
        return USERS_SCOPE
    return INCLUDED if kind in (ADDED, ADDED_ROW) and old in _NO_ROWS else None


def _is_same(difference: Difference) -> bool:
    """Return True if both values have one row, with the same id."""
    ids = [[row.get("id") for row in rows] for rows in (difference.old_rows, difference.new_rows)]
    return ids[0] == ids[1] != [None]


def included_relation(place: str) -> str:
    """Return the name of the relation at a place in rows that are not included themselves."""
    return place.removeprefix("[].").removesuffix("[]")


def _of_missing_rows(difference: Difference, call: Call, context: Context) -> Kind | None:
    if difference.kind is not MISSING_ROW:
        return None
    relation = included_relation(difference.place)
    if relation in context.linked and is_limited_include(call.query, relation):
        return LINKED_LIMIT
    if not relation and compares_letters(call.query, difference.old_rows, is_old=True):
        return COLLATION
    return OTHER_PAGE if _is_other_page(difference, call, context) else None


def _of_added_rows(difference: Difference, call: Call, context: Context) -> Kind | None:
    if difference.kind is not ADDED_ROW or difference.place != "[]":
        return None
    if selects_without_value(call.query, difference.new_rows):
        return NO_VALUE
    if compares_letters(call.query, difference.new_rows, is_old=False):
        return COLLATION
    return OTHER_PAGE if _is_other_page(difference, call, context) else None


def _is_other_page(difference: Difference, call: Call, context: Context) -> bool:
    """Return True if both pages have the same number of rows, but may begin or end elsewhere."""
    is_same_size = len(difference.old_rows) == len(difference.new_rows) > 0
    is_top = difference.place == "[]" and (context.is_first or context.is_list)
    rows = 1 if context.is_first else int(difference.old.partition(" ")[0])
    return is_same_size and is_top and is_whole_page(call.query, rows, context.is_first)


def _of_orders(difference: Difference, call: Call, context: Context) -> Kind | None:
    if difference.kind is not ROW_ORDER:
        return None
    relation = difference.place.removeprefix("[]").removeprefix(".").removesuffix("[]")
    id_name = next(
        (name for name in ("id", *context.id_names) if name in difference.new_rows[0]), "id"
    )
    order = order_of(call.query, relation)
    if order is None:
        return None
    return order_kind(order, id_name, difference.old_rows, difference.new_rows)


_RECOGNIZE = (
    _of_users,
    _of_roles,
    _of_included_rows,
    _of_missing_rows,
    _of_added_rows,
    _of_orders,
)


def status_kind(call: Call, old: Answer, new: Answer, context: Context) -> Kind:
    """Return the kind of two answers with different statuses."""
    if old.status in REFUSED:
        return _refused_kind(new, context)
    if kind := _failed_kind(old, new):
        return kind
    if new.status in REFUSED and old.status in (200, 404) and _names_relation(new):
        return RELATION
    if old.status == 200 and new.status == 404 and _is_relation(call.path):
        return _not_found_kind(old, context)
    if new.status == 400:
        return _refused_filter_kind(_message(new))
    return STATUS


def _failed_kind(old: Answer, new: Answer) -> Kind | None:
    """Return the kind of an old answer that is an error by a mistake of LoopBack 3, or None."""
    if old.status == 404 and new.status < 300 and _NO_LINK_TO_ROLE in _message(old):
        return ROLE
    return FAILURE if old.status == 500 and new.status < 500 else None


def _refused_filter_kind(message: str) -> Kind:
    return next((kind for part, kind in _OF_FILTERS.items() if part in message), STATUS)


def _not_found_kind(old: Answer, context: Context) -> Kind:
    if old.json is None or old.json.value in (None, {}):
        return NO_RELATED
    return HIDDEN_USER if context.is_users and _are_users(rows_of(old.json.value)) else STATUS


def _refused_kind(new: Answer, context: Context) -> Kind:
    if new.status in REFUSED:
        return REFUSAL
    if new.status == 404 or (new.json is not None and new.json.value == {"exists": False}):
        return HIDDEN_ROW
    if new.status >= 400:
        return STATUS
    if context.is_own_record:
        return OWN_RECORD
    if context.is_own_rows:
        return OWN_ROWS
    return ADMIN if context.is_admins else ALLOWED


def _is_relation(path: str) -> bool:
    """Return True if a path has more than a model, an id and `exists` or `count`."""
    segments = path.strip("/").split("/")
    return len(segments) > 2 and segments[-1] != "exists"


def _names_relation(answer: Answer) -> bool:
    """Return True if the rules of the target of a relation refuse a call."""
    details = error_of(answer.json.value if answer.json else None).get("details")
    return isinstance(details, dict) and "relation" in details


def _message(answer: Answer) -> str:
    return str(error_of(answer.json.value if answer.json else None).get("message"))


def error_of(body: object) -> Mapping[str, Any]:
    """Return the error in a body; an empty object if it has none."""
    error = body.get("error") if isinstance(body, dict) else None
    return error if isinstance(error, dict) else {}
