"""An operation: a template that is called like a function."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from app.connector.errors import ConnectorError, UnknownVariableError, VariableError
from app.connector.http.call import Call
from app.connector.http.client import Client
from app.connector.problems import suggest, type_name
from app.connector.redaction import MASK
from app.connector.request.builder import RequestBuilder
from app.connector.request.model import Request
from app.connector.values import EnvText

from .pagination import Paginator
from .parameters import (
    Callback,
    Parameter,
    bind,
    make_accepts,
    make_http,
    make_signature,
    split_callback,
)
from .result import ResultSelector

_RETURNS = {"arg": "data", "type": "object", "root": True}


class Operation:
    """One function of a data source, ready to be called."""

    def __init__(
        self,
        name: str,
        builder: RequestBuilder,
        parameters: list[Parameter],
        selector: ResultSelector,
        paginator: Paginator | None,
        client: Client,
    ) -> None:
        self.name = self.__name__ = name
        self._builder = builder
        self._selector = selector
        self._paginator = paginator
        self._client = client
        # The url with the defaults of its variables: what the settings alone name.
        self.default_url = builder.default_url()
        self.max_bytes = builder.options.max_bytes
        self._fixed = {known.name: known.fixed for known in parameters if known.fixed is not None}
        open_parameters = [known for known in parameters if known.fixed is None]
        self.parameters = tuple(known.name for known in open_parameters)
        self.variables = builder.variables
        self.method = builder.method
        self.url = MASK if isinstance(builder.url.text, EnvText) else builder.url.text
        self.accepts = make_accepts(open_parameters, self.variables)
        self.http = make_http(name, self.method, self.accepts)
        self.returns = dict(_RETURNS)
        self.shared = True
        self.__signature__ = make_signature(self.parameters, self.variables)
        self.__doc__ = f"{self.method} {self.url}"

    def __repr__(self) -> str:
        return f"<Operation {self.name}{self.__signature__}>"

    def __call__(self, *args: Any, **named: Any) -> Any:
        """Call with arguments in order or by name; a trailing callable is the callback."""
        args, callback = split_callback(args)
        return self._run(bind(self.name, self.parameters, args, named), callback)

    def invoke(self, params: Any = None, callback: Any = None, /, **named: Any) -> Any:
        """Call with one object of named parameters and an optional callback."""
        if callback is None and callable(params):
            params, callback = None, params
        if params is not None and not isinstance(params, Mapping):
            found = type_name(params)
            raise UnknownVariableError(f"{self.name}.invoke takes one object, got {found}")
        return self._run(self._checked({**(params or {}), **named}), callback)

    def prepare(self, *args: Any, **named: Any) -> Request:
        """Return the request of a call without sending it; no access token is fetched for it."""
        request = self._build(bind(self.name, self.parameters, args, named))
        if request.auth is not None:
            request.auth.apply(request)
        return request

    def pages(self, *args: Any, **named: Any) -> Iterator[Any]:
        """Yield the result of every page; each is one call."""
        values = bind(self.name, self.parameters, args, named)
        if self._paginator is None:
            yield self._call(self._build(values)).result
            return
        for call in self._paginator.pages(self._build(values), self._call):
            yield call.result

    def items(self, *args: Any, **named: Any) -> Iterator[Any]:
        """Yield the items of every page."""
        for page in self.pages(*args, **named):
            if isinstance(page, list):
                yield from page
            elif page is not None:
                yield page

    def _checked(self, values: Mapping[str, Any]) -> Mapping[str, Any]:
        for key in values:
            if key not in self.variables:
                hint = suggest(key, self.variables)
                raise UnknownVariableError(f"{self.name} has no variable '{key}'{hint}")
        return values

    def _run(self, values: Mapping[str, Any], callback: Callback | None) -> Any:
        request = self._build(values)
        if callback is None:
            return self._call(request).result
        try:
            call = self._call(request)
        except ConnectorError as error:
            if error.kind not in ("remote", "transport"):
                raise
            failure = error
        else:
            callback(None, call.result, call.response)
            return None
        callback(failure, getattr(failure, "body", None), getattr(failure, "response", None))
        return None

    def _build(self, values: Mapping[str, Any]) -> Request:
        try:
            return self._builder.build({**self._fixed, **values})
        except VariableError as error:
            error.operation = self.name
            raise

    def _call(self, request: Request) -> Call:
        call = Call(self.name, request, self._builder.options, self._selector)
        self._client.execute(call)
        return call
