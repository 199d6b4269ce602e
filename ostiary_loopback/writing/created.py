"""The rows that names in boot scripts refer to: results of callbacks, promises and `await`."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from tree_sitter import Node

from ostiary_loopback.javascript import Finding
from ostiary_loopback.javascript.finding import Creation
from ostiary_loopback.javascript.scope import parameters_of
from ostiary_loopback.literals import FUNCTIONS, Constants, arguments_of, expressions
from ostiary_loopback.syntax import first_child, text_of, walk

JsonObject = Mapping[str, Any]
Rows = Sequence[JsonObject]
# Maximum number of names and calls that are followed, each to the next one.
MAX_STEPS = 20
# Methods whose callback gets the result, or each of its items, as its first argument.
RESULTS = ("then", "spread", "forEach", "map", "each")
FINDS = ("findOne", "find")
LITERALS = Constants({})


class CreatedRows:
    """The rows that scripts create, found by the expressions that refer to them."""

    def __init__(self, found: Iterable[Finding]) -> None:
        # Nodes of several files may have the same id.
        self._created = {
            (finding.node.id, text_of(finding.node)): finding.details.rows
            for finding in found
            if finding.node is not None and isinstance(finding.details, Creation)
        }

    def rows(self, node: Node | None, steps: int = MAX_STEPS) -> Rows:
        """Return the rows to which an expression refers; none if that is not certain."""
        if node is None or not steps:
            return ()
        if node.type in ("await_expression", "parenthesized_expression"):
            return self.rows(first_child(node), steps - 1)
        if node.type == "identifier":
            return self._named(node, steps - 1)
        if node.type == "subscript_expression":
            rows = self.rows(node.child_by_field_name("object"), steps - 1)
            return _at(rows, LITERALS.value(node.child_by_field_name("index")))
        return self._of_call(node, steps - 1) if node.type == "call_expression" else ()

    def by_id(self, node: Node) -> Rows:
        """Return the rows to which `row.id` refers."""
        key = node.child_by_field_name("property")
        is_id = node.type == "member_expression" and key is not None and text_of(key) == "id"
        return self.rows(node.child_by_field_name("object")) if is_id else ()

    def _of_call(self, call: Node, steps: int) -> Rows:
        """Return the rows that a call returns: it creates or finds them, or is `then`."""
        if rows := self._created.get((call.id, text_of(call))):
            return rows
        method, arguments = _method(call), arguments_of(call)
        if method == "then" and arguments and arguments[0].type in FUNCTIONS:
            returned = list(_returned(arguments[0]))
            return self.rows(returned[0], steps) if len(returned) == 1 else ()
        where = LITERALS.value(arguments[0]) if method in FINDS and arguments else None
        found = where.get("where") if isinstance(where, dict) else None
        return [found] if isinstance(found, dict) and not expressions(found) else ()

    def _named(self, name: Node, steps: int) -> Rows:
        """Return the rows to which a name refers, by the innermost scope that has it."""
        text, scope = text_of(name), name.parent
        while scope is not None:
            if scope.type in FUNCTIONS and (position := _position(scope, text)):
                return self._argument(scope, *position, steps)
            for target, value in _declared(scope):
                if text_of(target) == text:
                    return self._value(scope, text, value, steps)
                items = _names(target) if target.type == "array_pattern" else []
                if text in items:
                    return _at(self.rows(value, steps), items.index(text))
            scope = scope.parent
        return ()

    def _value(self, scope: Node, name: str, value: Node | None, steps: int) -> Rows:
        """Return the rows of a variable, which is assigned once."""
        values = [value] if value is not None else []
        values += [
            right
            for node in walk(scope)
            if node.type == "assignment_expression"
            and (left := node.child_by_field_name("left")) is not None
            and (right := node.child_by_field_name("right")) is not None
            and text_of(left) == name
        ]
        return self.rows(values[0], steps) if len(values) == 1 else ()

    def _argument(self, function: Node, position: int, item: int | None, steps: int) -> Rows:
        """Return the rows that a call gives its callback as an argument, or an item of them."""
        call = function.parent.parent if function.parent else None
        if call is None or call.type != "call_expression":
            return ()
        if _method(call) in RESULTS:
            owner = call.child_by_field_name("function")
            rows = self.rows(owner.child_by_field_name("object"), steps) if owner else ()
            rows = rows if position == 0 else ()
        else:
            # The first argument is an error.
            rows = self._of_call(call, steps) if position == 1 else ()
        return rows if item is None else _at(rows, item)


def _at(rows: Rows, index: object) -> Rows:
    return rows[index : index + 1] if isinstance(index, int) and index >= 0 else ()


def _method(call: Node) -> str:
    """Return the name of the method that a call calls."""
    function = call.child_by_field_name("function")
    key = function.child_by_field_name("property") if function else None
    return text_of(key) if key is not None else ""


def _position(function: Node, name: str) -> tuple[int, int | None] | None:
    """Return the position of a parameter, and the one of a name in its pattern `[a, b]`."""
    for position, parameter in enumerate(parameters_of(function)):
        if parameter == name:
            return position, None
        names = [item.strip() for item in parameter.strip("[]").split(",")]
        if parameter.startswith("[") and name in names:
            return position, names.index(name)
    return None


def _declared(scope: Node) -> Iterator[tuple[Node, Node | None]]:
    """Yield the names, or patterns, that the statements of a block declare, and their values."""
    for statement in scope.named_children:
        if statement.type in ("lexical_declaration", "variable_declaration"):
            for declarator in statement.named_children:
                target = declarator.child_by_field_name("name")
                if target is not None:
                    yield target, declarator.child_by_field_name("value")


def _names(pattern: Node) -> list[str]:
    return [text_of(node) for node in pattern.named_children]


def _returned(function: Node) -> Iterator[Node]:
    """Yield the expressions that a function returns."""
    body = function.child_by_field_name("body")
    if body is None or body.type != "statement_block":
        yield from filter(None, [body])
        return
    for node in walk(body):
        if node.type == "return_statement" and _function_of(node) == function:
            yield from filter(None, [first_child(node)])


def _function_of(node: Node) -> Node | None:
    parent = node.parent
    while parent is not None and parent.type not in FUNCTIONS:
        parent = parent.parent
    return parent
