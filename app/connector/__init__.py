"""The outbound REST connector: a library that needs neither Flask nor a database."""

from .bound_model import BoundModel as BoundModel
from .bound_model import Record as Record
from .datasource import DataSource as DataSource
from .errors import BlockedHostError as BlockedHostError
from .errors import CallTimeoutError as CallTimeoutError
from .errors import ConfigError as ConfigError
from .errors import ConnectError as ConnectError
from .errors import ConnectorError as ConnectorError
from .errors import HTTPStatusError as HTTPStatusError
from .errors import MissingVariableError as MissingVariableError
from .errors import NotFoundError as NotFoundError
from .errors import NotSupportedError as NotSupportedError
from .errors import PaginationError as PaginationError
from .errors import RateLimitedError as RateLimitedError
from .errors import ResponseDecodeError as ResponseDecodeError
from .errors import ResponseError as ResponseError
from .errors import ResponsePathError as ResponsePathError
from .errors import ResponseTooLargeError as ResponseTooLargeError
from .errors import TLSError as TLSError
from .errors import TooManyCallsError as TooManyCallsError
from .errors import TooManyRedirectsError as TooManyRedirectsError
from .errors import TransportError as TransportError
from .errors import UnauthorizedError as UnauthorizedError
from .errors import UnknownVariableError as UnknownVariableError
from .errors import VariableError as VariableError
from .errors import VariableTypeError as VariableTypeError
from .http.client import Call as Call
from .http.client import without_waiting as without_waiting
from .operation.operation import Operation as Operation
from .operation.pagination import Pages as Pages
from .operation.pagination import items_of as items_of
from .redaction import install_log_filter
from .request.request import Request as Request
from .template import Template as Template
from .types import Response as Response
from .variables import Variable as Variable

install_log_filter()
