"""Statements and expressions of JavaScript, without what does not change their effect."""

from collections.abc import Iterator

from tree_sitter import Node

from ostiary_loopback.syntax import first_child, name_of, text_of

DECLARATIONS = ("variable_declaration", "lexical_declaration")
# What the names of functions that only log begin with.
LOGS = "console."


def statements_in(block: Node) -> Iterator[Node]:
    """Yield the statements of a block or of an `else`; a single statement itself."""
    if block.type == "else_clause":
        block = first_child(block) or block
    is_single = block.type not in ("statement_block", *DECLARATIONS)
    for node in [block] if is_single else block.named_children:
        if node.type not in ("comment", "empty_statement"):
            yield node


def unwrapped(node: Node) -> Node:
    """Return the expression in parentheses and after `await`."""
    while node.type in ("parenthesized_expression", "await_expression"):
        if (inner := first_child(node)) is None:
            break
        node = inner
    return node


def alternatives(condition: Node) -> Iterator[Node]:
    """Yield the parts of a condition that `||` joins, the last one first."""
    waiting = [condition]
    while waiting:
        part = unwrapped(waiting.pop())
        left, operator, right = operands(part)
        if left and right and operator == "||":
            waiting += [left, right]
        else:
            yield part


def operands(node: Node) -> tuple[Node | None, str, Node | None]:
    """Return the operands of a binary expression, and its operator; nothing for other nodes."""
    if node.type != "binary_expression":
        return None, "", None
    left, operator, right = map(node.child_by_field_name, ("left", "operator", "right"))
    return left, text_of(operator) if operator else "", right


def is_log(statement: Node) -> bool:
    """Return True for a statement that only logs."""
    call = first_child(statement) if statement.type == "expression_statement" else None
    if call is None or call.type != "call_expression":
        return False
    return name_of(call.child_by_field_name("function")).startswith(LOGS)


def pairs(node: Node | None) -> dict[str, Node] | None:
    """Return the nodes of the values of an object; None if its keys are not certain."""
    if node is None or node.type != "object":
        return None
    found = {}
    for member in node.named_children:
        key, value = map(member.child_by_field_name, ("key", "value"))
        if member.type == "shorthand_property_identifier":
            found[text_of(member)] = member
        elif member.type == "pair" and key and value and key.type != "computed_property_name":
            found[text_of(key).strip("'\"")] = value
        elif member.type != "comment":
            return None
    return found
