"""The data source: a remote API that is described by settings."""

import logging
import os
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Self

from app.plurals import pluralize
from app.problems import Problems, suggest

from .bound_model import BoundModel
from .errors import ConfigError, ConfigWarning, NotSupportedError, VariableError, raise_problems
from .http.auth import auth_factory
from .http.client import Call, CallLimit, HttpClient, RequestId
from .http.connection import HostPolicy
from .http.transport import Transport
from .operation.compiler import OperationCompiler
from .operation.operation import Callback, Operation
from .redaction import Redactor
from .request.encoding import validate_header
from .request.request import SourceContext
from .settings.loading import (
    check_settings,
    read_settings,
    secrets_in_settings,
    substitute_environment,
)
from .settings.options import (
    TEMPLATE,
    allowed_hosts,
    options_in_effect,
    source_layers,
    source_options,
    token_urls,
)
from .types import JsonObject, JsonValue, Settings, Values
from .values import check_levels, environment_values

logger = logging.getLogger("app.connector")
_SHOWN = ("requestIdHeader", "debug", "compatibility", "responseSelect", "acls")


class DataSource:
    """A remote REST API: its operations are attributes, its resources come from `define`.

    >>> source = DataSource.from_config(
    ...     {
    ...         "connector": "rest",
    ...         "operations": [
    ...             {
    ...                 "template": {"url": "https://geo.example.org/{^street}"},
    ...                 "functions": {"geocode": ["street"]},
    ...             }
    ...         ],
    ...     },
    ...     name="geo",
    ... )
    >>> source.geocode("107 S B St")
    {'lat': 37.56, 'lng': -122.32}
    """

    def __init__(
        self, settings: Settings, name: str = "rest", request_id: RequestId | None = None
    ) -> None:
        check_levels(settings, "", name)
        problems = Problems()
        filled = substitute_environment(settings, problems)
        loaded = check_settings(filled, problems)
        self.name = name
        self._loaded = loaded
        self.public: bool = loaded.get("public", False)
        self.acls: list[JsonObject] = loaded.get("acls", [])
        self.operations: dict[str, Operation] = {}
        self.warnings: list[ConfigWarning] = []
        self._context = _source_context(filled, loaded)
        policy = HostPolicy()
        options = options_in_effect(self._context.options)
        self._client = HttpClient(
            self,
            Transport(policy, options["pool.maxSockets"]),
            self._context,
            CallLimit(options["pool.maxConcurrent"]),
            debug=loaded.get("debug", False),
        )
        self.before_execute = self._client.before_execute
        self.after_execute = self._client.after_execute
        self.execute_failed = self._client.execute_failed
        if "requestIdHeader" in loaded:
            _check_header(loaded["requestIdHeader"], problems)
            if request_id is not None:
                self._client.send_request_ids(loaded["requestIdHeader"], request_id)

        compiler = OperationCompiler(self._context, self._client, problems, dir(self))
        for entry in loaded.get("operations", []):
            compiler.add(entry)
        self.warnings = _report(problems, filled, name)
        self.operations = compiler.functions
        self._only = compiler.only
        layers = [*source_layers(loaded).values(), *compiler.option_layers]
        urls = [self._context.options["baseURL"], *token_urls(layers), *compiler.urls]
        policy.trust(urls, allowed_hosts(layers))

    @classmethod
    def from_config(
        cls, settings: Settings, *, name: str = "rest", request_id: RequestId | None = None
    ) -> Self:
        """Make a data source; ConfigError lists all problems of the settings. Sends nothing.

        `request_id` returns the value of the header that `requestIdHeader` names.
        """
        return cls(settings, name, request_id)

    @classmethod
    def load(cls, path: str | os.PathLike[str], name: str) -> Self:
        """Make a data source from its entry in a JSON file.

        >>> geo = DataSource.load("datasources.json", "geo")
        """
        return cls(read_settings(path, name), name)

    def invoke(
        self, params: object = None, callback: Callback | None = None, /, **named: object
    ) -> JsonValue:
        """Call the only operation with named parameters; with several, use `<function>.invoke`."""
        if self._only is None:
            names = ", ".join(self.operations) or "none"
            raise NotSupportedError(
                f"{self.name}.invoke needs exactly one operation; use <function>.invoke "
                f"(functions: {names})"
            )
        return self._only.invoke(params, callback, **named)

    def define(
        self,
        model_name: str,
        properties: Values | None = None,
        *,
        resource_name: str | None = None,
        plural: bool | str = False,
        id_name: str = "id",
        filter_style: str = "brackets",
        max_values: int | None = None,
    ) -> BoundModel:
        """Bind a model to the REST resource `/<resource_name>`, by default `/<model_name>`.

        >>> User = source.define("users", {"name": "string", "joinedAt": "date"})
        >>> User.find(limit=1)
        [<users 1>]

        `plural` is used for the path instead of the name; True derives it from the name.
        `max_values` is the default of `maxResponseValues`.
        """
        if not self._context.options["baseURL"]:
            raise ConfigError({"baseURL": ["is needed to bind a resource"]}, self.name)
        segment = resource_name or (pluralize(model_name) if plural is True else plural)
        context = self._context
        if context.options["maxResponseValues"] is None:
            context = replace(context, options={**context.options, "maxResponseValues": max_values})
        return BoundModel(
            model_name,
            segment or model_name,
            properties or {},
            id_name,
            filter_style,
            context,
            self._client,
        )

    @property
    def effective_settings(self) -> JsonObject:
        """The options and other settings in effect, with secrets masked."""
        own = {key: self._loaded[key] for key in _SHOWN if key in self._loaded}
        options = options_in_effect(self._context.options)
        redactor = self._context.redactor
        shown: JsonObject = redactor.structure({**options, **own})
        return {**shown, "proxy": options["proxy"] and redactor.url(options["proxy"])}

    def observe(self, event: str, hook: Callable[[Call], object]) -> None:
        """Call a hook with each Call: `before execute`, `after execute` or `execute failed`.

        >>> source.observe("after execute", lambda ctx: print(ctx.res.statusCode, ctx.elapsed))
        """
        signals = {
            "before execute": self.before_execute,
            "after execute": self.after_execute,
            "after execute error": self.execute_failed,
            "execute failed": self.execute_failed,
        }
        if event not in signals:
            raise NotSupportedError(f"no event '{event}'{suggest(event, signals)}")
        signals[event].connect(lambda _sender, ctx: hook(ctx), weak=False)

    def context(self, *, headers: Values) -> AbstractContextManager[None]:
        """Add headers to every call made inside a `with` block, in this thread only.

        >>> with source.context(headers={"authorization": "Bearer of-this-user"}):
        ...     source.orders()
        """
        return self._client.with_headers(headers)

    def close(self) -> None:
        """Close the pooled connections."""
        self._client.transport.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    def __getattr__(self, name: str) -> Operation:
        operations: dict[str, Operation] = self.__dict__.get("operations", {})
        if name in operations:
            return operations[name]
        raise AttributeError(f"no function '{name}' here{suggest(name, operations)}")

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self.operations]

    def __repr__(self) -> str:
        return f"<DataSource {self.name}: {', '.join(self.operations) or 'no functions'}>"


def _source_context(filled: object, loaded: JsonObject) -> SourceContext:
    return SourceContext(
        source_options(loaded),
        {key: loaded[key] for key in TEMPLATE if key in loaded},
        loaded.get("compatibility") == "loopback3",
        Redactor(secrets_in_settings(filled)),
        auth_factory(),
    )


def _check_header(name: str, problems: Problems) -> None:
    try:
        validate_header(name, "")
    except VariableError as error:
        problems.add("requestIdHeader", str(error))


def _report(problems: Problems, filled: object, name: str) -> list[ConfigWarning]:
    """Raise the errors or log the warnings, which are returned."""
    # A message may quote a setting, and those from the environment are secrets.
    mask = Redactor(environment_values(filled)).text
    raise_problems(problems, name, mask)
    warnings = [ConfigWarning(path, mask(message)) for path, message in problems.warned]
    for warning in warnings:
        logger.warning("data source %s: %s", name, warning)
    return warnings
