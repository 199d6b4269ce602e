"""Role resolvers that are certain to look for a row of the caller, such as a member of a team."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto

from tree_sitter import Node

from ostiary_loopback.literals import FUNCTIONS, Expression, arguments_of
from ostiary_loopback.syntax import first_child, name_of, text_of

from .finding import Membership, Value, ValueKind
from .scope import Scope, parameters_of

CALLER, ROW_ID = Value(ValueKind.CALLER), Value(ValueKind.ROW_ID)
COUNT, FOUND = "count", "findOne"
# Comparisons with which an answer says that there is a row.
OF_COUNTS = ("> 0", ">= 1", "!== 0", "!= 0")
OF_ROWS = ("!== null", "!= null", "!= undefined")
# Objects whose methods only log.
LOGS = ("console.",)
DECLARATIONS = ("variable_declaration", "lexical_declaration")


@dataclass(frozen=True)
class _Query:
    """A query for rows; `method` is `count` or `findOne`."""

    method: str
    target: str
    where: dict[str, Value]


@dataclass(frozen=True)
class _Target:
    """A model that a name stands for."""

    name: str


class _Special(Enum):
    """Names that stand for an error, the row of the call, or its access token."""

    ERROR = auto()
    ROW = auto()
    TOKEN = auto()


# A name in the function, by its value; a node for functions and objects.
_Named = _Special | _Target | Value | _Query | Node


class _Uncertain(Exception):
    """The effect of the function is not certain."""


def read_membership(scope: Scope, function: Node) -> Membership | None:
    """Return what a role resolver looks for; None if that is not certain."""
    try:
        return _Resolver(scope, parameters_of(function)).read(function)
    except _Uncertain:
        return None


@dataclass
class _Resolver:
    scope: Scope
    parameters: Sequence[str]
    model: str | None = None
    names: dict[str, _Named] = field(default_factory=dict)

    @property
    def context(self) -> str:
        """The name of the parameter with the context of the call."""
        return self.parameters[1]

    def read(self, function: Node) -> Membership:
        """Read the function."""
        if len(self.parameters) not in (2, 3):
            raise _Uncertain
        query = self._run(function)
        return Membership(self.model, query.target, query.where)

    def _run(self, function: Node, *arguments: _Named) -> _Query:
        """Return the query whose answer a function gives."""
        if arguments:
            names = parameters_of(function)
            if len(names) > len(arguments):
                raise _Uncertain
            self.names |= dict(zip(names, arguments, strict=False))
        body = function.child_by_field_name("body")
        if body is None:
            raise _Uncertain
        if body.type != "statement_block":
            return self._answer(body)
        return self._statements(list(_inside(body)))

    def _statements(self, statements: Sequence[Node]) -> _Query:
        for index, statement in enumerate(statements):
            if statement.type in DECLARATIONS:
                self._declare(statement)
            elif statement.type == "function_declaration":
                self._name(statement.child_by_field_name("name"), statement)
            elif statement.type == "if_statement":
                if query := self._condition(statement, statements[index + 1 :]):
                    return query
            elif _logs(statement):
                continue
            elif statement.type in ("return_statement", "expression_statement"):
                rest = statements[index + 1 :]
                if rest and statement.type == "expression_statement":
                    raise _Uncertain
                return self._answer(first_child(statement))
            else:
                raise _Uncertain
        raise _Uncertain

    def _name(self, name: Node | None, value: _Named) -> None:
        if name is None or name.type != "identifier" or text_of(name) in self.names:
            raise _Uncertain
        self.names[text_of(name)] = value

    def _declare(self, statement: Node) -> None:
        for declared in _inside(statement):
            value = declared.child_by_field_name("value")
            if value is None:
                raise _Uncertain
            self._name(declared.child_by_field_name("name"), self._named(value))

    def _named(self, node: Node) -> _Named:
        """Return what a name stands for that is declared with this value."""
        if node.type in (*FUNCTIONS, "object"):
            return node
        if value := self._value(node):
            return value
        if text_of(node) == f"{self.context}.accessToken":
            return _Special.TOKEN
        if node.type == "await_expression":
            return self._result(_awaited(node))
        if model := self._model(node):
            return _Target(model)
        raise _Uncertain

    def _value(self, node: Node) -> Value | None:
        """Return the id of the caller or of the row, or a property of the row."""
        text = name_of(node).replace("?.", ".")
        token = f"{self.context}.accessToken"
        tokens = [token, *(name for name, named in self.names.items() if named == _Special.TOKEN)]
        callers = [f"{token}.userId" for token in tokens]
        if text in (*callers, *(f"{token} && {token}.userId" for token in tokens)):
            return CALLER
        if text == f"{self.context}.getUserId()":
            return CALLER
        if text == f"{self.context}.modelId":
            return ROW_ID
        if isinstance(named := self.names.get(text), Value):
            return named
        owner, _, name = text.rpartition(".")
        if self.names.get(owner) == _Special.ROW and name.isidentifier():
            return ROW_ID if name == "id" else Value(ValueKind.ROW, name)
        return None

    def _model(self, node: Node | None) -> str | None:
        named = self.names.get(name_of(node))
        if isinstance(named, _Target):
            return named.name
        return None if named is not None else self.scope.model_of(node)

    def _finds_row(self, node: Node) -> bool:
        """Return True for `context.model.findById(context.modelId)`."""
        arguments = arguments_of(node) if node.type == "call_expression" else []
        function = node.child_by_field_name("function")
        owner = function.child_by_field_name("object") if function else None
        if owner is None or not arguments or self.scope.called(node) != "findById":
            return False
        is_model = name_of(owner) == f"{self.context}.model" or (
            self.model is not None and self._model(owner) == self.model
        )
        return is_model and self._value(arguments[0]) == ROW_ID

    def _query(self, call: Node) -> _Query | None:
        """Return the query that a call of a model makes."""
        method = self.scope.called(call)
        function, arguments = call.child_by_field_name("function"), arguments_of(call)
        if method not in (COUNT, FOUND) or function is None or not arguments:
            return None
        target = self._model(function.child_by_field_name("object"))
        where: Node | None = self._resolved(arguments[0])
        if method == FOUND and where is not None:
            where = _pairs(where).get("where")
        found = {name: self._constant(node) for name, node in _pairs(where).items()}
        return _Query(method, target, found) if target and found else None

    def _resolved(self, node: Node) -> Node:
        named = self.names.get(text_of(node)) if node.type == "identifier" else None
        return named if isinstance(named, Node) else node

    def _constant(self, node: Node) -> Value:
        if value := self._value(node):
            return value
        if node.type not in ("string", "number", "true", "false", "null"):
            raise _Uncertain
        constant = self.scope.constants.value(node)
        if isinstance(constant, Expression):
            raise _Uncertain
        return Value(ValueKind.CONSTANT, constant)

    def _condition(self, statement: Node, rest: Sequence[Node]) -> _Query | None:
        """Read `if`: one that rejects callers, or that answers True if there is a row."""
        condition = statement.child_by_field_name("condition")
        then = statement.child_by_field_name("consequence")
        clause = statement.child_by_field_name("alternative")
        if condition is None or then is None:
            raise _Uncertain
        otherwise = list(_inside(clause) if clause is not None else rest)
        if (query := self._tests(condition)) and self._ends(then, "true", clause is None):
            if len(otherwise) == 1 and self._ends(otherwise[0], "false", returns=False):
                return query
            raise _Uncertain
        if clause is not None or not (self._ends(then, "false") or self._fails(then)):
            raise _Uncertain
        for part in _alternatives(condition):
            self._reject(part)
        return None

    def _reject(self, condition: Node) -> None:
        """Read a condition under which the function rejects a caller."""
        text = name_of(condition).replace("?.", ".")
        if condition.type == "binary_expression":
            left, right = (condition.child_by_field_name(side) for side in ("left", "right"))
            operator = condition.child_by_field_name("operator")
            if left is None or right is None or operator is None:
                raise _Uncertain
            name = self.scope.constants.text(right)
            if text_of(left) == f"{self.context}.modelName" and name and not self.model:
                if text_of(operator) in ("!==", "!="):
                    self.model = name
                    return
            is_missing = text_of(operator) in ("==", "===") and text_of(right) in (
                *("null", "undefined", "0", "''"),
            )
            if is_missing and self._is_known(left):
                return
        elif self.names.get(text) == _Special.ERROR:
            return
        elif condition.type == "unary_expression" and text.startswith("!"):
            operand = condition.child_by_field_name("argument")
            if operand is not None and self._is_known(operand):
                return
        raise _Uncertain

    def _is_known(self, node: Node) -> bool:
        """Return True for what a caller without the role may lack: ids, tokens and rows."""
        if value := self._value(node):
            return value.kind in (ValueKind.CALLER, ValueKind.ROW_ID)
        named = self.names.get(text_of(node))
        return (
            named in (_Special.ROW, _Special.TOKEN)
            or text_of(node) == f"{self.context}.accessToken"
        )

    def _answer(self, node: Node | None) -> _Query:
        """Return the query on whose answer the value of an expression depends."""
        if node is None:
            raise _Uncertain
        node = _awaited(node)
        if node.type != "call_expression":
            if query := self._tests(node):
                return query
            raise _Uncertain
        function, arguments = node.child_by_field_name("function"), arguments_of(node)
        if self._is_callback(function) and len(arguments) == 2:
            if (
                text_of(arguments[0]) != "null"
                and self.names.get(text_of(arguments[0])) != _Special.ERROR
            ):
                raise _Uncertain
            return self._answer(arguments[1])
        if name_of(function) == "Boolean" and (query := self._tests(node)):
            return query
        return self._continued(node, function, arguments)

    def _continued(self, call: Node, function: Node | None, arguments: Sequence[Node]) -> _Query:
        """Read a query with a callback, or one whose promise is awaited by `then`."""
        method = self.scope.called(call)
        owner = function.child_by_field_name("object") if function else None
        if method == "catch" and owner is not None and self._handles(arguments):
            return self._answer(owner)
        if not arguments or arguments[-1].type not in FUNCTIONS:
            raise _Uncertain
        if method == "then" and owner is not None and len(arguments) == 1:
            return self._run(arguments[-1], self._result(owner))
        return self._run(arguments[-1], _Special.ERROR, self._result(call))

    def _handles(self, arguments: Sequence[Node]) -> bool:
        """Return True if the argument of `catch` passes the error on, or rejects the caller."""
        if len(arguments) != 1 or arguments[0].type not in FUNCTIONS:
            return len(arguments) == 1 and self._is_callback(arguments[0])
        body = arguments[0].child_by_field_name("body")
        is_passed = body is not None and self._passes(body, parameters_of(arguments[0]))
        return is_passed or self._only_answers(arguments[0], "false")

    def _passes(self, call: Node, errors: Sequence[str]) -> bool:
        """Return True for `cb(error)`."""
        is_callback = self._is_callback(call.child_by_field_name("function"))
        return is_callback and [text_of(node) for node in arguments_of(call)] == list(errors)

    def _result(self, call: Node) -> _Named:
        if self._finds_row(call):
            return _Special.ROW
        if call.type == "call_expression" and (query := self._query(call)):
            return query
        raise _Uncertain

    def _tests(self, node: Node) -> _Query | None:
        """Return the query if an expression tells whether it found a row."""
        node = _awaited(node)
        text = text_of(node)
        if node.type == "binary_expression":
            left, right = (node.child_by_field_name(side) for side in ("left", "right"))
            operator = node.child_by_field_name("operator")
            query = self._asked(left) if left is not None else None
            if query is None or right is None or operator is None:
                return None
            usual = OF_COUNTS if query.method == COUNT else OF_ROWS
            return query if f"{text_of(operator)} {text_of(right)}" in usual else None
        if node.type == "unary_expression" and text.startswith("!!"):
            inner = node.child_by_field_name("argument")
            return self._asked(inner.child_by_field_name("argument")) if inner else None
        if node.type == "call_expression" and text.startswith("Boolean("):
            arguments = arguments_of(node)
            return self._asked(arguments[0]) if len(arguments) == 1 else None
        return self._asked(node) if node.type == "identifier" else None

    def _asked(self, node: Node | None) -> _Query | None:
        """Return the query whose answer a name has, or that is awaited in place."""
        if node is None:
            return None
        inner = _awaited(node)
        named = self.names.get(text_of(inner)) if inner.type == "identifier" else None
        if isinstance(named, _Query):
            return named
        is_awaited = inner is not node and inner.type == "call_expression"
        return self._query(inner) if is_awaited else None

    def _is_callback(self, function: Node | None) -> bool:
        return len(self.parameters) == 3 and name_of(function) == self.parameters[2]

    def _ends(self, statement: Node, answer: str, returns: bool = True) -> bool:
        """Return True if statements only answer this, and end the function unless they are last."""
        *before, last = list(_inside(statement)) or [statement]
        if not all(map(_logs, before)):
            return False
        if last.type != "return_statement" and (returns or last.type != "expression_statement"):
            return False
        return self._answers(first_child(last), answer)

    def _answers(self, node: Node | None, answer: str) -> bool:
        if node is None:
            return False
        if text_of(node) == answer:
            return True
        if node.type != "call_expression":
            return False
        function, arguments = node.child_by_field_name("function"), arguments_of(node)
        if self._is_callback(function):
            return [text_of(argument) for argument in arguments] == ["null", answer]
        named = self.names.get(name_of(function))
        if isinstance(named, Node) and named.type in FUNCTIONS and not arguments:
            return self._only_answers(named, answer)
        is_later = name_of(function) in ("process.nextTick", "setImmediate", "Promise.resolve")
        if is_later and len(arguments) == 1:
            if arguments[0].type in FUNCTIONS:
                return self._only_answers(arguments[0], answer)
            return text_of(arguments[0]) == answer
        return False

    def _only_answers(self, function: Node, answer: str) -> bool:
        body = function.child_by_field_name("body")
        if body is None:
            return False
        if body.type != "statement_block":
            return self._answers(body, answer)
        return self._ends(body, answer, returns=False)

    def _fails(self, statement: Node) -> bool:
        """Return True if statements end the function with an error."""
        *before, last = list(_inside(statement)) or [statement]
        if last.type == "throw_statement":
            return all(map(_logs, before))
        call = first_child(last)
        if last.type != "return_statement" or call is None or not all(map(_logs, before)):
            return False
        arguments = arguments_of(call)
        is_callback = self._is_callback(call.child_by_field_name("function"))
        return is_callback and len(arguments) == 1 and arguments[0].type != "null"


def _inside(block: Node) -> Iterator[Node]:
    """Yield the statements of a block or of an `else`; a single statement itself."""
    if block.type == "else_clause":
        block = first_child(block) or block
    single = block.type not in ("statement_block", *DECLARATIONS)
    for node in [block] if single else block.named_children:
        if node.type not in ("comment", "empty_statement"):
            yield node


def _alternatives(condition: Node) -> Iterator[Node]:
    """Yield the parts of a condition that `||` joins."""
    condition = _awaited(condition)
    operator = condition.child_by_field_name("operator")
    if condition.type == "binary_expression" and operator and text_of(operator) == "||":
        for side in ("left", "right"):
            if (part := condition.child_by_field_name(side)) is not None:
                yield from _alternatives(part)
    else:
        yield condition


def _awaited(node: Node) -> Node:
    """Return the expression in parentheses and after `await`."""
    while node.type in ("parenthesized_expression", "await_expression"):
        if (inner := first_child(node)) is None:
            break
        node = inner
    return node


def _logs(statement: Node) -> bool:
    """Return True for a statement that only logs."""
    call = first_child(statement) if statement.type == "expression_statement" else None
    function = call.child_by_field_name("function") if call else None
    return (
        call is not None and call.type == "call_expression" and name_of(function).startswith(LOGS)
    )


def _pairs(node: Node | None) -> dict[str, Node]:
    """Return the values of an object by their keys; raise _Uncertain for others."""
    if node is None or node.type != "object":
        raise _Uncertain
    found = {}
    for member in node.named_children:
        key = member.child_by_field_name("key")
        value = member.child_by_field_name("value")
        if member.type == "shorthand_property_identifier":
            found[text_of(member)] = member
        elif member.type == "pair" and key is not None and value is not None:
            found[text_of(key).strip("'\"")] = value
        elif member.type != "comment":
            raise _Uncertain
    return found
