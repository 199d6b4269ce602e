"""Compiling the `operations` of the settings: from each entry to operations one can call."""

from collections.abc import Callable, Collection, Mapping
from operator import attrgetter
from typing import Any

from app.connector.http.client import Client
from app.connector.request.builder import RequestBuilder, SourceContext
from app.connector.response import Response
from app.connector.settings.fields import load
from app.connector.settings.loading import BASE_URL_MESSAGE, is_base_url
from app.connector.settings.options import template_defaults
from app.connector.settings.schema import OperationSettings, TemplateSettings
from app.problems import Problems, join_path, type_name

from .operation import Operation
from .pagination import Paginator, make_paginator
from .parameters import Parameter, check_parameters, extend_template, read_parameters
from .response_path import ResponsePath

# Seconds; a shorter read time-out was probably written in seconds instead of milliseconds.
_SUSPICIOUS_TIMEOUT = 0.1


class OperationCompiler:
    """Compiles entries of `operations`; what is wrong with them goes to the error collector.

    `functions` has the operations with a name, `templates` that of each entry by itself, None
    where it could not be compiled; `option_layers` has the options of each template, and `urls`
    all urls with the defaults of their variables: what the settings alone name.
    """

    def __init__(
        self,
        context: SourceContext,
        client: Client,
        problems: Problems,
        reserved: Collection[str],
    ) -> None:
        self.functions: dict[str, Operation] = {}
        self.templates: list[Operation | None] = []
        self.option_layers: list[Mapping[str, Any]] = []
        self.urls: list[str] = []
        self._context = context
        self._client = client
        self._problems = problems
        self._reserved = reserved
        self._names: dict[str, str] = {}

    @property
    def only(self) -> Operation | None:
        """Return what `invoke` of the data source calls: the only entry, or its only function."""
        if len(self.templates) != 1:
            return None
        functions = list(self.functions.values())
        return functions[0] if len(functions) == 1 else self.templates[0]

    def add(self, entry: Any) -> None:
        """Compile one entry."""
        path = f"operations[{len(self.templates)}]"
        self.templates.append(None)
        loaded = load(OperationSettings(), entry, path, self._problems)
        if loaded is None:
            return
        functions = self._functions(loaded.get("functions"), join_path(path, "functions"))
        if loaded.get("template") is None:
            self._problems.add(path, "the template is missing")
        else:
            self._compile(loaded["template"], functions, path)

    def _functions(self, functions: Any, path: str) -> dict[str, list[Parameter]]:
        if functions is None:
            return {}
        if not isinstance(functions, dict):
            self._problems.add(path, f"must be an object of lists, got {type_name(functions)}")
            return {}
        parameters = {}
        for name, entries in functions.items():
            self._check_name(name, join_path(path, name))
            parameters[name] = read_parameters(entries, self._problems, join_path(path, name))
        return parameters

    def _check_name(self, name: str, path: str) -> None:
        if not name:
            self._problems.add(path, "a function's name must not be empty")
        elif name in self._reserved or name.startswith("_"):
            self._problems.warn(
                path, f"'{name}' is not an attribute; the function is operations['{name}']"
            )
        if name in self._names:
            self._problems.warn(path, f"replaces the function {self._names[name]}")
        self._names[name] = path

    def _compile(self, settings: Any, functions: Mapping[str, list[Parameter]], path: str) -> None:
        template_path = join_path(path, "template")
        loaded = load(TemplateSettings(), settings, template_path, self._problems)
        if loaded is None:
            return
        options = loaded.get("options", {})
        if not is_base_url(options):
            self._problems.add(join_path(template_path, "options.baseURL"), BASE_URL_MESSAGE)
        self.option_layers.append(options)
        template = {**template_defaults(loaded), **self._context.template, **loaded}
        builder = self._builder(template, settings, template_path)
        selector = self._selector(template, template_path)
        paginator = self._paginator(template, template_path)
        self._warn(template, builder, template_path)
        if not self._problems.errors:
            self.templates[-1] = Operation("invoke", builder, [], selector, paginator, self._client)
        for name, parameters in functions.items():
            extended = extend_template(template, parameters, builder.variables)
            own = builder if extended is None else self._builder(extended, settings, template_path)
            function_path = join_path(join_path(path, "functions"), name)
            check_parameters(parameters, own.variables, self._problems, function_path)
            if not self._problems.errors:
                self.functions[name] = Operation(
                    name, own, parameters, selector, paginator, self._client
                )

    def _builder(
        self, template: Mapping[str, Any], settings: Mapping[str, Any], path: str
    ) -> RequestBuilder:
        texts = {key: value for key, value in settings.items() if key != "variables"}
        builder = RequestBuilder(template, self._context, self._problems, path, texts)
        self.urls.append(builder.url.default_url(builder.variables))
        return builder

    def _paginator(self, template: Mapping[str, Any], path: str) -> Paginator:
        return make_paginator(template.get("paginate"), self._problems, join_path(path, "paginate"))

    def _selector(self, template: Mapping[str, Any], path: str) -> Callable[[Response], Any]:
        """Return what selects the result: the response, its body, or a part of the body."""
        response_path = None
        if "responsePath" in template:
            try:
                response_path = ResponsePath(
                    template["responsePath"], template["responseSelect"], template["onNoMatch"]
                )
            except ValueError as error:
                self._problems.add(join_path(path, "responsePath"), str(error))
        if template["fullResponse"]:
            return lambda response: response
        if response_path is None:
            return attrgetter("body")
        return lambda response: response_path.select(response.body)

    def _warn(self, template: Mapping[str, Any], builder: RequestBuilder, path: str) -> None:
        if builder.method.upper() == "GET" and "body" in template:
            self._problems.warn(path, "a GET with a body; many servers ignore it")
        if builder.options.verify is False:
            self._problems.warn(path, "certificates are not checked (strictSSL is false)")
        if builder.options.read_timeout < _SUSPICIOUS_TIMEOUT:
            self._problems.warn(path, "timeout is in milliseconds; this one is very short")
        for name in builder.url.path_names:
            variable = builder.variables[name]
            if not variable.required and variable.default is None:
                self._problems.warn(join_path(path, "url"), f"url variable {name} is optional")
