"""Findings in assignments, such as `Note.search = function() {…}`."""

from collections.abc import Iterator

from tree_sitter import Node

from ostiary_loopback.syntax import name_of

from .finding import PROTOTYPE, Found, Kind
from .scope import Scope

# Methods of LoopBack's models, without those of relations.
STATIC_METHODS = frozenset(
    (
        *("create", "createMany", "upsert", "updateOrCreate", "patchOrCreate", "replaceOrCreate"),
        *("upsertWithWhere", "patchOrCreateWithWhere", "findOrCreate", "exists", "findById"),
        *("find", "findOne", "destroyAll", "remove", "deleteAll", "updateAll", "update", "count"),
        *("destroyById", "removeById", "deleteById", "replaceById", "createChangeStream"),
        *("login", "logout", "confirm", "resetPassword", "changePassword", "setPassword"),
        *("setup", "checkAccess", "getApp", "resolve", "findByIds"),
    )
)
METHODS_OF_ROWS = frozenset(
    (
        *("save", "updateAttributes", "updateAttribute", "patchAttributes", "replaceAttributes"),
        *("destroy", "delete", "remove", "reload", "verify", "hasPassword", "createAccessToken"),
        *("isValid", "toJSON", "toObject", "unsetAttribute", "setAttributes"),
    )
)
# Hooks of LoopBack 1, which LoopBack 2 still calls.
MODEL_HOOKS = frozenset(
    f"{when}{action}"
    for when in ("before", "after")
    for action in ("Create", "Save", "Update", "Destroy", "Validate", "Validation", "Initialize")
)
SETTINGS = ("settings", "definition")
# Maximum keys of a path that may begin with a model.
MAX_KEYS = 8


def read_assignment(scope: Scope, node: Node) -> Iterator[Found]:
    """Yield the findings in an assignment."""
    left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
    if left is None or right is None:
        return
    path = list(_path(scope, left))
    # The first key is the model: `Note.prototype.archive`.
    model = scope.model_of(path[0][0]) if path else None
    names = [name for _, name in path if name]
    if model is None or not names:
        return
    if names[0] in SETTINGS:
        if len(names) > 1:
            yield Found(Kind.SETTING, model, ".".join(names))
    elif len(names) <= 2:
        yield from _function(scope, model, names, right)


def _path(scope: Scope, node: Node) -> Iterator[tuple[Node, str | None]]:
    """Yield the object that an expression begins with, and then each key."""
    keys = list[tuple[Node, str | None]]()
    inner: Node | None = node
    while (
        len(keys) < MAX_KEYS
        and inner is not None
        and inner.type in ("member_expression", "subscript_expression")
    ):
        key = scope.key_of(inner)
        keys.append((inner, key or "?"))
        inner = inner.child_by_field_name("object")
        if scope.model_of(inner):
            break
    if inner is not None and keys:
        yield inner, None
        yield from reversed(keys)


def _function(scope: Scope, model: str, names: list[str], value: Node) -> Iterator[Found]:
    is_static = names[0] != "prototype"
    function = scope.function(value)
    if function is None or (len(names) == 2) is is_static:
        return
    name = names[-1]
    if is_static and name in MODEL_HOOKS:
        yield Found(Kind.OPERATION_HOOK, model, name, function=function)
        return
    own = STATIC_METHODS if is_static else METHODS_OF_ROWS
    kind = Kind.OVERRIDE if name in own else Kind.FUNCTION
    yield Found(kind, model, name if is_static else PROTOTYPE + name, function=function)


def read_connector(scope: Scope, node: Node) -> Iterator[Found]:
    """Yield a connector that the application defines: `exports.initialize = function(…)`."""
    left = node.child_by_field_name("left")
    if name_of(left) not in ("exports.initialize", "module.exports.initialize"):
        return
    if scope.function_node(node.child_by_field_name("right")):
        yield Found(Kind.CONNECTOR, None, "initialize")
