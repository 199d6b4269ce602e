"""The values of JavaScript literals, and of names with a constant value."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tree_sitter import Node

from .syntax import Script, first_child, name_of, text_of, walk

# Values that are nested more deeply are kept as expressions.
MAX_DEPTH = 30
# The key of an object that stands for an environment variable: {"$env": "PORT"}; the value of the
# code for an unset variable, if any, is beside it as "default".
ENVIRONMENT = "$env"
# Constructors by which models name the types of arguments: {"type": String}.
TYPES = {
    "String": "string",
    "Number": "number",
    "Boolean": "boolean",
    "Date": "date",
    "Object": "object",
    "Array": "array",
    "Buffer": "buffer",
}
FUNCTIONS = (
    *("function_expression", "arrow_function", "function_declaration", "method_definition"),
    *("generator_function", "generator_function_declaration"),
)
# Methods that change an array or object.
CHANGING = ("push", "unshift", "splice", "pop", "shift", "sort", "reverse", "fill")
ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "0": "\0", "\n": ""}
CODE_POINT = re.compile(r"\\(?:x([0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4})|u\{([0-9A-Fa-f]{1,6})\})")


@dataclass(frozen=True)
class Expression:
    """A value that is only known at run time; its source is `text`."""

    node: Node = field(repr=False, compare=False)

    @property
    def text(self) -> str:
        """The source of the expression."""
        return text_of(self.node)


@dataclass(frozen=True)
class Constants:
    """The names of a file that have a constant value, with the nodes of their values."""

    nodes: Mapping[str, Node]

    def value(self, node: Node | None, depth: int = 0) -> Any:
        """Return the value of a node as JSON; parts that are not literals are Expressions."""
        if node is None:
            return None
        read = _READERS.get(node.type)
        if read is None or depth > MAX_DEPTH:
            return Expression(node)
        return read(self, node, depth + 1)

    def text(self, node: Node | None) -> str | None:
        """Return the value of a node if it is a constant string."""
        value = self.value(node)
        return value if isinstance(value, str) else None

    def resolve(self, node: Node) -> Node:
        """Return the constant value of a name; the node itself if there is none."""
        for _ in range(MAX_DEPTH):
            found = self.nodes.get(text_of(node)) if node.type == "identifier" else None
            if found is None:
                break
            node = found
        return node


def read_constants(script: Script) -> Constants:
    """Return the names of a file that are assigned only once, in their declaration."""
    values: dict[str, Node] = {}
    changed: set[str] = set()
    for node in walk(script.root):
        if (declared := _declared(node)) is not None:
            name, value = declared
            if name in values:
                changed.add(name)
            values[name] = value
        if node.type in FUNCTIONS:
            changed.update(_parameters(node))
        elif (name_changed := _changed(node)) is not None:
            changed.add(name_changed)
    return Constants({name: node for name, node in values.items() if name not in changed})


def _parameters(function: Node) -> list[str]:
    """Return the names in the parameters of a function."""
    fields = map(function.child_by_field_name, ("parameter", "parameters"))
    return [
        text_of(node)
        for parameters in fields
        if parameters is not None
        for node in walk(parameters)
        if node.type in ("identifier", "shorthand_property_identifier_pattern")
    ]


def _declared(node: Node) -> tuple[str, Node] | None:
    """Return a name and the node of its value if a node declares one."""
    name = node.child_by_field_name("name")
    if name is None or name.type != "identifier":
        return None
    if node.type in FUNCTIONS:
        return text_of(name), node
    value = node.child_by_field_name("value")
    if node.type != "variable_declarator":
        return None
    return text_of(name), value or node


def _changed(node: Node) -> str | None:
    """Return the name whose value a node changes, or that it assigns to."""
    if node.type in ("assignment_expression", "augmented_assignment_expression"):
        return _root(node.child_by_field_name("left"))
    if node.type == "update_expression":
        return _root(node.child_by_field_name("argument"))
    if node.type == "for_in_statement":
        return _root(node.child_by_field_name("left"))
    if node.type == "unary_expression" and text_of(node, 6) == "delete":
        return _root(node.child_by_field_name("argument"))
    if node.type == "call_expression":
        return _changed_by_call(node)
    return None


def _changed_by_call(node: Node) -> str | None:
    function = node.child_by_field_name("function")
    if function is None or function.type != "member_expression":
        return None
    called = function.child_by_field_name("property")
    if called is not None and text_of(called) in CHANGING:
        return _root(function.child_by_field_name("object"))
    if name_of(function) == "Object.assign":
        arguments = arguments_of(node)
        return _root(arguments[0]) if arguments else None
    return None


def _root(node: Node | None) -> str | None:
    """Return the name that `name`, `name.a` and `name['a'].b` begin with."""
    while node is not None and node.type in ("member_expression", "subscript_expression"):
        node = node.child_by_field_name("object")
    return text_of(node) if node is not None and node.type == "identifier" else None


def arguments_of(call: Node) -> list[Node]:
    """Return the arguments of a call or of `new`."""
    arguments = call.child_by_field_name("arguments")
    if arguments is None or arguments.type != "arguments":
        return []
    return [node for node in arguments.named_children if node.type != "comment"]


def _read_string(_constants: Constants, node: Node, _depth: int) -> str:
    text = "".join(
        _unescape(text_of(part)) if part.type == "escape_sequence" else text_of(part)
        for part in node.named_children
    )
    # Two escapes may be a surrogate pair, which is one character.
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _unescape(text: str) -> str:
    if match := CODE_POINT.fullmatch(text):
        code = int(next(filter(None, match.groups())), 16)
        return chr(code) if code <= 0x10FFFF else ""
    return ESCAPES.get(text[1:], text[1:])


def _read_template(constants: Constants, node: Node, depth: int) -> Any:
    parts = []
    for part in node.named_children:
        if part.type == "template_substitution":
            value = constants.value(first_child(part), depth)
            if not isinstance(value, str | int) or isinstance(value, bool):
                return Expression(node)
            parts.append(str(value))
        else:
            parts.append(_read_string(constants, part, depth) or text_of(part))
    return "".join(parts)


def _read_number(_constants: Constants, node: Node, _depth: int) -> Any:
    text = text_of(node).replace("_", "").lower()
    try:
        if text.startswith("0") and text[1:].isdecimal():
            return int(text, 8)
        return int(text, 0)
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        return Expression(node)


def _read_sign(constants: Constants, node: Node, depth: int) -> Any:
    operator = node.child_by_field_name("operator")
    value = constants.value(node.child_by_field_name("argument"), depth)
    sign = text_of(operator) if operator is not None else ""
    if sign == "!" and isinstance(value, bool | int | str):
        return not value
    if sign in ("-", "+") and isinstance(value, int | float) and not isinstance(value, bool):
        return -value if sign == "-" else value
    return Expression(node)


def _read_array(constants: Constants, node: Node, depth: int) -> Any:
    items = [item for item in node.named_children if item.type != "comment"]
    if any(item.type == "spread_element" for item in items):
        return Expression(node)
    return [constants.value(item, depth) for item in items]


def _read_object(constants: Constants, node: Node, depth: int) -> Any:
    found: dict[str, Any] = {}
    for member in node.named_children:
        if member.type == "pair":
            key = _read_key(constants, member.child_by_field_name("key"), depth)
            if key is None:
                return Expression(node)
            found[key] = constants.value(member.child_by_field_name("value"), depth)
        elif member.type == "method_definition":
            found[text_of(member.child_by_field_name("name") or member)] = Expression(member)
        elif member.type == "shorthand_property_identifier":
            found[text_of(member)] = _read_name(constants, member, depth)
        elif member.type not in ("comment", "ERROR"):
            return Expression(node)
    return found


def _read_key(constants: Constants, node: Node | None, depth: int) -> str | None:
    if node is None:
        return None
    if node.type in ("property_identifier", "number"):
        return text_of(node)
    inner = first_child(node) if node.type == "computed_property_name" else node
    value = constants.value(inner, depth)
    return value if isinstance(value, str) else None


def _read_name(constants: Constants, node: Node, depth: int) -> Any:
    name = text_of(node)
    if name in TYPES:
        return TYPES[name]
    found = constants.nodes.get(name)
    return Expression(node) if found is None else constants.value(found, depth)


def _read_member(constants: Constants, node: Node, depth: int) -> Any:
    """Read `process.env.NAME`, and a key of a constant object."""
    key = _key_of_member(constants, node, depth)
    owner = node.child_by_field_name("object")
    if key is None or owner is None:
        return Expression(node)
    if name_of(owner) == "process.env":
        return {ENVIRONMENT: key}
    if owner.type not in ("identifier", "member_expression", "subscript_expression"):
        return Expression(node)
    value = constants.value(owner, depth)
    if isinstance(value, dict) and key in value and ENVIRONMENT not in value:
        return value[key]
    return Expression(node)


def _key_of_member(constants: Constants, node: Node, depth: int) -> str | None:
    key = node.child_by_field_name("property")
    if key is not None:
        return text_of(key)
    value = constants.value(node.child_by_field_name("index"), depth)
    return value if isinstance(value, str) else None


def _read_binary(constants: Constants, node: Node, depth: int) -> Any:
    """Read concatenated strings, and `process.env.NAME || value`."""
    operator = node.child_by_field_name("operator")
    left = constants.value(node.child_by_field_name("left"), depth)
    right = constants.value(node.child_by_field_name("right"), depth)
    sign = text_of(operator) if operator is not None else ""
    if sign == "+" and isinstance(left, str) and isinstance(right, str):
        return left + right
    is_variable = isinstance(left, dict) and ENVIRONMENT in left and "default" not in left
    if sign in ("||", "??") and is_variable and not isinstance(right, Expression):
        return {**left, "default": right}
    return Expression(node)


def _read_inner(constants: Constants, node: Node, depth: int) -> Any:
    return constants.value(first_child(node), depth)


_Reader = Callable[[Constants, Node, int], Any]
_READERS: Mapping[str, _Reader] = {
    "string": _read_string,
    "template_string": _read_template,
    "number": _read_number,
    "unary_expression": _read_sign,
    "true": lambda *_: True,
    "false": lambda *_: False,
    "null": lambda *_: None,
    "undefined": lambda *_: None,
    "array": _read_array,
    "object": _read_object,
    "identifier": _read_name,
    "member_expression": _read_member,
    "subscript_expression": _read_member,
    "binary_expression": _read_binary,
    "parenthesized_expression": _read_inner,
}


def expressions(value: Any) -> Sequence[Expression]:
    """Return the expressions in a value."""
    if isinstance(value, Expression):
        return [value]
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else []
    return [expression for item in inner for expression in expressions(item)]
