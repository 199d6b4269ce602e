"""Findings in calls of methods, such as `Note.observe('before save', …)`."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tree_sitter import Node

from ostiary_loopback.literals import Expression, arguments_of, expressions
from ostiary_loopback.syntax import name_of

from .finding import PROTOTYPE, Creation, Found, Kind, RemoteHook, RemoteMethod, Validation
from .resolvers.membership import read_membership
from .scope import Scope, label

OPERATIONS = ("access", "loaded", "persist", "before", "after")
VALIDATIONS = {
    "validatesPresenceOf": "presence",
    "validatesAbsenceOf": "absence",
    "validatesLengthOf": "length",
    "validatesNumericalityOf": "numericality",
    "validatesInclusionOf": "inclusion",
    "validatesExclusionOf": "exclusion",
    "validatesFormatOf": "format",
    "validatesUniquenessOf": "uniqueness",
    "validatesDateOf": "date",
    "validate": "custom",
    "validateAsync": "customAsync",
}
CUSTOM = ("custom", "customAsync")
REMOTE_HOOKS = ("beforeRemote", "afterRemote", "afterRemoteError")
# Hooks of `app.remotes()`, by the methods that add them.
GLOBAL_HOOKS = {"before": "beforeRemote", "after": "afterRemote", "afterError": "afterRemoteError"}
CREATIONS = (
    *("create", "createMany", "findOrCreate", "upsert", "updateOrCreate", "patchOrCreate"),
    *("replaceOrCreate", "upsertWithWhere"),
)
# Objects whose method `create` creates no rows.
NOT_MODELS = ("Object", "Promise", "axios", "http", "https", "fs", "winston", "dataSource")
RELATIONS = (
    *("belongsTo", "hasMany", "hasOne", "hasAndBelongsToMany", "embedsOne", "embedsMany"),
    "referencesMany",
)
VERBS = ("get", "post", "put", "patch", "delete", "del", "all", "head", "options")
STORAGE = (
    *("upload", "uploadStream", "download", "downloadStream", "getContainers", "getContainer"),
    *("createContainer", "destroyContainer", "getFiles", "getFile", "removeFile"),
)
PUSHES = ("notifyById", "notifyByQuery", "notifyMany")
CONNECTORS = ("createDataSource", "dataSource")
# Methods of connectors that send SQL or a command.
QUERIES = ("execute", "query", "executeSQL")
# Packages whose use is a finding.
PACKAGES = {
    "loopback-component-push": Kind.PUSH,
    "loopback-component-storage": Kind.STORAGE,
    "apn": Kind.PUSH,
    "node-gcm": Kind.PUSH,
    "fcm-push": Kind.PUSH,
    "cron": Kind.CRON,
    "node-cron": Kind.CRON,
    "node-schedule": Kind.CRON,
    "agenda": Kind.CRON,
    "later": Kind.CRON,
    "kue": Kind.CRON,
    "bull": Kind.CRON,
    "nodemailer": Kind.MAIL,
}


@dataclass(frozen=True)
class Call:
    """A call, with the context that its readers need."""

    scope: Scope
    node: Node
    method: str
    # The object whose method is called; None for a function.
    owner: Node | None
    arguments: list[Node]
    # Whether the script is one that LoopBack's boot runs.
    is_boot: bool

    @property
    def model(self) -> str | None:
        """The model that the method is called on."""
        return self.scope.model_of(self.owner)

    def argument(self, index: int) -> Node | None:
        """Return an argument; None if there are fewer."""
        return self.arguments[index] if index < len(self.arguments) else None

    def value(self, index: int) -> Any:
        """Return the value of an argument."""
        return self.scope.constants.value(self.argument(index))

    @property
    def last_function(self) -> Node | None:
        """The last argument that is a function."""
        found = [node for node in self.arguments if self.scope.function_node(node)]
        return found[-1] if found else None


Reader = Callable[[Call], Iterator[Found]]


def read_call(scope: Scope, node: Node, is_boot: bool) -> Iterator[Found]:
    """Yield the findings in a call."""
    method = scope.called(node)
    reader = READERS.get(method) if method else None
    if reader is None or method is None:
        return
    function = node.child_by_field_name("function")
    owner = function.child_by_field_name("object") if function else None
    yield from reader(Call(scope, node, method, owner, arguments_of(node), is_boot))


def _names(call: Call) -> list[tuple[str, bool]]:
    """Return the values of the first argument as names, each with whether it is certain."""
    if not call.arguments:
        return []
    values = call.scope.values(call.arguments[0])
    return [
        (value, True) if isinstance(value, str) else (label(call.scope, call.arguments[0]), False)
        for value in values
    ]


def _remote_method(call: Call) -> Iterator[Found]:
    if not call.arguments or call.owner is None:
        return
    for constants in call.scope.loops(call.arguments[0]):
        name = constants.value(call.arguments[0])
        options = constants.value(call.argument(1))
        named = name if isinstance(name, str) else label(call.scope, call.arguments[0])
        found = remote_method(call.model, named, options if isinstance(options, dict) else {})
        if isinstance(name, Expression) or (call.argument(1) and not isinstance(options, dict)):
            found = found._replace(is_certain=False)
        yield found


def remote_method(model: str | None, name: str, options: Mapping[str, Any]) -> Found:
    """Return a remote method as it is declared, in JavaScript or in a model's JSON."""
    is_static = options.get("isStatic")
    if not isinstance(is_static, bool):
        is_static = not name.startswith(PROTOTYPE)
    name = name.removeprefix(PROTOTYPE)
    accepts, returns = (_objects(options.get(key)) for key in ("accepts", "returns"))
    description = options.get("description")
    if isinstance(description, list):
        description = " ".join(filter(lambda line: isinstance(line, str), description))
    declared = [{k: v for k, v in item.items() if k != "http"} for item in accepts]
    unknown = (declared, options.get("returns"), options.get("http"))
    method = RemoteMethod(
        name=name,
        is_static=is_static,
        accepts=accepts,
        returns=returns,
        http=_routes(name, options.get("http")),
        description=description if isinstance(description, str) else "",
        options=options,
    )
    is_certain = not (expressions(list(unknown)) or isinstance(options.get("accepts"), Expression))
    return Found(Kind.REMOTE_METHOD, model, name, method, is_certain=is_certain)


