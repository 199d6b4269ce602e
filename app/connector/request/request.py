"""Requests of calls, which hooks may change, and building them from templates."""

import re
import shlex
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial

from requests.structures import CaseInsensitiveDict

from app.connector.errors import VariableError
from app.connector.redaction import Redactor, secrets_by_name
from app.connector.settings.options import merge, read_options, template_options
from app.connector.template import Compiler, VariableCollector
from app.connector.types import JsonObject, JsonValue, RawResponse, Settings, Values, alias
from app.connector.values import MISSING
from app.connector.variables import ConstantNode, Node, TextNode, resolve, secret_values
from app.problems import Problems, join_path, type_name

from .encoding import add_query, encode_body, serialize_headers
from .url import UrlTemplate, is_path_type, origin_of

# Maximum characters of a URL in an error or a log line.
_MAX_SHOWN_LENGTH = 2000
_METHOD = re.compile("[A-Za-z]+")
_CROSS_ORIGIN = frozenset({"accept", "accept-encoding", "accept-language", "user-agent"})
FetchToken = Callable[["Request", float], RawResponse]


class Auth(ABC):
    """An authentication scheme: it adds credentials to requests that have none."""

    @abstractmethod
    def apply(self, request: "Request") -> None:
        """Add the credentials unless the request has some; nothing is fetched."""

    def refresh(
        self,
        request: "Request",
        fetch: FetchToken,
        deadline: float,
        rejected: "Request | None" = None,
    ) -> bool:
        """Fetch credentials for a request if there are none or they are not valid any more.

        `rejected` is the request that the remote answered with 401. Returns True if it may be sent
        again with other credentials, which this class never has.
        """
        return False

    @abstractmethod
    def secrets(self) -> Iterable[str]:
        """Return the secrets that must never be printed."""


@dataclass(repr=False)
class Request:
    """A request before it is encoded; hooks may change it.

    >>> request = source.geocode.prepare("107 S B St")
    >>> request.headers["x-tenant"] = "t1"
    >>> print(request)
    GET https://geo.example.org/107%20S%20B%20St
    """

    method: str
    url: str
    headers: CaseInsensitiveDict[str] = field(default_factory=CaseInsensitiveDict)
    query: JsonObject = field(default_factory=dict)
    body: JsonValue = MISSING
    form: JsonValue = MISSING
    files: Values = field(default_factory=dict)
    repeat_lists: bool = False
    auth: Auth | None = None
    redactor: Redactor = field(default_factory=Redactor)
    secrets: tuple[str, ...] = ()
    # Headers of the data source; they stay when a hook replaces all headers.
    defaults: Mapping[str, str] = field(default_factory=dict)

    uri = alias("url")
    qs = alias("query")

    @property
    def full_url(self) -> str:
        """The url with its query, as it is sent."""
        return add_query(self.url, self.query, repeat=self.repeat_lists)

    def encode_body(self) -> bytes | None:
        """Return the body as bytes and set Content-Type if it is missing."""
        data, content_type = encode_body(
            self.body,
            self.form,
            self.files,
            self.headers.get("Content-Type"),
            repeat=self.repeat_lists,
        )
        if content_type is not None:
            self.headers["Content-Type"] = content_type
        return data

    def redirected_to(self, url: str) -> "Request":
        """Return the request for another url, without credentials if that has another origin."""
        redirected = replace(self, url=url, query={}, headers=self.headers.copy())
        if origin_of(url) != origin_of(self.url):
            headers = self.headers.items()
            kept = {name: text for name, text in headers if name.lower() in _CROSS_ORIGIN}
            redirected.headers = CaseInsensitiveDict(kept)
            redirected.defaults = {}
            redirected.auth = None
        return redirected

    def full_redactor(self) -> Redactor:
        """Return a redactor that also knows the secrets of this request."""
        return self.redactor.with_secrets(self.all_secrets())

    def all_secrets(self) -> Iterator[str]:
        """Yield the secrets of this request: variables, credentials, entries named like secrets."""
        yield from self.credentials()
        for part in (self.body, self.form):
            yield from secrets_by_name(part)

    def credentials(self) -> Iterator[str]:
        """Yield the secrets of this request except those in its body."""
        yield from self.secrets
        if self.auth is not None:
            yield from self.auth.secrets()
        for part in (dict(self.headers), self.query):
            yield from secrets_by_name(part)

    def copy(self) -> "Request":
        """Return a copy of the request with its own headers and query."""
        return replace(self, headers=self.headers.copy(), query=dict(self.query))

    def __str__(self) -> str:
        return self.describe(self.full_redactor())

    def describe(self, redactor: Redactor) -> str:
        """Return the method and the beginning of the url, with secrets masked."""
        try:
            url = self.full_url
        except VariableError:
            url = self.url
        return f"{self.method} {redactor.url(url, _MAX_SHOWN_LENGTH)}"

    def __repr__(self) -> str:
        return f"<Request {self}>"

    def as_curl(self) -> str:
        """Return a curl command for this request with its secrets masked."""
        redactor = self.full_redactor()
        words = ["curl", "-X", self.method, redactor.url(self.full_url)]
        data = replace(
            self,
            headers=self.headers.copy(),
            body=redactor.structure(self.body),
            form=redactor.structure(self.form),
            files={},
        )
        body = data.encode_body()
        for name, text in redactor.structure(dict(data.headers)).items():
            words += ["-H", f"{name}: {text}"]
        if body is not None:
            words += ["--data-binary", redactor.text(body.decode("utf-8", "replace"))]
        for name in self.files:
            words += ["-F", f"{name}=@{name}"]
        return " ".join(map(shlex.quote, words))


