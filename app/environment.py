"""Environment variables; the value of NAME may be in the file that NAME_FILE names."""

import os
import re
from pathlib import Path

FILE = "_FILE"
# The key of `{"$env": "NAME"}`, which stands for the value of a variable in JSON files.
ENVIRONMENT = "$env"


class EnvironmentVariableError(Exception):
    """A variable cannot be read; the message is one sentence."""


def read_variable(name: str) -> str | None:
    """Return the value of a variable, or the text of its file without the newline at its end.

    None if neither is set. Raises EnvironmentVariableError if both are, or the file cannot be read.
    """
    value, path = os.environ.get(name), os.environ.get(f"{name}{FILE}")
    if path is None:
        return value
    if value is not None:
        raise EnvironmentVariableError(f"{name} and {name}{FILE} are both set")
    try:
        return Path(path).read_text(encoding="utf-8").rstrip("\r\n")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8"
        raise EnvironmentVariableError(f"{name}{FILE} cannot be read: {path}: {reason}") from None


def placeholder(name: str) -> str:
    """Return a value for a variable that is not set in tests: a secret or a URL.

    The host of the URL never exists (RFC 6761, 6.4).
    """
    label = re.sub("[^a-z0-9]+", "-", name.lower()).strip("-")[:63]
    return f"https://{label}.invalid"
