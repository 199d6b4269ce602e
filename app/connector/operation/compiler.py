"""From the checked settings of `operations` to the operations one can call."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from app.connector.http.client import Client
from app.connector.problems import ErrorCollector, join_path, type_name
from app.connector.request.builder import RequestBuilder, SourceContext
from app.connector.settings.fields import load
from app.connector.settings.schema import OperationSettings, TemplateSettings

from .operation import Operation, ResultSelector
from .pagination import Pagination, check_pagination
from .parameters import Parameter, check_parameters, extend_template, read_parameters
from .response_path import ResponsePath

_SUSPICIOUS_TIMEOUT = 0.1


@dataclass(frozen=True)
class Plan:
    """A compiled operation that lacks only the means to send."""

    name: str
    template: RequestBuilder
    parameters: list[Parameter]
    selector: ResultSelector
    pagination: Pagination | None

    def operation(self, client: Client) -> Operation:
        """Make the operation."""
        return Operation(
            self.name,
            self.template,
            self.parameters,
            self.selector,
            self.pagination,
            client,
        )


class OperationCompiler:
    """Compiles the entries of `operations`, noting every problem by its place."""

    def __init__(
        self, context: SourceContext, errors: ErrorCollector, reserved: Collection[str]
    ) -> None:
        self.functions: list[Plan] = []
        self.entries: list[Plan | None] = []
        self._context = context
        self._errors = errors
        self._reserved = reserved

    def add(self, entry: Any) -> None:
        """Compile one entry."""
        path = f"operations[{len(self.entries)}]"
        self.entries.append(None)
        loaded = load(OperationSettings(), entry, path, self._errors)
        if loaded is None:
            return
        if loaded.get("template") is None:
            self._errors.add(path, "template is missing")
            return
        below = join_path(path, "template")
        template = load(TemplateSettings(), loaded["template"], below, self._errors)
        functions = self._functions(loaded.get("functions"), join_path(path, "functions"))
        if template is not None:
            self._compile(template, functions, path)

    def _functions(self, functions: Any, path: str) -> dict[str, list[Parameter]]:
        if functions is None:
            return {}
        if not isinstance(functions, dict):
            found = type_name(functions)
            self._errors.add(path, f"must be an object of lists, got {found}")
            return {}
        known = {plan.name for plan in self.functions}
        for name in functions:
            self._check_name(name, known, join_path(path, name))
        return {
            name: read_parameters(entries, self._errors, join_path(path, name))
            for name, entries in functions.items()
        }

    def _check_name(self, name: str, known: Collection[str], path: str) -> None:
        if name in known:
            self._errors.add(path, f"there is already a function '{name}'")
        elif name in self._reserved:
            self._errors.add(path, f"'{name}' is a DataSource method; rename the function")
        elif name.startswith("_") or not name:
            self._errors.add(path, "a function's name must not be empty or start with _")

    def _compile(
        self, template: dict[str, Any], functions: Mapping[str, list[Parameter]], path: str
    ) -> None:
        below = join_path(path, "template")
        shared = RequestBuilder(template, self._context, self._errors, below)
        selector = ResultSelector(
            self._path(template, below), full=template.get("fullResponse", False)
        )
        pagination = self._pagination(template, below)
        self._warn(template, shared, below)
        self.entries[-1] = Plan("invoke", shared, [], selector, pagination)
        for name, parameters in functions.items():
            own = extend_template(template, parameters, shared.variables)
            compiled = shared
            if own is not None:
                compiled = RequestBuilder(own, self._context, self._errors, below)
            spot = join_path(join_path(path, "functions"), name)
            check_parameters(parameters, compiled.variables, self._errors, spot)
            self.functions.append(Plan(name, compiled, parameters, selector, pagination))

    @property
    def plans(self) -> list[Plan]:
        """Everything compiled: the functions, and each entry by itself."""
        return [*self.functions, *filter(None, self.entries)]

    @property
    def only(self) -> Plan | None:
        """What `invoke` of the data source means: the only entry, as its only function."""
        if len(self.entries) != 1:
            return None
        return self.functions[0] if len(self.functions) == 1 else self.entries[0]

    def _path(self, template: Mapping[str, Any], path: str) -> ResponsePath | None:
        if "responsePath" not in template:
            return None
        try:
            return ResponsePath(
                template["responsePath"],
                template.get("responseSelect", "auto"),
                template.get("onNoMatch", "empty"),
            )
        except ValueError as error:
            self._errors.add(join_path(path, "responsePath"), str(error))
        return None

    def _pagination(self, template: Mapping[str, Any], path: str) -> Pagination | None:
        if "paginate" not in template:
            return None
        settings = template["paginate"]
        spot = join_path(path, "paginate")
        check_pagination(settings, self._errors, spot)
        return None if self._errors.has_error(spot) else Pagination(settings)

    def _warn(self, template: Mapping[str, Any], compiled: RequestBuilder, path: str) -> None:
        if compiled.method.upper() == "GET" and "body" in template:
            self._errors.warn(path, "a GET with a body; many servers ignore it")
        if compiled.options.verify is False:
            self._errors.warn(path, "certificates are not checked (strictSSL is false)")
        if compiled.options.timeouts.read < _SUSPICIOUS_TIMEOUT:
            self._errors.warn(path, "timeout is in milliseconds; this one is very short")
        for name in compiled.url.path_names:
            variable = compiled.variables[name]
            if not variable.required and variable.default is None:
                self._errors.warn(join_path(path, "url"), f"url variable {name} is optional")
