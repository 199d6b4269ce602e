"""A finding in an application's JavaScript, and its details for each kind."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from tree_sitter import Node


class Kind(StrEnum):
    """The kinds of findings; beside each, its details, None for a kind without."""

    REMOTE_METHOD = "remote method"  # RemoteMethod
    FUNCTION = "function"  # ModelFunction: of a model, and no remote method
    OVERRIDE = "override"  # ModelFunction: in place of a method that LoopBack's models have
    DISABLED_METHOD = "disabled method"  # DisabledMethod
    VALIDATION = "validation"  # Validation
    OPERATION_HOOK = "operation hook"  # OperationHook
    REMOTE_HOOK = "remote hook"  # RemoteHook
    ROLE_RESOLVER = "role resolver"  # RoleResolver
    CREATION = "creation"  # Creation: rows that a script creates
    SCHEMA_CHANGE = "schema change"  # automigrate, autoupdate; the name is the method
    MIXIN = "mixin"
    RELATION = "relation"  # declared in JavaScript; the name is the relation's kind
    PROPERTY = "property"  # defineProperty
    SETTING = "setting"  # assignments to Model.settings, Model.definition
    AUTHENTICATION = "authentication"  # enableAuth, without which LoopBack checks no rules
    ROUTE = "route"  # Route
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
    # The names of its parameters; a pattern is as it is written.
    parameters: Sequence[str]
    is_async: bool
    node: Node = field(repr=False, compare=False)


@dataclass(frozen=True)
class RemoteMethod:
    """A method that `remoteMethod` declares.

    Values are as in JSON; what the parser cannot know is an `Expression` in them.
    """

    # Without `prototype.`
    name: str
    is_static: bool
    # Each with its `arg`, `type`, `http` …
    accepts: Sequence[Mapping[str, Any]]
    # As `accepts`; with `root` if it is the whole answer.
    returns: Sequence[Mapping[str, Any]]
    # The routes, each with `verb` and `path`; without a declared one, LoopBack serves all verbs.
    http: Sequence[Mapping[str, str]]
    description: str
    # All that is declared, as it is written.
    options: Mapping[str, Any]
    # The function, if the file has it.
    function: Function | None
    # False if something of accepts, returns or http is an Expression.
    is_certain: bool


@dataclass(frozen=True)
class ModelFunction:
    """A function that is assigned to a model or its prototype."""

    name: str
    is_static: bool
    function: Function


@dataclass(frozen=True)
class DisabledMethod:
    """A method that LoopBack is told not to serve; the name as LoopBack 3 has it.

    A method of rows is `prototype.name`.
    """

    name: str
    # False if the name is an expression, whose text it is.
    is_certain: bool = True


@dataclass(frozen=True)
class Validation:
    """A validation, such as `validatesLengthOf('name', {min: 2})`."""

    # presence, absence, length, numericality, inclusion, exclusion, format, uniqueness, date,
    # custom (`validate`) and customAsync (`validateAsync`)
    kind: str
    properties: Sequence[str]
    # The last argument; regular expressions and functions are an Expression.
    options: Mapping[str, Any]
    # Of a custom validation.
    function: Function | None
    is_certain: bool


@dataclass(frozen=True)
class OperationHook:
    """An observer of an operation."""

    # Such as `before save`.
    event: str
    function: Function | None


@dataclass(frozen=True)
class RemoteHook:
    """A hook of remote methods."""

    # beforeRemote, afterRemote or afterRemoteError
    when: str
    # With wildcards, such as `create`, `prototype.*`, `**`; of all models, `Model.create`.
    method: str
    function: Function | None


@dataclass(frozen=True)
class RoleResolver:
    """A role whose members a function decides."""

    role: str
    function: Function | None


@dataclass(frozen=True)
class Creation:
    """Rows that a script creates."""

    # create, findOrCreate, upsert …
    method: str
    # Those that are literals; values in them may be an Expression.
    rows: Sequence[Mapping[str, Any]]
    # Whether all of them are literals throughout.
    is_certain: bool


@dataclass(frozen=True)
class Route:
    """A route beside the models."""

    # get, post, use …
    verb: str
    # None if it is no literal.
    path: str | None
    function: Function | None


Details = (
    RemoteMethod
    | ModelFunction
    | DisabledMethod
    | Validation
    | OperationHook
    | RemoteHook
    | RoleResolver
    | Creation
    | Route
    | None
)


@dataclass(frozen=True)
class Finding:
    """Something that the JavaScript declares or does."""

    kind: Kind
    # The name of the model; None if it is none's, or not known.
    model: str | None
    # Of the method, event, role, route …; for a validation, the method and its properties.
    name: str
    file: Path
    line: int
    details: Details
    # The text, of at most MAX_SOURCE bytes.
    source: str
    # None for what a model's JSON declares.
    node: Node | None = field(repr=False, compare=False)
