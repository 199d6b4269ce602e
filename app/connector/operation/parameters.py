"""The parameters of functions: reading them, binding arguments, and their metadata."""

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import takewhile
from keyword import iskeyword
from typing import TypedDict

from app.connector.errors import UnknownVariableError
from app.connector.template.variables import Variable
from app.connector.types import JsonObject, Settings, Values
from app.problems import Problems, join_path, suggest, type_name

Variables = Mapping[str, Variable]

_SOURCES = ("path", "query", "header", "body", "form")
_ROOT_OF = {"path": "url", "header": "headers"}
_SOURCE_OF = {root: source for source, root in _ROOT_OF.items()}


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
