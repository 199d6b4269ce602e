"""Callers: a name such as that of a role, and a token, which no report shows."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from app.environment import EnvironmentVariableError, read_variable
from app.problems import ConfigurationError

_NAME = re.compile(r"[A-Za-z0-9_]{1,40}")
_TOKEN = re.compile(r"[\x21-\x7e]{1,4096}")
PREFIX = "TOKEN_"


@dataclass(frozen=True)
class Caller:
    """A caller, and the tokens that it has at the old service and at the new one."""

    name: str
    old: str | None = field(default=None, repr=False)
    new: str | None = field(default=None, repr=False)


ANONYMOUS = Caller("anonymous")


def read_caller(option: str) -> Caller:
    """Return the caller of `NAME=TOKEN`, or of `NAME`, whose token is that of TOKEN_NAME.

    Two tokens, separated by a blank, are for the old service and for the new one. Raises
    ConfigurationError.
    """
    name, given, value = option.partition("=")
    if not _NAME.fullmatch(name) or name.lower() == ANONYMOUS.name:
        raise ConfigurationError("a token needs a name of letters and digits: --token NAME")
    tokens = (value if given else _variable(name)).split()
    if len(tokens) not in (1, 2) or not all(map(_TOKEN.fullmatch, tokens)):
        raise ConfigurationError(f"{name} needs one token, or two: the old one and the new one")
    return Caller(name, tokens[0], tokens[-1])


def _variable(name: str) -> str:
    variable = f"{PREFIX}{name.upper()}"
    try:
        value = read_variable(variable)
    except EnvironmentVariableError as error:
        raise ConfigurationError(str(error)) from None
    if value is None:
        raise ConfigurationError(
            f"the token of {name} is missing: set {variable}, or {variable}_FILE to the path of a"
            " file that has it"
        )
    return value


def headers(token: str | None) -> Mapping[str, str]:
    """Return the headers of a call with a token, or without one."""
    plain = {"Accept": "application/json", "Accept-Encoding": "identity"}
    return {**plain, "Authorization": token} if token else plain
