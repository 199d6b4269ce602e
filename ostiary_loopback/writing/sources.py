"""`datasources.json` and `providers.json` of a project, without secrets."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import unquote

from app.oauth.presets import PRESETS
from ostiary_loopback.application import Application, as_mapping, connector_of
from ostiary_loopback.models_check import SERVED

from .files import ProjectFile
from .models import to_json
from .secrets import PARAMETER, Variables, names_secret, without_secrets

SOURCES, PROVIDERS = "datasources.json", "providers.json"
# The reason why other data sources are left out.
LEFT_OUT = "rows are in the project's own database"
ROOT = "files are in the folder storage, or where `root` says"
WITHOUT = {
    "no connector": "it does nothing",
    "transient": "its models have no rows",
    "mail": "the mail server is the variable APP_MAIL_URL",
    "push": "push notifications are not sent",
    "soap": "only REST services are called",
}


def source_files(application: Application, variables: Variables) -> list[ProjectFile]:
    """Return `datasources.json`, if there are data sources that are not databases."""
    changes: list[str] = []
    sources: dict[str, Any] = {}
    for name, source in application.data_sources.items():
        if connector_of(source) in SERVED:
            moved = _without_parameters(source)
            if moved.get("root", "") is None:
                moved = {key: value for key, value in moved.items() if key != "root"}
                changes.append(f"{name}.root is left out, as only the JavaScript knows it: {ROOT}")
            sources[name] = _masked(moved, name, variables)
        else:
            kind = connector_of(source) or "no connector"
            changes.append(f"{name} ({kind}) is left out: {WITHOUT.get(kind, LEFT_OUT)}")
    return [ProjectFile(SOURCES, to_json(sources), changes)] if sources else []


def _masked(source: Mapping[str, Any], name: str, variables: Variables) -> object:
    """Return a data source without secrets; `functions` has only names of parameters."""
    operations = source.get("operations")
    masked = {
        key: without_secrets(value, f"{name}.{key}", variables, names_secret(key))
        for key, value in source.items()
        if key != "operations"
    }
    if not isinstance(operations, list):
        return masked if operations is None else {**masked, "operations": operations}
    return {
        **masked,
        "operations": [
            _masked_operation(operation, f"{name}.{number}", variables)
            for number, operation in enumerate(operations)
        ],
    }


def _masked_operation(operation: object, path: str, variables: Variables) -> object:
    if not isinstance(operation, Mapping):
        return operation
    return {
        key: value if key == "functions" else without_secrets(value, path, variables)
        for key, value in operation.items()
    }


def _without_parameters(source: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a data source whose secrets in addresses with variables are moved to `query`."""
    operations = source.get("operations")
    if not isinstance(operations, list):
        return source
    return {**source, "operations": [_moved(operation) for operation in operations]}


def _moved(operation: object) -> object:
    template = operation.get("template") if isinstance(operation, Mapping) else None
    url = template.get("url") if isinstance(template, Mapping) else None
    if not isinstance(operation, Mapping) or not isinstance(template, Mapping):
        return operation
    if not isinstance(url, str) or "{" not in url:
        return operation
    secrets = {
        unquote(name): unquote(value)
        for _, name, value in PARAMETER.findall(url)
        if names_secret(unquote(name))
    }
    if not secrets:
        return operation
    rest = PARAMETER.sub(lambda found: "" if names_secret(unquote(found[2])) else found[0], url)
    rest = rest if "?" in rest else rest.replace("&", "?", 1)
    given = as_mapping(template.get("query"))
    return {**operation, "template": {**template, "url": rest, "query": {**given, **secrets}}}


def provider_files(application: Application, variables: Variables) -> list[ProjectFile]:
    """Return `providers.json`, if the application has identity providers."""
    if not application.providers:
        return []
    entries, changes = {}, []
    for name, entry in application.providers.items():
        if _is_served(name, entry):
            entries[name] = without_secrets(entry, name, variables)
        else:
            changes.append(f"{name} is left out: nothing says which kind of provider it is")
    return [ProjectFile(PROVIDERS, to_json(entries), changes)] if entries else []


def needed_extras(files: Iterable[ProjectFile]) -> list[str]:
    """Return the extras that the identity providers and data sources in the files need."""
    texts = {
        file.path: json.loads(file.text) for file in files if file.path in (SOURCES, PROVIDERS)
    }
    in_s3 = any(source.get("provider") == "amazon" for source in texts.get(SOURCES, {}).values())
    return [*(["oidc"] if texts.get(PROVIDERS) else []), *(["s3"] if in_s3 else [])]


def _is_served(name: str, entry: object) -> bool:
    """Return True if the service starts with a provider; it warns of unsupported modules."""
    if not isinstance(entry, Mapping):
        return False
    names = {"module", "issuer"} & entry.keys()
    return bool(names) or name in PRESETS or entry.get("provider") in PRESETS


def redirects(application: Application) -> Sequence[str]:
    """Return the addresses of other sites to which a login by a provider redirects."""
    entries = [entry for entry in application.providers.values() if isinstance(entry, Mapping)]
    found = (entry.get(key) for entry in entries for key in ("successRedirect", "failureRedirect"))
    return sorted({url for url in found if isinstance(url, str) and "://" in url})
