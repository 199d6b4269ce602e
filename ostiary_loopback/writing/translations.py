"""Hooks whose JavaScript is certain to set a date or the id of the caller, in Python."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from tree_sitter import Node

from app.properties.properties import MAPPINGS, column_name
from ostiary_loopback.application import Application, Model
from ostiary_loopback.javascript import Finding, Kind
from ostiary_loopback.javascript.finding import Function, RemoteHook
from ostiary_loopback.syntax import text_of

from .python import literal

DATE, CALLER = "new Date()", "accessToken.userId"
# The values that are set, by property: `now()` or the id of the caller.
Values = Mapping[str, str]
# When it is set: whenever a row is saved, when one is created, and when a request creates one; each
# with the condition under which nothing is set.
SAVED, NEW, REQUESTED = "whenever a row is saved", "of a new row", "of a row that a request creates"
UNLESS = {
    SAVED: "",
    NEW: "not event.is_new",
    REQUESTED: "not event.is_new or not has_request_context()",
}
Found = tuple[Values, str]
# Reads the statements of a function with this first parameter.
Reader = Callable[[str, Sequence[Node]], Found | None]
NOW, USER_ID = "now()", "event.caller.user_id"


@dataclass(frozen=True)
class Translation:
    """The effect of a hook, and the Python with the same effect."""

    text: str
    lines: Sequence[str]


def translate_hook(application: Application, model: Model, finding: Finding) -> Translation | None:
    """Return the translation of a hook; None if its effect is not certain."""
    if finding.kind == Kind.OPERATION_HOOK and finding.name == "before save":
        return _translate(application, model, finding.function, _saved)
    creates = [RemoteHook("beforeRemote", name) for name in ("create", f"{model.name}.create")]
    if finding.details in creates:
        return _translate(application, model, finding.function, _created)
    return None


def _translate(
    application: Application, model: Model, function: Function | None, read: Reader
) -> Translation | None:
    statements = _statements(function) if function else None
    if function is None or statements is None or not function.parameters:
        return None
    done = [f"{function.parameters[-1]}()", f"return {function.parameters[-1]}()", "return"]
    if statements and text_of(statements[-1]).rstrip(";") in done:
        statements = statements[:-1]
    found = read(function.parameters[0], statements) if statements else None
    if not found or not all(_has(application, model, *item) for item in found[0].items()):
        return None
    values, when = found
    names = " and ".join(f"`{name}`" for name in values)
    return Translation(f"Set {names} {when}", list(_lines(values, UNLESS[when])))


def _lines(values: Values, unless: str) -> Iterator[str]:
    indent = "    "
    if unless:
        yield f"{indent}if {unless}:\n{indent}    return\n"
    if USER_ID in values.values():
        yield f"{indent}if {USER_ID} is None:\n{indent}    raise AuthorizationRequired()\n"
    for name, value in values.items():
        yield f"{indent}event.values[{literal(column_name(name))}] = {value}\n"


def _has(application: Application, model: Model, name: str, value: str) -> bool:
    """Return True if a model has a property that can hold a value."""
    property_ = model.mapping("properties").get(name)
    property_ = {"type": property_} if isinstance(property_, str) else property_
    if isinstance(property_, Mapping):
        is_usual = not any(key in property_ for key in MAPPINGS)
        is_date = str(property_.get("type")).lower() == "date"
        return is_usual and is_date == (value == NOW)
    return value == USER_ID and name in _keys(application, model)


def _keys(application: Application, model: Model) -> Iterator[str]:
    """Yield the foreign keys of the belongsTo relations of a model that are served."""
    for name, relation in model.mapping("relations").items():
        if isinstance(relation, Mapping) and relation.get("type") == "belongsTo":
            target = application.models.get(str(relation.get("model")))
            if target and target.is_configured and not relation.get("polymorphic"):
                yield str(relation.get("foreignKey") or f"{name}Id")


def _statements(function: Function) -> list[Node] | None:
    body = function.node.child_by_field_name("body")
    return _inside(body) if body is not None and body.type == "statement_block" else None


def _inside(block: Node) -> list[Node]:
    inner = block.named_children if block.type == "statement_block" else [block]
    return [node for node in inner if node.type not in ("comment", "empty_statement")]


def _created(ctx: str, statements: Iterable[Node]) -> Found | None:
    """Read the values that a hook of the remote method `create` sets."""
    values = _values(statements, f"{ctx}.args.data", f"{ctx}.req")
    return (values, REQUESTED) if values else None


def _saved(ctx: str, statements: Sequence[Node]) -> Found | None:
    """Read the values that a hook sets in new rows, or in all rows that are saved."""
    if len(statements) != 1 or statements[0].type != "if_statement":
        return None
    statement = statements[0]
    condition = text_of(statement.child_by_field_name("condition") or statement).strip("()")
    then = statement.child_by_field_name("consequence")
    otherwise = _else(statement, ctx)
    of_instance = _values(_inside(then), f"{ctx}.instance", f"{ctx}.options") if then else None
    if condition in (f"{ctx}.isNewInstance", f"{ctx}.instance && {ctx}.isNewInstance"):
        return (of_instance, NEW) if of_instance and otherwise is None else None
    if condition != f"{ctx}.instance" or otherwise is None:
        return None
    of_data = _values(_inside(otherwise), f"{ctx}.data", f"{ctx}.options")
    return (of_instance, SAVED) if of_instance and of_instance == of_data else None


def _else(statement: Node, ctx: str) -> Node | None:
    """Return the other branch; if there is no `ctx.instance`, there is `ctx.data`."""
    clause = statement.child_by_field_name("alternative")
    inner = clause.named_children[0] if clause is not None and clause.named_children else None
    if inner is None or inner.type != "if_statement" or inner.child_by_field_name("alternative"):
        return inner
    condition = text_of(inner.child_by_field_name("condition") or inner).strip("()")
    return inner.child_by_field_name("consequence") if condition == f"{ctx}.data" else inner


def _values(statements: Iterable[Node], row: str, request: str) -> Values | None:
    """Return the values that statements set in a row; None if they do anything else."""
    values = {}
    for statement in statements:
        assignment = statement.named_children[0] if statement.named_children else None
        if statement.type != "expression_statement" or assignment is None:
            return None
        left, right = (assignment.child_by_field_name(side) for side in ("left", "right"))
        if assignment.type != "assignment_expression" or left is None or right is None:
            return None
        place, dot, name = text_of(left).rpartition(".")
        value = {DATE: NOW, f"{request}.{CALLER}": USER_ID}.get(text_of(right))
        if place != row or not dot or not name.isidentifier() or value is None:
            return None
        values[name] = value
    return values
