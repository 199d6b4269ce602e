"""The data source: what an application makes from settings and calls."""

import logging
import os
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any, Self

from blinker import Signal

from app.plurals import pluralize
from app.problems import Problems, suggest

from .errors import ConfigError, ConfigWarning, NotSupportedError, VariableError, raise_problems
from .http.auth import auth_factory
from .http.call import Call
from .http.client import Client
from .http.guard import HostPolicy
from .http.limit import CallLimit
from .http.transport import Transport
from .nesting import check_levels
from .operation.compiler import OperationCompiler
from .operation.operation import Operation
from .redaction import Redactor
from .request.builder import SourceContext
from .request.headers import validate_header
from .resource.resource import Resource
from .settings.environment import read_settings, substitute_environment
from .settings.loading import check_settings, secrets_in_settings
from .settings.options import (
    TEMPLATE,
    allowed_hosts,
    options_in_effect,
    source_layers,
    source_options,
    token_urls,
)
from .values import environment_values

logger = logging.getLogger("app.connector")


class DataSource:
    """A remote REST API: its operations are attributes, its resources come from `define`."""

    name: str
    public: bool
    acls: list[dict[str, Any]]
    operations: dict[str, Operation]
    warnings: list[ConfigWarning]
    before_execute: Signal
    after_execute: Signal
    execute_failed: Signal

    def __init__(
        self,
        settings: Mapping[str, Any],
        name: str = "rest",
        request_id: Callable[[], str | None] | None = None,
    ) -> None:
        check_levels(settings, "", name)
        problems = Problems()
        filled = substitute_environment(settings, problems)
        loaded = check_settings(filled, problems)
        self.name = name
        self._loaded = loaded
        self.public = loaded.get("public", False)
        self.acls = loaded.get("acls", [])
        self._context = _source_context(filled, loaded)
        policy = HostPolicy()
        options = options_in_effect(self._context.options)
        transport = Transport(policy, options["pool.maxSockets"])
        places = options["pool.maxConcurrent"]
        limit = CallLimit(places) if places else None
        debug = loaded.get("debug", False)
        self._client = Client(self, transport, self._context, limit, debug=debug)
        self.before_execute = self._client.before_execute
        self.after_execute = self._client.after_execute
        self.execute_failed = self._client.execute_failed
        if "requestIdHeader" in loaded:
            self._send_request_ids(loaded["requestIdHeader"], request_id, problems)

        compiler = OperationCompiler(self._context, self._client, problems, RESERVED)
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
        cls,
        settings: Mapping[str, Any],
        *,
        name: str = "rest",
        request_id: Callable[[], str | None] | None = None,
    ) -> Self:
        """Make a data source; ConfigError lists all problems of the settings. Nothing is sent.

        `request_id` returns what calls send in the header that `requestIdHeader` names.
        """
        return cls(settings, name, request_id)

    @classmethod
    def load(cls, path: str | os.PathLike[str], name: str) -> Self:
        """Make a data source from its entry in a JSON file."""
        return cls(read_settings(path, name), name)

    def invoke(self, params: Any = None, callback: Any = None, /, **named: Any) -> Any:
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
        properties: Mapping[str, Any] | None = None,
        *,
        resource_name: str | None = None,
        plural: bool | str = False,
        id_name: str = "id",
        filter_style: str = "brackets",
        max_values: int | None = None,
    ) -> Resource:
        """Bind a model to the REST resource `/<resource_name>`, by default `/<model_name>`.

        `plural` is used for the path instead of the name; True makes it from the name.
        `max_values` is what `maxResponseValues` is by default.
        """
        if not self._context.options["baseURL"]:
            raise ConfigError({"baseURL": ["is needed to bind a resource"]}, self.name)
        segment = resource_name or (pluralize(model_name) if plural is True else plural)
        context, client = self._context, self._client
        if context.options["maxResponseValues"] is None:
            options = {**context.options, "maxResponseValues": max_values}
            context = replace(context, options=options)
        return Resource(
            model_name,
            segment or model_name,
            properties or {},
            id_name,
            filter_style,
            context,
            client,
        )

    @property
    def effective_settings(self) -> dict[str, Any]:
        """The options and other settings in effect, with secrets masked."""
        own = {key: self._loaded[key] for key in _SHOWN if key in self._loaded}
        options = options_in_effect(self._context.options)
        redactor = self._context.redactor
        shown: dict[str, Any] = redactor.structure({**options, **own})
        return {**shown, "proxy": options["proxy"] and redactor.url(options["proxy"])}

    def observe(self, event: str, hook: Callable[[Call], object]) -> None:
        """Call a hook with each Call: `before execute`, `after execute` or `execute failed`."""
        signals = {
            "before execute": self.before_execute,
            "after execute": self.after_execute,
            "after execute error": self.execute_failed,
            "execute failed": self.execute_failed,
        }
        if event not in signals:
            raise NotSupportedError(f"no event '{event}'{suggest(event, signals)}")
        signals[event].connect(lambda _sender, ctx: hook(ctx), weak=False)

    def context(self, *, headers: Mapping[str, Any]) -> AbstractContextManager[None]:
        """Add headers to every call made inside a `with` block, in this thread only."""
        return self._client.with_headers(headers)

    def _send_request_ids(
        self, header: str, request_id: Callable[[], str | None] | None, problems: Problems
    ) -> None:
        def add(call: Call) -> None:
            if request_id is not None and (value := request_id()):
                call.request.headers.setdefault(header, value)

        try:
            validate_header(header, "")
        except VariableError as error:
            problems.add("requestIdHeader", str(error))
        self.observe("before execute", add)

    def close(self) -> None:
        """Close the pooled connections."""
        self._client.transport.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    def __getattr__(self, name: str) -> Operation:
        operations = self.__dict__.get("operations", {})
        if name in operations:
            operation: Operation = operations[name]
            return operation
        raise AttributeError(f"no function '{name}' here{suggest(name, operations)}")

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self.operations]

    def __repr__(self) -> str:
        return f"<DataSource {self.name}: {', '.join(self.operations) or 'no functions'}>"


def _source_context(filled: Any, loaded: dict[str, Any]) -> SourceContext:
    return SourceContext(
        source_options(loaded),
        {key: loaded[key] for key in TEMPLATE if key in loaded},
        loaded.get("compatibility") == "loopback3",
        Redactor(secrets_in_settings(filled)),
        auth_factory(),
    )


def _report(problems: Problems, filled: Any, name: str) -> list[ConfigWarning]:
    """Raise the errors or log the warnings, which are returned."""
    # A message may quote a setting; those from the environment are secrets.
    mask = Redactor(environment_values(filled)).text
    raise_problems(problems, name, mask)
    warnings = [ConfigWarning(path, mask(message)) for path, message in problems.cautions]
    for warning in warnings:
        logger.warning("data source %s: %s", name, warning)
    return warnings


_SHOWN = ("requestIdHeader", "debug", "compatibility", "responseSelect", "acls")
RESERVED = frozenset(dir(DataSource)) | frozenset(DataSource.__annotations__)
