"""A function of a data source: its parameters, its signature, and calls, also with callbacks."""

import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import wraps
from itertools import takewhile
from keyword import iskeyword
from typing import Any, TypedDict, TypeVar

from app.connector.errors import ConnectorError, UnknownVariableError, VariableError
from app.connector.http.client import Call, HttpClient
from app.connector.redaction import MASK
from app.connector.request.request import Request, RequestBuilder
from app.connector.types import JsonObject, JsonValue, Response, Settings, Values
from app.connector.values import EnvText
from app.connector.variables import Variable
from app.problems import Problems, join_path, suggest, type_name

from .pagination import Pages, Paginator, items_of

Variables = Mapping[str, Variable]

_SOURCES = ("path", "query", "header", "body", "form")
_ROOT_OF = {"path": "url", "header": "headers"}
_SOURCE_OF = {root: source for source, root in _ROOT_OF.items()}
Result = TypeVar("Result")
# As in Node.js: `(error, result, response)`, or the first of these.
Callback = Callable[..., object]
_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


@dataclass(frozen=True, slots=True)
class Parameter:
    """An entry of a function's list: `"a"`, `"a=fixed"` or `{"name": "a", "source": "header"}`."""

    name: str
    index: int
    source: str | None = None
    fixed: str | None = None


def read_parameters(entries: object, problems: Problems, path: str) -> list[Parameter]:
    """Read a function's list of parameters and collect its problems."""
    if entries in ("", {}, False, True) or isinstance(entries, int | float):
        problems.warn(path, f"is read as an empty list, and not {type_name(entries)}")
        return []
    if not isinstance(entries, list):
        problems.add(path, f"must be a list of parameters, got {type_name(entries)}")
        return []
    parameters: list[Parameter] = []
    for index, entry in enumerate(entries):
        if entry == "":
            problems.warn(join_path(path, index), "is ignored: it is no name")
            continue
        parameter = _read_parameter(entry, index, problems, join_path(path, index))
        if parameter is None:
            continue
        if parameter.name in {known.name for known in parameters}:
            problems.warn(join_path(path, index), "is listed twice; the last argument counts")
        parameters.append(parameter)
    return parameters


def _read_parameter(entry: object, index: int, problems: Problems, path: str) -> Parameter | None:
    if isinstance(entry, str):
        entry = {"name": entry}
    if not isinstance(entry, dict) or not isinstance(entry.get("name"), str):
        problems.add(path, f"must be a name or an object with a name, got {type_name(entry)}")
        return None
    for key in entry.keys() - {"name", "source"}:
        problems.warn(path, f"unknown key '{key}' is ignored{suggest(key, ('name', 'source'))}")
    source = entry.get("source")
    if source is not None and source not in _SOURCES:
        problems.warn(path, f"ignored: source must be one of {', '.join(_SOURCES)}")
        source = None
    name, mark, fixed = entry["name"].partition("=")
    return Parameter(name.strip(), index, source, fixed if mark else None)


def check_parameters(
    parameters: list[Parameter], variables: Variables, problems: Problems, path: str
) -> None:
    """Report parameters without a variable, and required variables without a parameter."""
    known = ", ".join(variables) or "none"
    for parameter in parameters:
        if parameter.name not in variables:
            problems.add(
                join_path(path, parameter.index),
                f"'{parameter.name}' is not a variable of this template (it has: {known})"
                f"{suggest(parameter.name, variables)}",
            )
    given = [parameter.name for parameter in parameters]
    for name, variable in variables.items():
        if variable.needs_value and name not in given:
            problems.warn(
                path, f"required variable {name} is not a parameter; only invoke can set it"
            )


def extend_template(
    template: Settings, parameters: list[Parameter], known: Variables
) -> JsonObject | None:
    """Return the template with the parameters it lacks, each in its source's part, or None."""
    missing = [p for p in parameters if p.source is not None and p.name not in known]
    if not missing:
        return None
    extended = dict(template)
    for parameter in missing:
        root = _ROOT_OF.get(str(parameter.source), str(parameter.source))
        part = extended.get(root, {})
        variable = f"{{{parameter.name}}}"
        if root == "url":
            extended[root] = _appended(part or "", variable)
        elif isinstance(part, dict):
            extended[root] = {**part, parameter.name: variable}
    return extended


def _appended(url: str, variable: str) -> str:
    address, mark, query = url.partition("?")
    return f"{address.rstrip('/')}/{variable}{mark}{query}"


