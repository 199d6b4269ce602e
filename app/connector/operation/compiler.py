"""Compiling the `operations` of the settings."""

from collections.abc import Callable, Collection, Mapping
from operator import attrgetter

from app.connector.http.client import HttpClient
from app.connector.request.request import RequestBuilder, SourceContext
from app.connector.settings.loading import BASE_URL_MESSAGE, is_base_url, load
from app.connector.settings.options import template_defaults
from app.connector.settings.schema import OperationSettings, TemplateSettings
from app.connector.types import JsonValue, Response, Settings
from app.problems import Problems, join_path

from .operation import Operation, Parameter, check_parameters, extend_template, read_parameters
from .pagination import make_paginator
from .response_path import ResponsePath

# Seconds; a shorter read time-out was probably meant in seconds instead of milliseconds.
_SUSPICIOUS_TIMEOUT = 0.1


# The parameters of each function by its name.
Functions = dict[str, list[Parameter]]


class OperationCompiler:
    """Compiles the entries of `operations` and collects their problems.

    `functions` has the operations by name; `templates` has one operation for each entry, None if it
    could not be compiled; `option_layers` has the options of each template; `urls` has all urls
    with the defaults of their variables, as the settings alone determine them.
    """

    def __init__(
        self,
        context: SourceContext,
        client: HttpClient,
        problems: Problems,
        reserved: Collection[str],
    ) -> None:
        self.functions: dict[str, Operation] = {}
        self.templates: list[Operation | None] = []
        self.option_layers: list[Settings] = []
        self.urls: list[str] = []
        self._context = context
        self._client = client
        self._problems = problems
        self._reserved = reserved
        self._names: dict[str, str] = {}

    @property
    def only(self) -> Operation | None:
        """Return the operation that the data source's `invoke` calls, if there is only one."""
        if len(self.templates) != 1:
            return None
        functions = list(self.functions.values())
        return functions[0] if len(functions) == 1 else self.templates[0]

    def add(self, entry: object) -> None:
        """Compile one entry."""
        path = f"operations[{len(self.templates)}]"
        self.templates.append(None)
        loaded = load(OperationSettings(), entry, path, self._problems)
        if loaded is None:
            return
        functions = self._functions(loaded.get("functions", {}), join_path(path, "functions"))
        if loaded.get("template") is None:
            self._problems.add(path, "the template is missing")
        else:
            self._compile(loaded["template"], functions, path)

    def _functions(self, functions: Settings, path: str) -> Functions:
        """Return the parameters of each function."""
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

    def _compile(
        self, settings: Settings, functions: Mapping[str, list[Parameter]], path: str
    ) -> None:
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
        select = _selector(template, self._problems, join_path(template_path, "responsePath"))
        paginate = join_path(template_path, "paginate")
        paginator = make_paginator(template.get("paginate"), self._problems, paginate)
        _warn(template, builder, self._problems, template_path)

        def make(name: str, builder: RequestBuilder, own: list[Parameter]) -> Operation | None:
            if self._problems.errors:
                return None
            return Operation(name, builder, own, select, paginator, self._client)

        self.templates[-1] = make("invoke", builder, [])
        for name, parameters in functions.items():
            extended = extend_template(template, parameters, builder.variables)
            own = self._builder(extended, settings, template_path) if extended else builder
            function_path = join_path(join_path(path, "functions"), name)
            check_parameters(parameters, own.variables, self._problems, function_path)
            if operation := make(name, own, parameters):
                self.functions[name] = operation

    def _builder(self, template: Settings, settings: Settings, path: str) -> RequestBuilder:
        texts = {key: value for key, value in settings.items() if key != "variables"}
        builder = RequestBuilder(template, self._context, self._problems, path, texts)
        self.urls.append(builder.url.default_url(builder.variables))
        return builder


def _selector(template: Settings, problems: Problems, path: str) -> Callable[[Response], JsonValue]:
    """Return a function that selects the result: the response, its body, or a part of it."""
    response_path = None
    if "responsePath" in template:
        try:
            response_path = ResponsePath(
                template["responsePath"], template["responseSelect"], template["onNoMatch"]
            )
        except ValueError as error:
            problems.add(path, str(error))
    if template["fullResponse"]:
        return lambda response: response
    if response_path is None:
        return attrgetter("body")
    return response_path.select_from


def _warn(template: Settings, builder: RequestBuilder, problems: Problems, path: str) -> None:
    """Warn about settings that are valid but probably not intended."""
    if builder.method.upper() == "GET" and "body" in template:
        problems.warn(path, "a GET with a body; many servers ignore it")
    if builder.options.verify is False:
        problems.warn(path, "certificates are not checked (strictSSL is false)")
    if builder.options.read_timeout < _SUSPICIOUS_TIMEOUT:
        problems.warn(path, "timeout is in milliseconds; this one is very short")
    for name in builder.url.path_names:
        variable = builder.variables[name]
        if not variable.required and variable.default is None:
            problems.warn(join_path(path, "url"), f"url variable {name} is optional")
