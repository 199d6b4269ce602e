"""An operation: a template that can be called like a function."""

from collections.abc import Callable, Iterator, Mapping

from app.connector.callbacks import Callback, deliver, split_callback
from app.connector.errors import UnknownVariableError, VariableError
from app.connector.http.client import Call, HttpClient
from app.connector.redaction import MASK
from app.connector.request.builder import RequestBuilder
from app.connector.request.model import Request
from app.connector.response import Response
from app.connector.types import JsonObject, JsonValue, Values
from app.connector.values import EnvText
from app.problems import suggest, type_name

from .pagination import Pages, Paginator, items_of
from .parameters import Parameter, bind, make_accepts, make_http, make_signature


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
        args, callback = split_callback(args)
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

        return work()[0] if callback is None else deliver(callback, work)

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