@dataclass(frozen=True)
class SourceContext:
    """The shared parts of a data source's operations and resources.

    `template` has defaults for keys of templates; with `is_lenient`, calls may pass arguments that
    LoopBack 3 ignores.
    """

    options: Settings
    template: Settings
    is_lenient: bool
    redactor: Redactor
    make_auth: Callable[[Settings], Auth | None]


class RequestBuilder:
    """A compiled template that builds a request for every call.

    The texts in `declares` are not sent, but the variables in them are variables of the template.
    """

    def __init__(
        self,
        settings: Settings,
        context: SourceContext,
        problems: Problems,
        path: str,
        declares: Settings | None = None,
    ) -> None:
        own = template_options(settings)
        merged = merge(context.options, own)
        self.options = read_options(merged)
        self.method: str = settings["method"]
        self.is_lenient = context.is_lenient
        self._settings = settings
        self._context = context
        collector = VariableCollector(problems)
        compiler = Compiler(collector)
        # LoopBack 3 looks for variables in all texts of a template.
        compiler.declare(declares or {}, path)
        self.url = _compile_url(settings, merged, collector, join_path(path, "url"))
        self._nodes = _compile_parts(settings, own, compiler, path)
        self._auth_node = _compile_auth(settings.get("options", {}), compiler, path)
        section = settings.get("variables", {})
        self.variables = collector.merge(section, join_path(path, "variables"))
        self._secret_variables = [known for known in self.variables.values() if known.secret]
        self._check_parts(problems, path)
        try:
            self._prepare_constants(merged["auth"])
        except VariableError as error:
            problems.add(path, str(error))

    def _check_parts(self, problems: Problems, path: str) -> None:
        if isinstance(self._nodes["method"], ConstantNode) and not _METHOD.fullmatch(self.method):
            problems.add(join_path(path, "method"), f"{self.method!r} cannot be used as a method")
        if isinstance(self._nodes["query"], ConstantNode | TextNode):
            problems.add(join_path(path, "query"), "must be an object or one variable")

    def _prepare_constants(self, auth: Settings) -> None:
        accept = {"Accept": "application/json"} if self.options.expects_json else {}
        merged = merge({"headers": accept}, {"headers": self._context.options["headers"]})
        self._headers = CaseInsensitiveDict(serialize_headers(merged["headers"]))
        self._auth = self._context.make_auth(auth) if self._auth_node is None else None

    def build(self, given: Values) -> Request:
        """Return a new request for the given values."""
        values = resolve(self.variables, given)
        secrets = tuple(secret_values(self._secret_variables, values))
        built = {root: node.build(values) for root, node in self._nodes.items()}
        method = str(built["method"] or "GET").upper()
        if not _METHOD.fullmatch(method):
            raise VariableError(f"{method!r} cannot be used as a method")
        headers = self._headers.copy()
        headers.update(serialize_headers(built["headers"]))
        node = self._auth_node
        return Request(
            method,
            self.url.build(values, require_values=method == "DELETE"),
            headers,
            {**self._context.options["query"], **_query_entries(built["query"])},
            built["body"],
            built["form"],
            built["files"],
            self.options.repeat_lists,
            self._auth if node is None else self._context.make_auth(node.build(values)),
            self._context.redactor,
            secrets,
            self._headers,
        )

    def masked_settings(self) -> JsonObject:
        """Return the settings of the template, with secrets masked."""
        defaults = {name: known.default for name, known in self.variables.items()}
        secrets = secret_values(self._secret_variables, defaults)
        redactor = self._context.redactor.with_secrets(secrets)
        url = redactor.url(str(self._settings["url"]))
        return {**redactor.structure(self._settings), "url": url}


def _compile_url(
    settings: Settings, options: Settings, collector: VariableCollector, path: str
) -> UrlTemplate:
    section = settings.get("variables", {})
    multi_segment = [name for name, extra in section.items() if is_path_type(extra.get("type"))]
    add = partial(collector.add, root="url", path=path)
    url = UrlTemplate(settings["url"], options["baseURL"], multi_segment, add)
    # A url that is not a string was already reported and is missing here.
    if not collector.problems.has_error(path):
        url.check(collector.problems, path, options["allowedHosts"])
    return url


def _compile_parts(
    settings: Settings, own: Settings, compiler: Compiler, path: str
) -> dict[str, Node]:
    """Return the nodes of the parts of a request; `own` has the template's own options."""
    query = settings.get("query", {})
    left_out = MISSING if settings["omitMissing"] else None
    parts: dict[str, tuple[object, object]] = {
        "method": (settings["method"], None),
        "headers": (own.get("headers", {}), None),
        "query": (query if isinstance(query, str) else own.get("query", {}), None),
        "body": (settings.get("body", MISSING), left_out),
        "form": (settings.get("form", MISSING), left_out),
        "files": (settings.get("files", {}), None),
    }
    return {
        root: compiler.compile(value, root, join_path(path, root), missing=missing)
        for root, (value, missing) in parts.items()
    }


def _query_entries(entries: object) -> JsonObject:
    if not isinstance(entries, Mapping | None):
        raise VariableError(f"The query must be an object, got {type_name(entries)}")
    return {key: value for key, value in (entries or {}).items() if value is not None}


def _compile_auth(own: Settings, compiler: Compiler, path: str) -> Node | None:
    """Return the node of credentials that contain variables; None for others."""
    known = len(compiler.collector.tokens)
    node = compiler.compile(own.get("auth", {}), "options", join_path(path, "options.auth"))
    return node if len(compiler.collector.tokens) > known else None
