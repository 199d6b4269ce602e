"""Reads a role resolver, which must be certain to look for a row of the caller."""

from collections.abc import Sequence
from dataclasses import dataclass

from tree_sitter import Node

from ostiary_loopback.javascript.finding import Membership
from ostiary_loopback.javascript.scope import Scope, parameters_of
from ostiary_loopback.javascript.statements import (
    DECLARATIONS,
    alternatives,
    is_log,
    operands,
    statements_in,
    unwrapped,
)
from ostiary_loopback.literals import FUNCTIONS, arguments_of
from ostiary_loopback.syntax import first_child, name_of, text_of

from .endings import FALSE, TRUE, Endings
from .names import COUNT, Named, Names, Query, Special, UncertainError

# Comparisons of the answer of a query, which say that there is a row.
OF_COUNTS = ("> 0", ">= 1", "!== 0", "!= 0")
OF_ROWS = ("!== null", "!= null", "!= undefined")
# Values of what a caller lacks.
MISSING = ("null", "undefined", "0", "''", '""')
# Maximum number of expressions that are followed, each inside the last one.
MAX_STEPS = 30


def read_membership(scope: Scope, function: Node) -> Membership | None:
    """Return what a role resolver looks for; None if that is not certain."""
    parameters = parameters_of(function)
    if len(parameters) not in (2, 3):
        return None
    names = Names(scope, parameters[1])
    callback = parameters[2] if len(parameters) > 2 else None
    try:
        query = _Resolver(names, Endings(names, callback)).run(function)
    except UncertainError:
        return None
    return Membership(names.model, query.target, query.where)


@dataclass
class _Resolver:
    names: Names
    endings: Endings
    steps: int = 0

    def run(self, function: Node, *arguments: Named) -> Query:
        """Return the query on which the answer of a function depends; raise UncertainError."""
        body = function.child_by_field_name("body")
        names = parameters_of(function) if arguments else []
        if body is None or len(names) > len(arguments):
            raise UncertainError
        self.names.values |= dict(zip(names, arguments, strict=False))
        if body.type != "statement_block":
            return self._answer(body)
        statements = list(statements_in(body))
        for index, statement in enumerate(statements):
            if query := self._read(statement, statements[index + 1 :]):
                return query
        raise UncertainError

    def _read(self, statement: Node, rest: Sequence[Node]) -> Query | None:
        """Read a statement; return the query if it is the last one that is reached."""
        if statement.type == "if_statement":
            return self._condition(statement, rest)
        if statement.type == "return_statement":
            return self._answer(first_child(statement))
        if statement.type == "function_declaration":
            self.names.declare(statement.child_by_field_name("name"), statement)
        elif statement.type in DECLARATIONS:
            self._declare(statement)
        elif not is_log(statement):
            if rest or statement.type != "expression_statement":
                raise UncertainError
            return self._answer(first_child(statement))
        return None

    def _declare(self, statement: Node) -> None:
        for declared in statements_in(statement):
            name, value = map(declared.child_by_field_name, ("name", "value"))
            if value is None:
                raise UncertainError
            self.names.declare(name, self.names.evaluate(value))

    def _condition(self, statement: Node, rest: Sequence[Node]) -> Query | None:
        """Read `if`: one that rejects callers, or that answers True if there is a row."""
        fields = ("condition", "consequence", "alternative")
        condition, then, clause = map(statement.child_by_field_name, fields)
        if condition is None or then is None:
            raise UncertainError
        if query := self._test(condition):
            otherwise = [*(statements_in(clause) if clause else rest)]
            is_true = self.endings.ends(then, TRUE, is_last=clause is not None)
            if is_true and len(otherwise) == 1 and self.endings.ends(otherwise[0], FALSE, True):
                return query
            raise UncertainError
        if clause or not (self.endings.ends(then, FALSE) or self.endings.fails(then)):
            raise UncertainError
        for part in alternatives(condition):
            self._reject(part)
        return None

    def _reject(self, condition: Node) -> None:
        """Read a condition under which a caller is rejected; raise UncertainError."""
        left, operator, right = operands(condition)
        if left is None or right is None:
            operand = condition.child_by_field_name("argument")
            is_missing = condition.type == "unary_expression" and text_of(condition, 1) == "!"
            if is_missing and operand is not None and self.names.may_lack(operand):
                return
            if self.names.values.get(name_of(condition)) is Special.ERROR:
                return
            raise UncertainError
        if operator in ("==", "===") and text_of(right) in MISSING and self.names.may_lack(left):
            return
        model = self.names.scope.constants.text(right)
        is_name = name_of(left) == f"{self.names.context}.modelName" and operator in ("!=", "!==")
        if not is_name or not model or self.names.model:
            raise UncertainError
        self.names.model = model

    def _answer(self, node: Node | None) -> Query:
        """Return the query on whose result the value of an expression depends."""
        self.steps += 1
        if node is None or self.steps > MAX_STEPS:
            raise UncertainError
        node = unwrapped(node)
        if query := self._test(node):
            return query
        if node.type != "call_expression":
            raise UncertainError
        function, arguments = node.child_by_field_name("function"), arguments_of(node)
        if self.endings.is_callback(function) and len(arguments) == 2:
            query = self._test(arguments[1])
            is_error = self.names.values.get(name_of(arguments[0])) is Special.ERROR
            if query is None or not (is_error or arguments[0].type == "null"):
                raise UncertainError
            return query
        return self._continue(node, function, arguments)

    def _continue(self, call: Node, function: Node | None, arguments: Sequence[Node]) -> Query:
        """Read a query with a callback, or one for whose result `then` waits."""
        method = self.names.scope.called(call)
        owner = function.child_by_field_name("object") if function else None
        if owner is None or not arguments:
            raise UncertainError
        if method == "catch" and len(arguments) == 1 and self.endings.handles(arguments[0]):
            return self._answer(owner)
        if arguments[-1].type not in FUNCTIONS:
            raise UncertainError
        if method == "then" and len(arguments) == 1:
            return self.run(arguments[-1], self.names.result(owner))
        return self.run(arguments[-1], Special.ERROR, self.names.result(call))

    def _test(self, node: Node | None) -> Query | None:
        """Return the query if an expression is true if the query finds a row."""
        if node is None:
            return None
        node = unwrapped(node)
        left, operator, right = operands(node)
        if left is not None and right is not None:
            query = self._asked(left)
            usual = OF_COUNTS if query and query.method == COUNT else OF_ROWS
            return query if f"{operator} {text_of(right)}" in usual else None
        if node.type == "unary_expression" and text_of(node, 2) == "!!":
            inner = node.child_by_field_name("argument")
            return self._asked(inner.child_by_field_name("argument") if inner else None)
        if node.type == "call_expression" and text_of(node, 8) == "Boolean(":
            arguments = arguments_of(node)
            return self._asked(arguments[0]) if len(arguments) == 1 else None
        return self._asked(node) if node.type == "identifier" else None

    def _asked(self, node: Node | None) -> Query | None:
        """Return the query whose result a name has, or that is awaited in place."""
        inner = unwrapped(node) if node is not None else None
        if node is None or inner is None:
            return None
        named = self.names.values.get(name_of(inner))
        if isinstance(named, Query):
            return named
        is_awaited = inner.parent is not None and inner.parent.type == "await_expression"
        return self.names.query(inner) if is_awaited and inner.type == "call_expression" else None
