"""Building a request from a compiled template and the values of its variables."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from requests.structures import CaseInsensitiveDict

from app.connector.errors import VariableError
from app.connector.problems import ErrorCollector, join_path, type_name
from app.connector.redaction import Redactor
from app.connector.settings.call_options import read_options
from app.connector.settings.options import merge, template_options
from app.connector.template.compiler import Compiler
from app.connector.template.nodes import ConstantNode, Node, TextNode
from app.connector.template.variables import VariableCollector, resolve, secret_values
from app.connector.values import MISSING

from .headers import serialize_headers
from .model import Auth, Request
from .url import UrlTemplate


@dataclass(frozen=True)
class SourceContext:
    """What operations and resources need of their data source.

    `template` has the defaults for keys of templates; with `is_lenient` calls may have arguments
    that LoopBack 3 ignores.
    """

    options: Mapping[str, Any]
    template: Mapping[str, Any]
    is_lenient: bool
    redactor: Redactor
    make_auth: Callable[[Mapping[str, Any]], Auth | None]


class RequestBuilder:
    """A compiled template that builds a request for every call.

    Texts of `declares` are not sent; their variables count as variables of the template.
    """

    def __init__(
        self,
        settings: Mapping[str, Any],
        context: SourceContext,
        errors: ErrorCollector,
        path: str,
        declares: Mapping[str, Any] | None = None,
    ) -> None:
        upper = template_options(settings)
        merged = merge(context.options, upper)
        self.options = read_options(merged)
        self.method: str = settings["method"]
        self._settings = settings
        self.is_lenient = context.is_lenient
        self._query = context.options["query"]
        self._redactor = context.redactor
        self._make_auth = context.make_auth
        self._compile(settings, upper, merged, errors, path, declares or {})
        try:
            self._prepare_constants(context.options["headers"], merged["auth"])
        except VariableError as error:
            errors.add(path, str(error))

    def _compile(
        self,
        settings: Mapping[str, Any],
        upper: Mapping[str, Any],
        merged: Mapping[str, Any],
        errors: ErrorCollector,
        path: str,
        declares: Mapping[str, Any],
    ) -> None:
        url_path = join_path(path, "url")
        # A url that is not a string was reported before and is missing here.
        is_url_valid = not errors.has_error(url_path)
        collector = VariableCollector(errors, url_path)
        # LoopBack 3 looks for variables in every text of a template.
        Compiler(collector).declare(declares, path)
        self.url = self._compile_url(settings, merged["baseURL"], collector)
        self._compile_parts(settings, upper, Compiler(collector), path)
        self._auth_node = _compile_auth(settings.get("options", {}), Compiler(collector), path)
        section = settings.get("variables", {})
        self.variables = collector.merge(section, join_path(path, "variables"))
        self._secret_variables = [known for known in self.variables.values() if known.secret]
        if is_url_valid:
            self.url.check(errors, url_path, merged["allowedHosts"])
        self._check_parts(errors, path)

    def _prepare_constants(self, headers: Mapping[str, Any], auth: Mapping[str, Any]) -> None:
        accept = {"Accept": "application/json"} if self.options.expects_json else {}
        entries = merge({"headers": accept}, {"headers": headers})["headers"]
        self._headers = CaseInsensitiveDict(serialize_headers(entries))
        self._auth = self._make_auth(auth) if self._auth_node is None else None

    @staticmethod
    def _compile_url(
        settings: Mapping[str, Any], base: str, collector: VariableCollector
    ) -> UrlTemplate:
        section = settings.get("variables", {})
        multi_segment = [name for name, extra in section.items() if extra.get("type") == "path"]
        return UrlTemplate(settings["url"], base, collector, multi_segment)

    def _compile_parts(
        self, settings: Mapping[str, Any], upper: Mapping[str, Any], compiler: Compiler, path: str
    ) -> None:
        def part(root: str, value: Any, missing: Any = None) -> Node:
            return compiler.compile(value, root, join_path(path, root), missing=missing)

        left_out = MISSING if settings["omitMissing"] else None
        query = settings.get("query", {})
        self._method_node = part("method", self.method)
        self._headers_node = part("headers", upper.get("headers", {}))
        self._query_node = part(
            "query", query if isinstance(query, str) else upper.get("query", {})
        )
        self._body_node = part("body", settings.get("body", MISSING), left_out)
        self._form_node = part("form", settings.get("form", MISSING), left_out)
        self._files_node = part("files", settings.get("files", {}))

    def _check_parts(self, errors: ErrorCollector, path: str) -> None:
        if isinstance(self._method_node, ConstantNode) and not _is_method(self.method):
            errors.add(join_path(path, "method"), f"{self.method!r} cannot be used as a method")
        if isinstance(self._query_node, ConstantNode | TextNode):
            errors.add(join_path(path, "query"), "must be an object or one variable")

    def build(self, given: Mapping[str, Any]) -> Request:
        """Return a new request for the given values."""
        values = resolve(self.variables, given)
        method = self._build_method(values)
        headers = self._headers.copy()
        headers.update(serialize_headers(self._headers_node.build(values)))
        return Request(
            method,
            self.url.build(values, require_values=method == "DELETE"),
            headers,
            self._build_query(values),
            self._body_node.build(values),
            self._form_node.build(values),
            self._files_node.build(values),
            self.options.repeat_lists,
            self._build_auth(values),
            self._redactor,
            tuple(secret_values(self._secret_variables, values)),
            self._headers,
        )

    def masked_settings(self) -> dict[str, Any]:
        """Return the settings of the template, with secrets masked."""
        defaults = {name: known.default for name, known in self.variables.items()}
        redactor = self._redactor.with_secrets(secret_values(self._secret_variables, defaults))
        url = redactor.url(str(self._settings["url"]))
        return {**redactor.structure(self._settings), "url": url}

    def default_url(self) -> str:
        """Return the url with the defaults of its variables."""
        return self.url.default_url(self.variables)

    def _build_method(self, values: Mapping[str, Any]) -> str:
        method = str(self._method_node.build(values) or "GET").upper()
        if not _is_method(method):
            raise VariableError(f"{method!r} cannot be used as a method")
        return method

    def _build_query(self, values: Mapping[str, Any]) -> dict[str, Any]:
        entries = self._query_node.build(values)
        if entries is None:
            entries = {}
        if not isinstance(entries, Mapping):
            raise VariableError(f"The query must be an object, got {type_name(entries)}")
        built = {key: value for key, value in entries.items() if value is not None}
        return {**self._query, **built} if self._query else built

    def _build_auth(self, values: Mapping[str, Any]) -> Auth | None:
        if self._auth_node is None:
            return self._auth
        return self._make_auth(self._auth_node.build(values))


def _is_method(word: str) -> bool:
    return word.isascii() and word.isalpha()


def _compile_auth(own: Mapping[str, Any], compiler: Compiler, path: str) -> Node | None:
    known = len(compiler.collector.occurrences)
    node = compiler.compile(own.get("auth", {}), "options", join_path(path, "options.auth"))
    return node if len(compiler.collector.occurrences) > known else None
