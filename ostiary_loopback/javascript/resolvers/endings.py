"""Statements with which a role resolver ends: it answers True or False, or fails."""

from dataclasses import dataclass

from tree_sitter import Node

from ostiary_loopback.javascript.scope import parameters_of
from ostiary_loopback.javascript.statements import is_log, statements_in
from ostiary_loopback.literals import FUNCTIONS, arguments_of
from ostiary_loopback.syntax import first_child, name_of, text_of

from .names import Names

# Functions that call another one, or answer their argument.
LATER = ("process.nextTick", "setImmediate", "Promise.resolve")
# Maximum number of functions that call each other.
MAX_STEPS = 5
TRUE, FALSE = "true", "false"


@dataclass(frozen=True)
class Endings:
    """Reads the ends of a role resolver."""

    names: Names
    # The name of the parameter that is called with the answer, if there is one.
    callback: str | None

    def is_callback(self, node: Node | None) -> bool:
        """Return True for the function that is called with the answer."""
        return self.callback is not None and name_of(node) == self.callback

    def ends(self, block: Node, answer: str, is_last: bool = False, step: int = 0) -> bool:
        """Return True if statements only answer this, and end the function unless they are last."""
        *before, last = list(statements_in(block)) or [block]
        usual = ("return_statement", "expression_statement") if is_last else ("return_statement",)
        is_answer = last.type in usual and self._answers(first_child(last), answer, step)
        return is_answer and all(map(is_log, before))

    def fails(self, block: Node) -> bool:
        """Return True if statements end the function with an error."""
        *before, last = list(statements_in(block)) or [block]
        call = first_child(last)
        if call is None or not all(map(is_log, before)):
            return False
        if last.type == "throw_statement":
            return True
        arguments = arguments_of(call) if call.type == "call_expression" else []
        is_error = len(arguments) == 1 and arguments[0].type != "null"
        is_called = is_error and self.is_callback(call.child_by_field_name("function"))
        return is_called and last.type == "return_statement"

    def handles(self, node: Node) -> bool:
        """Return True if the argument of `catch` passes the error on, or answers False."""
        if node.type not in FUNCTIONS:
            return self.is_callback(node)
        body = node.child_by_field_name("body")
        call = body if body is not None and body.type == "call_expression" else node
        is_called = self.is_callback(call.child_by_field_name("function"))
        is_passed = is_called and [*map(text_of, arguments_of(call))] == parameters_of(node)
        return is_passed or self._only_answers(node, FALSE, 0)

    def _answers(self, node: Node | None, answer: str, step: int) -> bool:
        if node is None or node.type != "call_expression":
            return node is not None and text_of(node) == answer
        function, arguments = node.child_by_field_name("function"), arguments_of(node)
        if self.is_callback(function):
            return [text_of(argument) for argument in arguments] == ["null", answer]
        named = self.names.values.get(name_of(function))
        if isinstance(named, Node) and named.type in FUNCTIONS and not arguments:
            return self._only_answers(named, answer, step)
        if name_of(function) not in LATER or len(arguments) != 1:
            return False
        if arguments[0].type in FUNCTIONS:
            return self._only_answers(arguments[0], answer, step)
        return text_of(arguments[0]) == answer

    def _only_answers(self, function: Node, answer: str, step: int) -> bool:
        body = function.child_by_field_name("body")
        if body is None or step > MAX_STEPS:
            return False
        if body.type != "statement_block":
            return self._answers(body, answer, step + 1)
        return self.ends(body, answer, is_last=True, step=step + 1)
