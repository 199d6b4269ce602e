"""The outbound REST connector: a library that needs neither Flask nor a database."""

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
    TooManyCallsError,
    TooManyRedirectsError,
    TransportError,
    UnauthorizedError,
    UnknownVariableError,
    VariableError,
    VariableTypeError,
)
from .http.call import Call
from .http.limit import without_waiting
from .operation.operation import Operation
from .operation.pagination import Pages, items_of
from .problems import ConfigWarning
from .redaction import install_log_filter
from .request.model import Request
from .resource.record import Record
from .resource.resource import Resource
from .response import Response
from .template.compiler import Template
from .template.variables import Variable

__all__ = [
    "BlockedHostError",
    "Call",
    "CallTimeoutError",
    "ConfigError",
    "ConfigWarning",
    "ConnectError",
    "ConnectorError",
    "DataSource",
    "HTTPStatusError",
    "MissingVariableError",
    "NotFoundError",
    "NotSupportedError",
    "Operation",
    "Pages",
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
    "TooManyCallsError",
    "TooManyRedirectsError",
    "TransportError",
    "UnauthorizedError",
    "UnknownVariableError",
    "Variable",
    "VariableError",
    "VariableTypeError",
    "items_of",
    "without_waiting",
]

install_log_filter()