def _objects(value: object) -> list[Mapping[str, Any]]:
    values = value if isinstance(value, list) else [value]
    return [item for item in values if isinstance(item, dict)]


def _routes(name: str, declared: object) -> list[Mapping[str, str]]:
    """Return the routes of a method, with the verb and path that strong-remoting adds."""
    routes = list[Mapping[str, str]]()
    for route in _objects(declared) or [{}]:
        verb, path = route.get("verb"), route.get("path")
        verb = verb.lower() if isinstance(verb, str) else "all"
        path = path if isinstance(path, str) else f"/{name}"
        routes.append({"verb": "delete" if verb == "del" else verb, "path": path})
    return routes


def _disabled(call: Call) -> Iterator[Found]:
    is_static = call.method == "disableRemoteMethodByName" or call.value(1) is True
    for name, is_certain in _names(call):
        full = name if is_static or name.startswith(PROTOTYPE) else PROTOTYPE + name
        yield Found(Kind.DISABLED_METHOD, call.model, full, is_certain=is_certain)


def _validation(call: Call) -> Iterator[Found]:
    kind = VALIDATIONS[call.method]
    texts = [
        value for node in call.arguments for value in [call.scope.constants.text(node)] if value
    ]
    # `validate` is also a method of other libraries, and of rows.
    if kind in CUSTOM and not (texts and call.last_function):
        return
    function = call.scope.function(call.last_function) if kind in CUSTOM else None
    options = call.value(len(call.arguments) - 1)
    options = options if isinstance(options, dict) else {}
    properties = [*texts[: 1 if kind in CUSTOM else None]]
    for index, node in enumerate(call.arguments[:-1]):
        value = call.value(index)
        if isinstance(value, list):
            properties += [item for item in value if isinstance(item, str)]
        elif isinstance(value, Expression) and not call.scope.function_node(node):
            properties.append(label(call.scope, node))
    is_certain = bool(texts or properties) and not expressions(options)
    details = Validation(kind, properties, options)
    name = f"{call.method} {', '.join(properties)}"
    yield Found(Kind.VALIDATION, call.model, name, details, function, is_certain)


def _observer(call: Call) -> Iterator[Found]:
    function = call.scope.function(call.argument(1))
    for event, is_certain in _names(call):
        # Other libraries have `observe` too.
        if event.partition(" ")[0] in OPERATIONS if is_certain else call.model:
            yield Found(Kind.OPERATION_HOOK, call.model, event, function=function)


def _remote_hook(call: Call) -> Iterator[Found]:
    for name, _ in _names(call):
        yield _hook(call, call.model, call.method, name)


def _hook(call: Call, model: str | None, when: str, method: str) -> Found:
    function = call.scope.function(call.last_function)
    return Found(Kind.REMOTE_HOOK, model, f"{when} {method}", RemoteHook(when, method), function)


def _global_hook(call: Call) -> Iterator[Found]:
    """Read `app.remotes().before('Note.create', …)`."""
    owner = call.scope.constants.resolve(call.owner) if call.owner else None
    if owner is None or not name_of(owner).removesuffix("()").endswith("remotes"):
        return
    for name, _ in _names(call):
        model = call.scope.models.get(name.split(".")[0].lower())
        yield _hook(call, model, GLOBAL_HOOKS[call.method], name)


def _resolver(call: Call) -> Iterator[Found]:
    function = call.scope.function(call.last_function)
    membership = read_membership(call.scope, function.node) if function else None
    for name, _ in _names(call):
        yield Found(Kind.ROLE_RESOLVER, None, name, membership, function)


