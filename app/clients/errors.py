"""The types of errors: their codes, and what each has as `details`."""

from collections.abc import Iterable, Iterator
from typing import Any

from .document import Document, Operation
from .layout import block, line
from .names import key, union
from .schemas import Types


def written(document: Document, operations: Iterable[Operation], types: Types) -> list[str]:
    """Return the declarations of the errors that these operations may have."""
    details: dict[str, set[str]] = {}
    for code, given in _errors(operations):
        details.setdefault(code, set()).update(given)
    detail = document.schemas.get("ErrorDetail", {}).get("properties", {})
    schema = detail.get("details", {})
    lines = []
    for code, names in sorted(details.items()):
        known = {name: part for name, part in schema.get("properties", {}).items() if name in names}
        if known:
            described = {"type": "object", "properties": known, "required": list(known)}
            lines += line(f"{key(code)}: {types.of(described)};")
    return [
        *line(f"export type ErrorCode = {union(sorted(details))};"),
        "/** What `details` of an error has, by its code. */",
        *block("export interface ErrorDetails", lines),
    ]


def _errors(operations: Iterable[Operation]) -> Iterator[tuple[str, list[str]]]:
    """Yield the code of each error with the names of its details."""
    for operation in operations:
        for response in operation.responses:
            for content in response.get("content", {}).values():
                for example in content.get("examples", {}).values():
                    error: Any = example.get("value")
                    error = error.get("error") if isinstance(error, dict) else None
                    if isinstance(error, dict) and "code" in error:
                        yield error["code"], list(error.get("details") or {})
