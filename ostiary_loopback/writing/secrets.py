"""Values of an application that become environment variables of a project, such as secrets."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from app.connector.redaction import is_secret_name

# Names in LoopBack 3's files that are not secrets, although they look like their names.
KEYS = (
    *("foreignKey", "primaryKey", "keyThrough"),
    # Of providers: the name of a field of the form, and addresses.
    *("passwordField", "authorizationURL", "userAuthorizationURL", "tokenURL"),
    *("requestTokenURL", "accessTokenURL"),
)
# LoopBack 3's placeholders for environment variables.
PLACEHOLDER = re.compile(r"\$\{(\w+)\}", re.ASCII)
# Characters that the name of a variable does not have.
VARIABLE = re.compile(r"\W+", re.ASCII)
# A user and a password in the address of a server.
USERINFO = re.compile(r"^[a-z][a-z0-9+.-]*://[^/?#@{}]*@", re.IGNORECASE)
# A parameter in the address of a server, whose value is not a variable of the connector.
PARAMETER = re.compile(r"([?&])([^=&#{}]+)=([^&#{}]+)")


@dataclass
class Variables:
    """The environment variables that a project needs, with a description of each."""

    needed: dict[str, str] = field(default_factory=dict)

    def add(self, path: str, meaning: str) -> dict[str, str]:
        """Return the reference to a variable for the value at a path."""
        return self.name(VARIABLE.sub("_", _words(path)).strip("_").upper(), meaning)

    def name(self, name: str, meaning: str) -> dict[str, str]:
        """Return the reference to a variable of this name."""
        self.needed.setdefault(name, meaning)
        return {"$env": name}


def _words(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name)


def without_secrets(value: Any, path: str, variables: Variables, is_secret: bool = False) -> Any:
    """Return a value of JSON with references to variables in place of secrets.

    The variables are named after `path`, the place of the value.
    """
    if isinstance(value, Mapping):
        if value.keys() == {"$env"}:
            return variables.name(VARIABLE.sub("_", str(value["$env"])), path)
        return {
            key: without_secrets(inner, f"{path}.{key}", variables, _is_secret(key, is_secret))
            for key, inner in value.items()
        }
    if isinstance(value, list):
        return [
            without_secrets(inner, f"{path}.{number}", variables, is_secret)
            for number, inner in enumerate(value)
        ]
    return _text(value, path, variables, is_secret) if isinstance(value, str) else value


def _is_secret(key: str, is_secret: bool) -> bool:
    return is_secret or names_secret(key)


def names_secret(name: str) -> bool:
    """Return True if a value with this name is a secret."""
    return name not in KEYS and is_secret_name(name)


def _text(value: str, path: str, variables: Variables, is_secret: bool) -> object:
    if placeholder := PLACEHOLDER.fullmatch(value):
        return variables.name(placeholder[1], path)
    # A value with a variable of the connector, `{token}`, is not a secret: callers give it.
    if value and "{" not in value and (is_secret or has_secret(value)):
        return variables.add(path, path)
    return value


def has_secret(value: str) -> bool:
    """Return True if an address has a password, or a parameter that is a secret."""
    named = (name for _, name, _ in PARAMETER.findall(value))
    return bool(USERINFO.match(value)) or ("://" in value and any(map(names_secret, named)))
