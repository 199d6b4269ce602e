"""A finding in an application's JavaScript, and its details for each kind."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, NamedTuple

from tree_sitter import Node

# The prefix of the names of methods and functions on rows.
PROTOTYPE = "prototype."


class Kind(StrEnum):
    """The kinds of findings; beside each is the type of its details, if it has any."""

    REMOTE_METHOD = "remote method"  # RemoteMethod; the name is without `prototype.`
    FUNCTION = "function"  # of a model, and no remote method; on rows, `prototype.name`
    OVERRIDE = "override"  # such a function in place of a method that LoopBack's models have
    DISABLED_METHOD = "disabled method"  # as LoopBack 3 names it; of rows, `prototype.name`
    VALIDATION = "validation"  # Validation
    OPERATION_HOOK = "operation hook"  # the name is the event, such as `before save`
    REMOTE_HOOK = "remote hook"  # RemoteHook
    ROLE_RESOLVER = "role resolver"  # Membership, if it is certain; the name is the role
    CREATION = "creation"  # Creation: rows that a script creates
    SCHEMA_CHANGE = "schema change"  # automigrate, autoupdate; the name is the method
    MIXIN = "mixin"
    RELATION = "relation"  # declared in JavaScript; the name is the relation's kind
    PROPERTY = "property"  # defineProperty
    SETTING = "setting"  # assignments to Model.settings, Model.definition
    AUTHENTICATION = "authentication"  # enableAuth, without which LoopBack checks no rules
    ROUTE = "route"  # beside the models; the name is the verb and the path
    MIDDLEWARE = "middleware"  # app.use
    STORAGE = "storage"
    PUSH = "push"
    CRON = "cron"
    MAIL = "mail"
    CHANGE_STREAM = "change stream"
    CONNECTOR = "connector"


@dataclass(frozen=True)
class Function:
    """A function of the JavaScript."""

    source: str
    line: int
    # The names of its parameters; the source of a destructuring pattern.
    parameters: Sequence[str]
    is_async: bool
    node: Node = field(repr=False, compare=False)


@dataclass(frozen=True)
class RemoteMethod:
    """A method that `remoteMethod` declares.

    Values are JSON; parts that are only known at run time are an `Expression`.
    """

    name: str
    is_static: bool
    # The arguments, each with its `arg`, `type`, `http` …
    accepts: Sequence[Mapping[str, Any]]
    # The results, as in `accepts`; with `root` if one is the whole response.
    returns: Sequence[Mapping[str, Any]]
    # The routes, each with `verb` and `path`; without a declared one, LoopBack serves all verbs.
    http: Sequence[Mapping[str, str]]
    description: str
    # The complete declaration.
    options: Mapping[str, Any]


@dataclass(frozen=True)
class Validation:
    """A validation, such as `validatesLengthOf('name', {min: 2})`."""

    # presence, absence, length, numericality, inclusion, exclusion, format, uniqueness, date,
    # custom (`validate`) and customAsync (`validateAsync`)
    kind: str
    properties: Sequence[str]
    # The last argument; regular expressions and functions are an Expression.
    options: Mapping[str, Any]


@dataclass(frozen=True)
class RemoteHook:
    """A hook of remote methods."""

    # beforeRemote, afterRemote or afterRemoteError
    when: str
    # With wildcards, such as `create`, `prototype.*`, `**`; of all models, `Model.create`.
    method: str


@dataclass(frozen=True)
class Creation:
    """Rows that a script creates."""

    # The rows that are literals; values in them may be an Expression.
    rows: Sequence[Mapping[str, Any]]


class ValueKind(StrEnum):
    """The kinds of values in the condition of a role resolver."""

    CALLER = "caller"  # the id of the user
    ROW_ID = "row id"
    ROW = "row"  # a property of the row
    CONSTANT = "constant"


@dataclass(frozen=True)
class Value:
    """A value in the condition of a role resolver."""

    kind: ValueKind
    # The name of a row's property, or a constant.
    value: Any = None


@dataclass(frozen=True)
class Membership:
    """A role resolver whose role a user has for a row if there is another row."""

    # The name of the model with the rows for which the role is; None for those of all models.
    model: str | None
    # The model with the other rows, and the values of their properties.
    target: str
    where: Mapping[str, Value]


Details = RemoteMethod | Validation | RemoteHook | Creation | Membership | None


class Found(NamedTuple):
    """A declaration or an action that an expression is."""

    kind: Kind
    # The name of the model; None if there is none, or if it is unknown.
    model: str | None
    # The name of the method, event, role, route …; for a validation, the method and its properties.
    name: str
    details: Details = None
    # The function that is declared, if the file has it.
    function: Function | None = None
    # False if a part of the name or of the details is only known at run time.
    is_certain: bool = True


@dataclass(frozen=True)
class Finding:
    """A declaration or an action in the JavaScript, and its place."""

    kind: Kind
    model: str | None
    name: str
    details: Details
    function: Function | None
    is_certain: bool
    file: Path
    line: int
    # The text, of at most MAX_SOURCE bytes.
    source: str
    # None for a declaration in a model's JSON.
    node: Node | None = field(repr=False, compare=False)
