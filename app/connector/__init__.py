"""The outbound REST connector: a library that needs neither Flask nor a database."""

from .calls import Call
from .datasource import DataSource
from .errors import (
    BlockedHostError,
    CallTimeoutError,
    ConfigError,
    ConnectError,
    ConnectorError,
    HTTPStatusError,
    MissingVariableError,
    NotFoundError,
    NotSupportedError,
    PaginationError,
    RateLimitedError,
    ResponseDecodeError,
    ResponseError,
    ResponsePathError,
    ResponseTooLargeError,
    TLSError,
    TooManyRedirectsError,
    TransportError,
    UnauthorizedError,
    UnknownVariableError,
    VariableError,
    VariableTypeError,
)
from .operation import Operation
from .record import Record
from .redact import guard_library_logs
from .request import Request
from .resource import Resource
from .response import Response
from .template import Template
from .variables import Variable

__all__ = [
    "BlockedHostError",
    "Call",
    "CallTimeoutError",
    "ConfigError",
    "ConnectError",
    "ConnectorError",
    "DataSource",
    "HTTPStatusError",
    "MissingVariableError",
    "NotFoundError",
    "NotSupportedError",
    "Operation",
    "PaginationError",
    "RateLimitedError",
    "Record",
    "Request",
    "Resource",
    "Response",
    "ResponseDecodeError",
    "ResponseError",
    "ResponsePathError",
    "ResponseTooLargeError",
    "TLSError",
    "Template",
    "TooManyRedirectsError",
    "TransportError",
    "UnauthorizedError",
    "UnknownVariableError",
    "Variable",
    "VariableError",
    "VariableTypeError",
]

guard_library_logs()
