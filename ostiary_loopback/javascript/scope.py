"""The names of a script: models, functions, and variables of loops."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from tree_sitter import Node

from ostiary_loopback.literals import FUNCTIONS, Constants, arguments_of, read_constants
from ostiary_loopback.syntax import Script, first_child, line_of, name_of, text_of, walk

from .finding import Function

EXPORTS = ("module.exports", "exports.default", 'exports["default"]', "exports['default']")
# Functions that return a model by its name.
MODEL_FUNCTIONS = ("getModel", "findModel", "getModelByType")
# The name of a model in its own functions.
THIS = "this"
MAX_LABEL = 100
LABEL = re.compile(r"[\w$]+(\.[\w$]+){0,5}", re.ASCII)
# Maximum number of names that are followed, each to the next one.
MAX_STEPS = 10
# Maximum number of nodes around a call that are searched for loops.
MAX_LOOPS = 30
#: Maximum bytes of JavaScript that are kept of a finding.
MAX_SOURCE = 20_000
# Maximum number of values of the variable of a loop.
MAX_VALUES = 500


@dataclass(frozen=True)
class Scope:
    """The names of one script."""

    script: Script
    constants: Constants
    # The names of all models, by their names in lower case.
    models: Mapping[str, str]
    # The model to which the script belongs.
    model: str | None

    @cached_property
    def exported(self) -> Node | None:
        """The function that the script exports."""
        for statement in self.script.root.named_children:
            value = _exported(statement)
            function = self.function_node(value) if value else None
            if function:
                return function
        return None

    @cached_property
    def parameter(self) -> str | None:
        """The name of the first parameter of the exported function."""
        names = parameters_of(self.exported) if self.exported else []
        return names[0] if names else None

    def model_of(self, node: Node | None, step: int = 0) -> str | None:
        """Return the name of the model to which an expression refers, or None."""
        if node is None or step > MAX_STEPS:
            return None
        if node.type == "identifier":
            return self._model_named(text_of(node), step)
        if node.type == THIS:
            return self.model
        if node.type in ("member_expression", "subscript_expression"):
            return self._model_of_member(node)
        if node.type == "call_expression":
            return self._model_of_call(node)
        return None

    def _model_named(self, name: str, step: int) -> str | None:
        if name == self.parameter and self.model:
            return self.model
        value = self.constants.nodes.get(name)
        if value is not None and value.type not in ("variable_declarator", *FUNCTIONS):
            found = self.model_of(value, step + 1)
            if found:
                return found
        return self.models.get(name.lower())

    def _model_of_member(self, node: Node) -> str | None:
        """Read `app.models.Note`, `loopback.User` and `app.models['Note']`."""
        owner = node.child_by_field_name("object")
        name = self.key_of(node)
        if owner is None or name is None:
            return None
        if name_of(owner).split(".")[-1] == "models":
            return self.models.get(name.lower(), name)
        return self.models.get(name.lower()) if name_of(owner) == "loopback" else None

    def _model_of_call(self, node: Node) -> str | None:
        arguments = arguments_of(node)
        if self.called(node) not in MODEL_FUNCTIONS or not arguments:
            return None
        name = self.constants.text(arguments[0])
        if name is not None:
            return self.models.get(name.lower(), name)
        return self.model_of(arguments[0])

    def key_of(self, node: Node) -> str | None:
        """Return the key of `object.key` or `object['key']`."""
        key = node.child_by_field_name("property")
        if key is not None:
            return text_of(key)
        return self.constants.text(node.child_by_field_name("index"))

    def called(self, call: Node) -> str | None:
        """Return the name of the function or method that is called."""
        function = call.child_by_field_name("function")
        if function is None:
            return None
        if function.type in ("member_expression", "subscript_expression"):
            return self.key_of(function)
        return text_of(function) if function.type == "identifier" else None

    def function_node(self, node: Node | None, step: int = 0) -> Node | None:
        """Return the function that an expression is, or that a call gets as an argument to wrap."""
        if node is None or step > MAX_STEPS:
            return None
        node = self.constants.resolve(node)
        if node.type in FUNCTIONS:
            return node
        if node.type == "parenthesized_expression":
            return self.function_node(first_child(node), step + 1)
        if node.type == "call_expression" and self.called(node) != "require":
            return self.function_node(next(iter(arguments_of(node)), None), step + 1)
        return None

    def function(self, node: Node | None) -> Function | None:
        """Return the function that an expression is."""
        found = self.function_node(node)
        if found is None:
            return None
        is_async = any(child.type == "async" for child in found.children)
        return Function(
            text_of(found, MAX_SOURCE), line_of(found), parameters_of(found), is_async, found
        )

    def values(self, node: Node) -> list[Any]:
        """Return the values of an expression: one for each item that the loops iterate over."""
        return [constants.value(node) for constants in self.loops(node)]

    def loops(self, node: Node) -> Iterator[Constants]:
        """Yield the constants of each iteration of the loops whose variables a node uses."""
        names = {text_of(inner) for inner in walk(node) if inner.type == "identifier"}
        names -= self.constants.nodes.keys()
        for name, values in self._variables(node) if names else ():
            if name in names:
                for value in values[:MAX_VALUES]:
                    yield replace(self.constants, nodes={**self.constants.nodes, name: value})
                return
        yield self.constants

    def _variables(self, node: Node) -> Iterator[tuple[str, list[Node]]]:
        """Yield the variables of the loops around a node, with their values."""
        parent = node.parent
        for _ in range(MAX_LOOPS):
            if parent is None:
                return
            variable = _variable(parent)
            if variable:
                name, collection = variable
                values = self._items(collection)
                if values:
                    yield name, values
            parent = parent.parent

    def _items(self, node: Node) -> list[Node]:
        node = self.constants.resolve(node)
        if node.type != "array":
            return []
        return [item for item in node.named_children if item.type != "comment"]


def read_scope(script: Script, models: Mapping[str, str], model: str | None) -> Scope:
    """Return the names of a script."""
    return Scope(script, read_constants(script), models, model)


def parameters_of(function: Node) -> list[str]:
    """Return the names of a function's parameters."""
    single = function.child_by_field_name("parameter")
    if single is not None:
        return [text_of(single)]
    parameters = function.child_by_field_name("parameters")
    if parameters is None:
        return []
    return [_parameter(node) for node in parameters.named_children if node.type != "comment"]


