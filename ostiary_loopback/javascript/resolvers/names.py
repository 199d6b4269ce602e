"""The names in a role resolver, with the values that they certainly have."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum, auto

from tree_sitter import Node

from ostiary_loopback.javascript.finding import Value, ValueKind
from ostiary_loopback.javascript.scope import Scope
from ostiary_loopback.javascript.statements import pairs, unwrapped
from ostiary_loopback.literals import FUNCTIONS, Expression, arguments_of
from ostiary_loopback.syntax import name_of, text_of

CALLER, ROW_ID = Value(ValueKind.CALLER), Value(ValueKind.ROW_ID)
COUNT, FIND_ONE = "count", "findOne"
LITERALS = ("string", "number", "true", "false", "null")
IDENTIFIERS = ("identifier", "shorthand_property_identifier")


class UncertainError(Exception):
    """The effect of a function is not certain."""


@dataclass(frozen=True)
class Query:
    """A query for rows of a model; `method` is `count` or `findOne`."""

    method: str
    target: str
    where: Mapping[str, Value]


@dataclass(frozen=True)
class Target:
    """A model."""

    name: str


class Special(Enum):
    """What else a name may stand for."""

    ERROR = auto()
    # The row that the call is about, and the caller's access token.
    ROW = auto()
    TOKEN = auto()


# Functions and objects are nodes.
Named = Special | Target | Value | Query | Node


@dataclass
class Names:
    """The names in a role resolver."""

    scope: Scope
    # The name of the parameter with the context of the call.
    context: str
    # The model to whose calls the resolver is restricted, if a statement does so.
    model: str | None = None
    values: dict[str, Named] = field(default_factory=dict)

    def declare(self, name: Node | None, value: Named) -> None:
        """Add a name; raise UncertainError if there is one already."""
        if name is None or name.type != "identifier" or text_of(name) in self.values:
            raise UncertainError
        self.values[text_of(name)] = value

    def evaluate(self, node: Node) -> Named:
        """Return the value with which a name is declared; raise UncertainError."""
        if node.type in (*FUNCTIONS, "object"):
            return node
        if value := self.value(node):
            return value
        if self._is_token(node):
            return Special.TOKEN
        if node.type == "await_expression":
            return self.result(unwrapped(node))
        if model := self._model(node):
            return Target(model)
        raise UncertainError

    def result(self, call: Node) -> Named:
        """Return the result of a call, the row or the answer of a query; raise UncertainError."""
        if call.type != "call_expression":
            raise UncertainError
        return Special.ROW if self._finds_row(call) else self.query(call)

    def query(self, call: Node) -> Query:
        """Return the query that a call of a model makes; raise UncertainError."""
        method = self.scope.called(call)
        function, arguments = call.child_by_field_name("function"), arguments_of(call)
        if method not in (COUNT, FIND_ONE) or function is None or not arguments:
            raise UncertainError
        target = self._model(function.child_by_field_name("object"))
        found = pairs(self._object(arguments[0]))
        if found and method == FIND_ONE:
            found = pairs(self._object(found["where"])) if "where" in found else None
        if not target or not found:
            raise UncertainError
        return Query(method, target, {name: self._constant(node) for name, node in found.items()})

    def value(self, node: Node) -> Value | None:
        """Return the id of the caller or of the row, or a property of the row."""
        text = name_of(node).replace("?.", ".")
        token = f"{self.context}.accessToken"
        tokens = [token, *(name for name, named in self.values.items() if named is Special.TOKEN)]
        if text == f"{self.context}.getUserId()" or any(
            text in (f"{name}.userId", f"{name} && {name}.userId") for name in tokens
        ):
            return CALLER
        if text == f"{self.context}.modelId":
            return ROW_ID
        if isinstance(named := self.values.get(text), Value):
            return named
        owner, _, name = text.rpartition(".")
        if self.values.get(owner) is Special.ROW and name.isidentifier():
            return ROW_ID if name == "id" else Value(ValueKind.ROW, name)
        return None

    def may_lack(self, node: Node) -> bool:
        """Return True for what callers without the role may lack: an id, a token, the row."""
        if value := self.value(node):
            return value.kind in (ValueKind.CALLER, ValueKind.ROW_ID)
        named = self.values.get(name_of(node))
        return named in (Special.ROW, Special.TOKEN) or self._is_token(node)

    def _is_token(self, node: Node) -> bool:
        return name_of(node) == f"{self.context}.accessToken"

    def _model(self, node: Node | None) -> str | None:
        named = self.values.get(name_of(node))
        if isinstance(named, Target):
            return named.name
        return None if named is not None else self.scope.model_of(node)

    def _finds_row(self, call: Node) -> bool:
        """Return True for `context.model.findById(context.modelId)`."""
        function, arguments = call.child_by_field_name("function"), arguments_of(call)
        owner = function.child_by_field_name("object") if function else None
        if owner is None or not arguments or self.scope.called(call) != "findById":
            return False
        is_named = self.model is not None and self._model(owner) == self.model
        is_model = is_named or name_of(owner) == f"{self.context}.model"
        return is_model and self.value(arguments[0]) == ROW_ID

    def _object(self, node: Node) -> Node:
        named = self.values.get(text_of(node)) if node.type in IDENTIFIERS else None
        return named if isinstance(named, Node) else node

    def _constant(self, node: Node) -> Value:
        if value := self.value(node):
            return value
        constant = self.scope.constants.value(node) if node.type in LITERALS else Expression(node)
        if isinstance(constant, Expression):
            raise UncertainError
        return Value(ValueKind.CONSTANT, constant)
