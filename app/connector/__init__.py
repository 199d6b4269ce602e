"""The outbound REST connector: a library that needs neither Flask nor a database."""

from .errors import (
    ConfigError,
    ConnectorError,
    MissingVariableError,
    VariableError,
    VariableTypeError,
)
from .template import Template
from .variables import Variable

__all__ = [
    "ConfigError",
    "ConnectorError",
    "MissingVariableError",
    "Template",
    "Variable",
    "VariableError",
    "VariableTypeError",
]
