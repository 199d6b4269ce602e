"""A data source as lines of text, for `ostiary datasources show`; secrets are masked."""

import json
from collections.abc import Iterator

from app.connector import DataSource, Operation, Variable

from .endpoints import endpoint_path, endpoint_verb

# Keys that the lines of a function show already.
_SHOWN = frozenset({"method", "url", "variables"})


def describe(source: DataSource, root: str) -> Iterator[str]:
    """Yield the effective settings of a data source, then its functions."""
    yield f"{source.name}\t{'public' if source.public else 'private'}"
    for name, value in source.effective_settings.items():
        yield f"  {name}\t{_to_text(value)}"
    for operation in source.operations.values():
        template = operation.template
        yield f"{operation.name}{operation.__signature__}\t{operation.method} {template['url']}"
        if source.public:
            path = f"{root}/{source.name}{endpoint_path(operation)}"
            yield f"  endpoint\t{endpoint_verb(operation)} {path}"
        yield from (f"  {line}" for line in _variables(operation))
        for name, value in template.items():
            if name not in _SHOWN:
                yield f"  {name}\t{_to_text(value)}"


def _variables(operation: Operation) -> Iterator[str]:
    places = {known["arg"]: known["http"]["source"] for known in operation.accepts}
    for variable in operation.variables.values():
        needed = "required" if variable.required else "optional"
        words = [variable.name, variable.type, needed, places.get(variable.name, "-")]
        yield "\t".join([*words, *_details(variable)])


def _details(variable: Variable) -> Iterator[str]:
    if variable.default is not None:
        yield f"default {'***' if variable.secret else _to_text(variable.default)}"
    if variable.enum:
        yield f"one of {'***' if variable.secret else _to_text(variable.enum)}"
    if variable.doc:
        yield variable.doc


def _to_text(value: object) -> str:
    return "-" if value in (None, {}, (), []) else json.dumps(value, ensure_ascii=False)
