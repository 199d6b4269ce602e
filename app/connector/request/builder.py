"""Building a request from a compiled template and the values of its variables."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from requests.structures import CaseInsensitiveDict

from app.connector.errors import VariableError
from app.connector.redaction import Redactor
from app.connector.settings.call_options import read_options
from app.connector.settings.options import merge, template_options
from app.connector.template.compiler import Compiler
from app.connector.template.nodes import ConstantNode, Node, TextNode
from app.connector.template.variables import VariableCollector, resolve, secret_values
from app.connector.values import MISSING
from app.problems import Problems, join_path, type_name

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
        problems: Problems,
        path: str,
        declares: Mapping[str, Any] | None = None,
    ) -> None:
        upper = template_options(settings)
        merged = merge(context.options, upper)
        self.options = read_options(merged)
        self.method: str = settings["method"]
        self.is_lenient = context.is_lenient
        self._settings = settings
        self._context = context
        collector = VariableCollector(problems, join_path(path, "url"))
        compiler = Compiler(collector)
        # LoopBack 3 looks for variables in every text of a template.
        compiler.declare(declares or {}, path)
        self._compile_url(merged, problems, collector)
        self._compile_parts(upper, compiler, path)
        section = settings.get("variables", {})
        self.variables = collector.merge(section, join_path(path, "variables"))
        self._secret_variables = [known for known in self.variables.values() if known.secret]
        self._check_parts(problems, path)
        try:
            self._prepare_constants(merged["auth"])
        except VariableError as error:
            problems.add(path, str(error))

    def _prepare_constants(self, auth: Mapping[str, Any]) -> None:
        accept = {"Accept": "application/json"} if self.options.expects_json else {}
        merged = merge({"headers": accept}, {"headers": self._context.options["headers"]})
        self._headers = CaseInsensitiveDict(serialize_headers(merged["headers"]))
        self._auth = self._context.make_auth(auth) if self._auth_node is None else None

    def _compile_url(
        self, merged: Mapping[str, Any], problems: Problems, collector: VariableCollector
    ) -> None:
        section = self._settings.get("variables", {})
        multi_segment = [name for name, extra in section.items() if extra.get("type") == "path"]
        url = self._settings["url"]
        self.url = UrlTemplate(url, merged["baseURL"], collector, multi_segment)
        # A url that is not a string was reported before and is missing here.
        if not problems.has_error(collector.url_path):
            self.url.check(problems, collector.url_path, merged["allowedHosts"])

    def _compile_parts(self, upper: Mapping[str, Any], compiler: Compiler, path: str) -> None:
        def part(root: str, value: Any, missing: Any = None) -> Node:
            return compiler.compile(value, root, join_path(path, root), missing=missing)

        settings = self._settings
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
        self._auth_node = _compile_auth(settings.get("options", {}), compiler, path)

    def _check_parts(self, problems: Problems, path: str) -> None:
        if isinstance(self._method_node, ConstantNode) and not _is_method(self.method):
            problems.add(join_path(path, "method"), f"{self.method!r} cannot be used as a method")
        if isinstance(self._query_node, ConstantNode | TextNode):
            problems.add(join_path(path, "query"), "must be an object or one variable")

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
            self._context.redactor,
            tuple(secret_values(self._secret_variables, values)),
            self._headers,
        )

    def masked_settings(self) -> dict[str, Any]:
        """Return the settings of the template, with secrets masked."""
        defaults = {name: known.default for name, known in self.variables.items()}
        secrets = secret_values(self._secret_variables, defaults)
        redactor = self._context.redactor.with_secrets(secrets)
        url = redactor.url(str(self._settings["url"]))
        return {**redactor.structure(self._settings), "url": url}

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
        return {**self._context.options["query"], **built}

    def _build_auth(self, values: Mapping[str, Any]) -> Auth | None:
        if self._auth_node is None:
            return self._auth
        return self._context.make_auth(self._auth_node.build(values))


def _is_method(word: str) -> bool:
    return word.isascii() and word.isalpha()


def _compile_auth(own: Mapping[str, Any], compiler: Compiler, path: str) -> Node | None:
    known = len(compiler.collector.occurrences)
    node = compiler.compile(own.get("auth", {}), "options", join_path(path, "options.auth"))
    return node if len(compiler.collector.occurrences) > known else None