def bind(
    name: str, parameters: tuple[str, ...], args: tuple[object, ...], named: Values
) -> dict[str, object]:
    """Match arguments to parameters as Python does, except that any may be missing."""
    if len(args) > len(parameters):
        raise UnknownVariableError(
            f"{name}() takes {len(parameters)} arguments ({', '.join(parameters)}), got {len(args)}"
        )
    values = dict(zip(parameters, args, strict=False))
    for key in named:
        if key not in parameters:
            hint = suggest(key, parameters)
            raise UnknownVariableError(f"{name}() has no parameter '{key}'{hint}")
        if key in values:
            raise UnknownVariableError(f"{name}() got two values for '{key}'")
    return {**values, **named}


def make_signature(parameters: tuple[str, ...], variables: Variables) -> inspect.Signature:
    """Return the signature of a function; defaults that have no Python syntax are left out."""
    are_names = all(name.isidentifier() and not iskeyword(name) for name in parameters)
    if not are_names or len(set(parameters)) < len(parameters):
        return inspect.signature(lambda *args, **named: None)
    listed = [variables[name] for name in parameters]
    optional = list(takewhile(lambda variable: not variable.needs_value, reversed(listed)))
    first = len(listed) - len(optional)
    return inspect.Signature([_signed(known, index < first) for index, known in enumerate(listed)])


def _signed(variable: Variable, is_needed: bool) -> inspect.Parameter:
    """Return a parameter of a signature; a secret default is hidden."""
    default = None if variable.secret else variable.default
    shown = inspect.Parameter.empty if is_needed else default
    return inspect.Parameter(variable.name, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=shown)


class Argument(TypedDict):
    """An argument of a function, as LoopBack 3 describes it; `http` has its `source`."""

    arg: str
    type: str
    required: bool
    http: dict[str, str]


def make_accepts(parameters: list[Parameter], variables: Variables) -> list[Argument]:
    """Describe each argument: name, type, whether required, and its HTTP source."""
    known = [(parameter, variables[parameter.name]) for parameter in parameters]
    return [
        {
            "arg": variable.name,
            "type": variable.type,
            "required": variable.required,
            "http": {
                "source": parameter.source or _SOURCE_OF.get(variable.source, variable.source)
            },
        }
        for parameter, variable in known
    ]


def make_http(name: str, method: str, accepts: list[Argument]) -> dict[str, str]:
    """Return the verb and path under which LoopBack 3 would expose a function."""
    in_path = [f"/:{entry['arg']}" for entry in accepts if entry["http"]["source"] == "path"]
    return {"verb": method.lower(), "path": "".join([f"/{name}", *in_path])}


