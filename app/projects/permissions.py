"""Checks of who may call a project's models."""

from collections.abc import Iterable, Iterator, Mapping

from flask import Flask

from app.access.policy import compiled_rules
from app.access.rules import WRITE
from app.rest.endpoint import served_endpoints
from app.rest.shared_methods import RELATED
from app.settings import ALLOW


def check_permissions(app: Flask, models: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Yield a sentence for each model that nobody can call, or everybody can write to.

    `models` are names, each with that of the resource. Models open to everybody are only reported
    if DEFAULT_PERMISSION allows calls without a rule, because that may be unintended.
    """
    default = app.config["DEFAULT_PERMISSION"]
    rules = compiled_rules.of(app)
    for name, resource in models:
        served = _served_methods(app, resource)
        decided = {method: rules[resource, method] for method in served}
        if served and not any(rule.allows_somebody for rule in decided.values()):
            yield (
                f"{name} can be reached by nobody: no rule allows a call, and DEFAULT_PERMISSION"
                f" is {default}."
            )
        writing = [method for method in _writing(served) if decided[method].decision(None).others]
        if writing and default == ALLOW:
            yield f"{name} can be written to by everybody, without a token: {', '.join(writing)}."


def _writing(served: Mapping[str, str]) -> Iterator[str]:
    """Yield the methods that write rows of a resource itself."""
    for method, access in served.items():
        if access == WRITE and not method.startswith(RELATED):
            yield method


def _served_methods(app: Flask, resource: str) -> dict[str, str]:
    """Return the methods of a resource with endpoints, and their access types."""
    return {
        endpoint.method: endpoint.access
        for name, endpoint in served_endpoints.of(app).items()
        if name == f"{resource}.{endpoint.method}"
    }
