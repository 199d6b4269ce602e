"""The roles that boot scripts give to users."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from tree_sitter import Node

from ostiary_loopback.javascript import Finding
from ostiary_loopback.literals import Expression
from ostiary_loopback.syntax import text_of

from .created import CreatedRows

JsonObject = Mapping[str, Any]
MAPPING = "RoleMapping"


class Grant(NamedTuple):
    """A role, and the row of a user; each is None if it is not certain."""

    role: str | None
    user: JsonObject | None


class Grants:
    """Reads `role.principals.create` and `RoleMapping.create`.

    With typed tokens, LoopBack 3 finds no role that was given to a `USER`.
    """

    def __init__(self, created: CreatedRows, has_typed_tokens: bool) -> None:
        self._created = created
        self._has_typed_tokens = has_typed_tokens

    def of(self, finding: Finding, rows: Sequence[JsonObject]) -> list[Grant]:
        """Return what a call grants; an uncertain grant if it has no literals."""
        return [grant for row in rows or [{}] for grant in self._of_row(finding.node, row)]

    def _of_row(self, call: Node | None, row: JsonObject) -> Iterator[Grant]:
        roles = self._created.rows(_owner(call)) or self._by_id(row.get("roleId"))
        names = [role["name"] for role in roles if isinstance(role.get("name"), str)]
        name = names[0] if len(names) == 1 else None
        is_given = _is_user(row) and not self._has_typed_tokens
        users = self._by_id(row.get("principalId")) if is_given else ()
        if not users:
            yield Grant(name, None)
        for user in users:
            yield Grant(name, user)

    def _by_id(self, value: object) -> Sequence[JsonObject]:
        return self._created.by_id(value.node) if isinstance(value, Expression) else ()


def _owner(call: Node | None) -> Node | None:
    """Return the role of `role.principals.create(...)`."""
    method = call.child_by_field_name("function") if call else None
    principals = method.child_by_field_name("object") if method else None
    if principals is None or principals.type != "member_expression":
        return None
    return principals.child_by_field_name("object")


def _is_user(row: JsonObject) -> bool:
    """Return True if a principal is a user: `'USER'`, or `RoleMapping.USER`."""
    kind = row.get("principalType")
    text = text_of(kind.node) if isinstance(kind, Expression) else kind
    return isinstance(text, str) and text.rpartition(".")[2] == "USER"