class Operation:
    """One function of a data source, ready to be called.

    >>> source.geocode("107 S B St", "San Mateo")
    {'lat': 37.56, 'lng': -122.32}
    >>> source.geocode(street="107 S B St")
    {'lat': 37.56, 'lng': -122.32}
    >>> source.geocode.invoke({"street": "107 S B St"}, print)
    None {'lat': 37.56, 'lng': -122.32} <Response 200 application/json>
    """

    def __init__(
        self,
        name: str,
        builder: RequestBuilder,
        parameters: list[Parameter],
        select: Callable[[Response], JsonValue],
        paginator: Paginator,
        client: HttpClient,
    ) -> None:
        self.name = self.__name__ = name
        self._builder = builder
        self._select = select
        self._paginator = paginator
        self._client = client
        self.max_bytes = builder.options.max_bytes
        self._fixed = {known.name: known.fixed for known in parameters if known.fixed is not None}
        # As in LoopBack 3, a parameter with a fixed value has a position; an argument for it is
        # ignored.
        listed = [known for known in parameters if builder.is_lenient or known.fixed is None]
        self.parameters = tuple(known.name for known in listed)
        self.variables = builder.variables
        self.method = builder.method
        self.url = MASK if isinstance(builder.url.text, EnvText) else builder.url.text
        self.accepts = make_accepts(listed, self.variables)
        self.http = make_http(name, self.method, self.accepts)
        self.returns = {"arg": "data", "type": "object", "root": True}
        self.shared = True
        self.__signature__ = make_signature(self.parameters, self.variables)
        self.__doc__ = f"{self.method} {self.url}"

    def __repr__(self) -> str:
        return f"<Operation {self.name}{self.__signature__}>"

    def __call__(self, /, *args: object, **named: object) -> JsonValue:
        """Call with arguments in order or by name; a trailing callable is the callback."""
        args, callback = _split_callback(args)
        return self._run(self._bind(args, named), callback)

    def invoke(
        self, params: object = None, callback: Callback | None = None, /, **named: object
    ) -> JsonValue:
        """Call with one object of named parameters and an optional callback."""
        if callback is None and callable(params):
            params, callback = None, params
        return self._run(self._values(params, named), callback)

    def prepare(self, /, *args: object, **named: object) -> Request:
        """Return the request of a call without sending it; no access token is fetched for it."""
        request = self._build(self._bind(args, named))
        if request.auth is not None:
            request.auth.apply(request)
        return request

    def pages(self, /, *args: object, **named: object) -> Pages:
        """Return an iterator over the results of all pages; each is one call."""
        return self._pages(self._bind(args, named))

    def invoke_pages(self, params: object = None, /, **named: object) -> Pages:
        """Return the same for one object of named parameters, as in `invoke`."""
        return self._pages(self._values(params, named))

    def items(self, /, *args: object, **named: object) -> Iterator[JsonValue]:
        """Yield the items of every page."""
        for page in self.pages(*args, **named):
            yield from items_of(page)

    @property
    def template(self) -> JsonObject:
        """The settings of the template, with secrets masked."""
        return self._builder.masked_settings()

    def _bind(self, args: tuple[object, ...], named: Values) -> dict[str, object]:
        if self._builder.is_lenient:
            args = args[: len(self.parameters)]
        values = bind(self.name, self.parameters, args, named)
        return {name: value for name, value in values.items() if name not in self._fixed}

    def _values(self, params: object, named: Values) -> dict[str, object]:
        if not isinstance(params, Mapping | None):
            found = type_name(params)
            raise UnknownVariableError(f"{self.name}.invoke takes one object, got {found}")
        values = {**(params or {}), **named}
        for key in values:
            if key not in self.variables and not self._builder.is_lenient:
                hint = suggest(key, self.variables)
                raise UnknownVariableError(f"{self.name} has no variable '{key}'{hint}")
        return values

    def _run(self, values: Values, callback: Callback | None) -> JsonValue:
        request = self._build(values)

        def work() -> tuple[JsonValue, object]:
            call = self._call(request)
            return call.result, call.response

        return work()[0] if callback is None else _deliver(callback, work)

    def _pages(self, values: Values) -> Pages:
        return Pages(self._paginator, self._build(values), self._call)

    def _build(self, values: Values) -> Request:
        try:
            return self._builder.build({**self._fixed, **values})
        except VariableError as error:
            error.operation = self.name
            raise

    def _call(self, request: Request) -> Call:
        return self._client.execute(Call(self.name, request, self._builder.options, self._select))


def takes_callback(method: Callable[..., Result]) -> Callable[..., Result]:
    """Let a method take a callback `(error, result)` as its last argument; it then returns None."""

    @wraps(method)
    def call(self: object, *args: object, **named: object) -> Any:
        args, callback = _split_callback(args)
        if callback is None:
            return method(self, *args, **named)
        _deliver(callback, lambda: (method(self, *args, **named), None))
        return None

    return call


def _split_callback(args: tuple[object, ...]) -> tuple[tuple[object, ...], Callback | None]:
    """Return the arguments without a trailing callable, and that callable as the callback."""
    last = args[-1] if args else None
    return (args[:-1], last) if callable(last) else (args, None)


def _deliver(callback: Callback, work: Callable[[], tuple[object, object]]) -> None:
    """Call back with the result and response that `work` returns, or with the error it raises.

    An error in the arguments is raised. A callback with only one or two parameters gets the first
    arguments.
    """
    outcome: tuple[object, ...]
    try:
        outcome = (None, *work())
    except ConnectorError as error:
        if error.kind not in ("remote", "transport"):
            raise
        outcome = (error, getattr(error, "body", None), getattr(error, "response", None))
    callback(*outcome[: _arity(callback)])


def _arity(callback: Callback) -> int:
    try:
        kinds = [known.kind for known in inspect.signature(callback).parameters.values()]
    except ValueError:
        # A C function without a signature.
        return 3
    if inspect.Parameter.VAR_POSITIONAL in kinds:
        return 3
    return sum(kind in _POSITIONAL for kind in kinds)