def label(scope: Scope, node: Node | None) -> str:
    """Return a name for an expression, without text that may be a secret."""
    while node is not None and node.type == "call_expression":
        node = node.child_by_field_name("function")
    if node is None:
        return "?"
    text = scope.constants.text(node)
    if text is not None:
        return text if len(text) <= MAX_LABEL and "://" not in text else "a text"
    if node.type in ("identifier", "member_expression", "this") and LABEL.fullmatch(name_of(node)):
        return text_of(node)
    return "a function" if scope.function_node(node) else "an expression"


def _parameter(node: Node) -> str:
    left = node.child_by_field_name("left")
    return text_of(left if left is not None else node)


def _exported(statement: Node) -> Node | None:
    """Return the node that a statement exports."""
    if statement.type == "export_statement":
        for field in ("value", "declaration"):
            if (value := statement.child_by_field_name(field)) is not None:
                return value
        return None
    node: Node | None = first_child(statement)
    # module.exports = exports = function() {}
    while node is not None and node.type == "assignment_expression":
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        if left is not None and right is not None and name_of(left) in EXPORTS:
            return right if right.type != "assignment_expression" else _last(right)
        node = right
    return None


def _last(assignment: Node) -> Node | None:
    node: Node | None = assignment
    while node is not None and node.type == "assignment_expression":
        node = node.child_by_field_name("right")
    return node


def _variable(node: Node) -> tuple[str, Node] | None:
    """Return the variable of a loop, and the node that it iterates over: `for … of`, `forEach`."""
    if node.type == "for_in_statement":
        operator = node.child_by_field_name("operator")
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        if left is not None and right is not None and operator and text_of(operator) == "of":
            return text_of(left), right
        return None
    if node.type not in ("arrow_function", "function_expression"):
        return None
    call = node.parent.parent if node.parent else None
    function = call.child_by_field_name("function") if call else None
    if function is None or function.type != "member_expression":
        return None
    method, owner = function.child_by_field_name("property"), function.child_by_field_name("object")
    names = parameters_of(node)
    if method is None or owner is None or not names or text_of(method) not in ("forEach", "map"):
        return None
    return names[0], owner
