"""The OpenAPI document of a service, as far as clients are made from it."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

Part = Mapping[str, Any]
JSON = "application/json"
FORM = "multipart/form-data"
# The verbs of operations; the document has them in small letters.
VERBS = ("get", "post", "put", "patch", "delete")
# Paths of calls, and of logins from the base path, whose URLs are of the service.
PATH = re.compile(r"(/(?!\.\.?(/|$))[^/\s\\?#%]+)+/?")
LOGIN_PATH = re.compile(r"[^/\s\\?#:]+(/[^\s\\?#]*)?")
# Calls of the service about itself, which no front end needs. `/batch` has a method of its own.
SERVICE_TAGS = {"admin", "api_status", "batch", "openapi"}


@dataclass(frozen=True)
class Operation:
    """One operation: a verb of a path."""

    tag: str
    # The name of the method, as in rules.
    method: str
    verb: str
    path: str
    summary: str
    parameters: tuple[Part, ...]
    # The schemas of the body by media type.
    body: Mapping[str, Part]
    # The media type and the schema of the answer, if it has content.
    answer: tuple[str, Part] | None
    responses: tuple[Part, ...]
    # Whether a call may have no body.
    is_body_optional: bool = False
    # Properties of the body that the path sets.
    set_by_path: tuple[str, ...] = ()
    # Whether the name is that of another route of the same method.
    is_alias: bool = False

    def placed(self, place: str) -> list[Part]:
        """Return the parameters in the path or the query."""
        return [parameter for parameter in self.parameters if parameter["in"] == place]


@dataclass
class Document:
    """A document whose parts are found by name."""

    content: Part
    schemas: Mapping[str, Part] = field(init=False)

    def __post_init__(self) -> None:
        """Find the schemas."""
        self.schemas = self.content.get("components", {}).get("schemas", {})

    @property
    def title(self) -> str:
        """The name of the service."""
        return str(self.content["info"]["title"])

    @cached_property
    def models(self) -> dict[str, str]:
        """The names of the models of collections, by the names of the collections."""
        return {tag["name"]: tag["x-model"] for tag in self._tags() if "x-model" in tag}

    @cached_property
    def paths(self) -> dict[str, str]:
        """The paths of collections, by their names."""
        paths = {tag["name"]: tag["x-path"] for tag in self._tags() if "x-path" in tag}
        for path in paths.values():
            _require(PATH, path)
        return paths

    @property
    def logins(self) -> dict[str, str]:
        """The paths of logins by identity providers, from the base path."""
        paths: dict[str, str] = self.content.get("x-login-paths", {})
        for path in paths.values():
            _require(LOGIN_PATH, path)
        return paths

    @property
    def has_batch(self) -> bool:
        """Whether several calls may be sent as one."""
        return "post" in self.content["paths"].get("/batch", {})

    @property
    def takes_keys(self) -> bool:
        """Whether a call with a key may be sent again, and is done once."""
        return any(
            parameter["name"] == "Idempotency-Key"
            for operation in self.operations()
            for parameter in operation.placed("header")
        )

    def operations(self) -> Iterator[Operation]:
        """Yield the operations that clients have, in the order of the document."""
        collections = {tag["name"] for tag in self._tags()}
        for path, verbs in self.content["paths"].items():
            for verb in VERBS:
                operation = verbs.get(verb)
                if operation is None:
                    continue
                tag = operation["tags"][0]
                if tag in collections or tag not in SERVICE_TAGS:
                    _require(PATH, path)
                    yield self._operation(path, verb, operation)

    def resolved(self, part: Part) -> Part:
        """Return what a part refers to, or itself; raise ValueError for references in a circle."""
        seen = set()
        while "$ref" in part:
            if part["$ref"] in seen:
                raise ValueError(f"{part['$ref']!r} refers to itself")
            seen.add(part["$ref"])
            found: Any = self.content
            for step in part["$ref"].removeprefix("#/").split("/"):
                found = found[step.replace("~1", "/").replace("~0", "~")]
            part = found
        return part

    def _tags(self) -> list[Part]:
        return list(self.content.get("tags", []))

    def _operation(self, path: str, verb: str, operation: Part) -> Operation:
        tag = operation["tags"][0]
        name = operation["operationId"].removeprefix(f"{tag}.")
        method = name.removesuffix(f"__{verb}")
        request = self.resolved(operation.get("requestBody", {}))
        body = request.get("content", {})
        return Operation(
            tag=tag,
            method=method,
            verb=verb.upper(),
            path=path,
            summary=operation.get("summary", ""),
            parameters=tuple(map(self.resolved, operation.get("parameters", []))),
            body={kind: content.get("schema", {}) for kind, content in body.items()},
            answer=self._answer(operation["responses"]),
            responses=tuple(map(self.resolved, operation["responses"].values())),
            is_body_optional=not request.get("required", False),
            set_by_path=tuple(operation.get("x-set-by-path", ())),
            is_alias=method != name,
        )

    def _answer(self, responses: Part) -> tuple[str, Part] | None:
        """Return the content of the first response that is not an error."""
        for status in sorted(responses):
            if status.startswith("2"):
                content = self.resolved(responses[status]).get("content", {})
                for kind, described in content.items():
                    return kind, described.get("schema", {})
                return None
        return None


def _require(pattern: re.Pattern[str], path: str) -> None:
    if not pattern.fullmatch(path):
        raise ValueError(f"{path!r} is no path")


def ref_name(schema: Part) -> str:
    """Return the name of the first schema that a schema refers to, or an empty text."""
    return next(iter(ref_names(schema)), "")


def ref_names(schema: Part) -> list[str]:
    """Return the names of the schemas that a schema, its alternatives or items refer to."""
    if "anyOf" in schema:
        return [name for part in schema["anyOf"] for name in ref_names(part)]
    if "items" in schema:
        return ref_names(schema["items"])
    return [schema["$ref"].rpartition("/")[2]] if "$ref" in schema else []