def _creation(call: Call) -> Iterator[Found]:
    owner = name_of(call.owner)
    if not call.is_boot or not owner or owner in NOT_MODELS:
        return
    value = call.value(0)
    # The filter may be left out, as may the callback.
    if call.method == "findOrCreate" and isinstance(data := call.value(1), dict | list):
        value = data
    rows = _objects(value)
    is_certain = bool(rows) and not expressions(value)
    model = call.model
    if model is None and owner.endswith(".principals"):
        model = "RoleMapping"
    name = f"{model or label(call.scope, call.owner)}.{call.method}"
    yield Found(Kind.CREATION, model, name, Creation(rows), is_certain=is_certain)


def _route(call: Call) -> Iterator[Found]:
    # `app.get('name')` returns a setting.
    if len(call.arguments) < 2 or not _is_application(call):
        return
    function = call.scope.function(call.last_function)
    verb = {"del": "delete"}.get(call.method, call.method)
    name = f"{verb.upper()} {label(call.scope, call.arguments[0])}"
    yield Found(Kind.ROUTE, None, name, function=function)


def _middleware(call: Call) -> Iterator[Found]:
    if not call.arguments or not _is_application(call):
        return
    function = call.scope.function(call.last_function)
    yield Found(Kind.MIDDLEWARE, None, label(call.scope, call.arguments[0]), function=function)


def _is_application(call: Call) -> bool:
    """Return True if the owner is an application or a router of Express."""
    if call.owner is None:
        return False
    name = name_of(call.owner).split(".")[-1].lower()
    if name in ("app", "server", "router") or name.endswith(("router", "app")):
        return True
    if call.is_boot and name_of(call.owner) == call.scope.parameter:
        return True
    value = call.scope.constants.resolve(call.owner)
    return value.type == "call_expression" and call.scope.called(value) in (
        *("express", "loopback", "Router"),
    )


def _of_model(kind: Kind) -> Reader:
    """Return a reader of calls on a model."""

    def read(call: Call) -> Iterator[Found]:
        if model := call.model:
            first = call.scope.constants.text(call.argument(0)) if call.arguments else None
            yield Found(kind, model, " ".join(filter(None, [call.method, first])))

    return read


def _anywhere(kind: Kind) -> Reader:
    """Return a reader of calls that mean the same on any object."""

    def read(call: Call) -> Iterator[Found]:
        if call.owner is not None:
            yield Found(kind, call.model, call.method)

    return read


def _data_source(call: Call) -> Iterator[Found]:
    # `app.dataSource('name')` returns one.
    if call.owner is not None and len(call.arguments) > 1:
        name = f"{call.method} {label(call.scope, call.arguments[0])}"
        yield Found(Kind.CONNECTOR, None, name)


def _query(call: Call) -> Iterator[Found]:
    owner = call.scope.constants.resolve(call.owner) if call.owner else None
    if owner is not None and name_of(owner).split(".")[-1] == "connector":
        yield Found(Kind.CONNECTOR, None, f"connector.{call.method}")


def _mail(call: Call) -> Iterator[Found]:
    if call.owner is not None and name_of(call.owner).split(".")[-1].lower() == "email":
        yield Found(Kind.MAIL, call.model, f"{label(call.scope, call.owner)}.send")


def _interval(call: Call) -> Iterator[Found]:
    if call.owner is None:
        yield Found(Kind.CRON, None, call.method)


def _require(call: Call) -> Iterator[Found]:
    name = call.scope.constants.text(call.argument(0)) if call.arguments else None
    if name in PACKAGES and call.owner is None:
        yield Found(PACKAGES[name], None, name)


READERS: Mapping[str, Reader] = {
    "remoteMethod": _remote_method,
    "disableRemoteMethod": _disabled,
    "disableRemoteMethodByName": _disabled,
    **dict.fromkeys(VALIDATIONS, _validation),
    "observe": _observer,
    **dict.fromkeys(REMOTE_HOOKS, _remote_hook),
    **dict.fromkeys(GLOBAL_HOOKS, _global_hook),
    "registerResolver": _resolver,
    **dict.fromkeys(CREATIONS, _creation),
    **dict.fromkeys(("automigrate", "autoupdate"), _anywhere(Kind.SCHEMA_CHANGE)),
    "mixin": _of_model(Kind.MIXIN),
    **dict.fromkeys(RELATIONS, _of_model(Kind.RELATION)),
    "defineProperty": _of_model(Kind.PROPERTY),
    **dict.fromkeys(STORAGE, _of_model(Kind.STORAGE)),
    **dict.fromkeys(PUSHES, _anywhere(Kind.PUSH)),
    **dict.fromkeys(VERBS, _route),
    **dict.fromkeys(("use", "middleware"), _middleware),
    "createChangeStream": _anywhere(Kind.CHANGE_STREAM),
    **dict.fromkeys(CONNECTORS, _data_source),
    **dict.fromkeys(QUERIES, _query),
    "send": _mail,
    "setInterval": _interval,
    "enableAuth": _anywhere(Kind.AUTHENTICATION),
    "require": _require,
}
