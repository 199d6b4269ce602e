"""The request of a call, which hooks may change; its repr has no secrets."""

import shlex
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from requests.structures import CaseInsensitiveDict

from app.connector.errors import VariableError
from app.connector.redaction import Redactor, secrets_by_name
from app.connector.types import JsonObject, JsonValue, RawResponse, Values, alias
from app.connector.values import MISSING

from .encoding import add_query, encode_body
from .url import origin_of

# Maximum characters of a URL in an error or a log line.
_MAX_SHOWN_LENGTH = 2000
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
