"""From the checked settings of `operations` to the operations one can call."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from app.connector.http.client import Calls
from app.connector.problems import Problems, described, join
from app.connector.request.builder import RequestTemplate, Surroundings
from app.connector.settings.fields import load
from app.connector.settings.schema import OperationSettings, TemplateSettings

from .operation import Operation, Reading
from .pagination import Pagination, check_pagination
from .parameters import Parameter, check_parameters, extend_template, read_parameters
from .response_path import ResponsePath

_SUSPICIOUS_TIMEOUT = 0.1


@dataclass(frozen=True)
class Plan:
    """A compiled operation that lacks only the means to send."""

    name: str
    template: RequestTemplate
    parameters: list[Parameter]
    reading: Reading
    pagination: Pagination | None

    def operation(self, calls: Calls) -> Operation:
        """Make the operation."""
        return Operation(
            self.name,
            self.template,
            self.parameters,
            self.reading,
            self.pagination,
            calls,
        )


class Assembly:
    """Compiles the entries of `operations`, noting every problem by its place."""

    def __init__(self, around: Surroundings, problems: Problems, reserved: Collection[str]) -> None:
        self.functions: list[Plan] = []
        self.entries: list[Plan | None] = []
        self._around = around
        self._problems = problems
        self._reserved = reserved

    def add(self, entry: Any) -> None:
        """Compile one entry."""
        place = f"operations[{len(self.entries)}]"
        self.entries.append(None)
        loaded = load(OperationSettings(), entry, place, self._problems)
        if loaded is None:
            return
        if loaded.get("template") is None:
            self._problems.add(place, "template is missing")
            return
        below = join(place, "template")
        template = load(TemplateSettings(), loaded["template"], below, self._problems)
        functions = self._functions(loaded.get("functions"), join(place, "functions"))
        if template is not None:
            self._compile(template, functions, place)

    def _functions(self, functions: Any, place: str) -> dict[str, list[Parameter]]:
        if functions is None:
            return {}
        if not isinstance(functions, dict):
            found = described(functions)
            self._problems.add(place, f"must be an object of lists, got {found}")
            return {}
        known = {plan.name for plan in self.functions}
        for name in functions:
            self._check_name(name, known, join(place, name))
        return {
            name: read_parameters(entries, self._problems, join(place, name))
            for name, entries in functions.items()
        }

    def _check_name(self, name: str, known: Collection[str], place: str) -> None:
        if name in known:
            self._problems.add(place, f"there is already a function '{name}'")
        elif name in self._reserved:
            self._problems.add(place, f"'{name}' is a DataSource method; rename the function")
        elif name.startswith("_") or not name:
            self._problems.add(place, "a function's name must not be empty or start with _")

    def _compile(
        self, template: dict[str, Any], functions: Mapping[str, list[Parameter]], place: str
    ) -> None:
        below = join(place, "template")
        shared = RequestTemplate(template, self._around, self._problems, below)
        reading = Reading(self._path(template, below), full=template.get("fullResponse", False))
        pagination = self._pagination(template, below)
        self._warn(template, shared, below)
        self.entries[-1] = Plan("invoke", shared, [], reading, pagination)
        for name, parameters in functions.items():
            own = extend_template(template, parameters, shared.variables)
            compiled = shared
            if own is not None:
                compiled = RequestTemplate(own, self._around, self._problems, below)
            spot = join(join(place, "functions"), name)
            check_parameters(parameters, compiled.variables, self._problems, spot)
            self.functions.append(Plan(name, compiled, parameters, reading, pagination))

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

    def _path(self, template: Mapping[str, Any], place: str) -> ResponsePath | None:
        if "responsePath" not in template:
            return None
        try:
            return ResponsePath(
                template["responsePath"],
                template.get("responseSelect", "auto"),
                template.get("onNoMatch", "empty"),
            )
        except ValueError as error:
            self._problems.add(join(place, "responsePath"), str(error))
        return None

    def _pagination(self, template: Mapping[str, Any], place: str) -> Pagination | None:
        if "paginate" not in template:
            return None
        settings = template["paginate"]
        spot = join(place, "paginate")
        check_pagination(settings, self._problems, spot)
        return None if self._problems.touches(spot) else Pagination(settings)

    def _warn(self, template: Mapping[str, Any], compiled: RequestTemplate, place: str) -> None:
        if compiled.method.upper() == "GET" and "body" in template:
            self._problems.warn(place, "a GET with a body; many servers ignore it")
        if compiled.options.verify is False:
            self._problems.warn(place, "certificates are not checked (strictSSL is false)")
        if compiled.options.timeouts.read < _SUSPICIOUS_TIMEOUT:
            self._problems.warn(place, "timeout is in milliseconds; this one is very short")
        for name in compiled.url.path_names:
            variable = compiled.variables[name]
            if not variable.required and variable.default is None:
                self._problems.warn(join(place, "url"), f"url variable {name} is optional")
