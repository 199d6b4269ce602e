"""The connector to other REST APIs: a library that needs neither Flask nor a database.

Settings describe a data source; its functions are methods. `ostiary.datasources` has the data
sources of the project's `datasources.json`::

    from ostiary.connector import BoundModel, Call, DataSource, Operation, Pages, Record, Request

    library = DataSource.from_config(
        {
            "baseURL": "http://127.0.0.1:8099",
            "operations": [
                {
                    "template": {
                        "url": "/loans",
                        "query": {"reader": "{^reader:number}", "page": "{page=1:number}"},
                        "paginate": {"type": "page", "limit": 2},
                        "fullResponse": False,
                    },
                    "functions": {"loans": ["reader"]},
                }
            ],
        },
        name="library",
    )
    first_page = library.loans(7)

    function: Operation = library.loans
    request: Request = function.prepare(reader=7)
    print(request.as_curl())  # the call as a curl command, not sent


    def add_tenant(source: DataSource, ctx: Call) -> None:
        ctx.request.headers["x-tenant"] = "t1"


    library.before_execute.connect(add_tenant)

    Readers: BoundModel = library.define("readers", {"name": "string"})
    mary: Record = Readers.find_by_id(1)

Pages, and calls that raise an error at once if `pool.maxConcurrent` others are in progress::

    from ostiary.connector import TooManyCallsError, items_of, without_waiting

    pages: Pages = library.loans.pages(7)
    loans = [loan for page in pages for loan in items_of(page)]

    try:
        with without_waiting():
            library.loans(7)
    except TooManyCallsError:
        print("try again later")

Templates by themselves::

    from ostiary.connector import Template, Variable

    letter = Template({"text": "Dear {^name}", "copies": "{copies=1:number}"})
    copies: Variable = letter.variables["copies"]
    print(letter.build({"name": "Mary"}))  # {'text': 'Dear Mary', 'copies': 1}

Every error is a `ConnectorError`; `kind` says what has caused it::

    from ostiary.connector import (
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
        Response,
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


    def explain(error: ConnectorError) -> str:
        '''Say in a few words why a call failed, from the narrow classes to the wide ones.'''
        match error:
            case NotFoundError():
                return "there is no such loan"
            case UnauthorizedError():
                return "the library refuses us"
            case RateLimitedError(retry_after=seconds):
                return f"too many calls; the next one in {seconds} seconds"
            case HTTPStatusError():
                response: Response = error.response
                return f"the library answered {response.status_code}"
            case ResponseTooLargeError() | PaginationError():
                return "the answer is too large"
            case ResponseDecodeError() | ResponsePathError() | ResponseError():
                return "the answer is not what was expected"
            case CallTimeoutError():
                return "the library is too slow"
            case TLSError() | BlockedHostError() | TooManyRedirectsError() | ConnectError():
                return "the library cannot be reached"
            case TransportError():
                return "no complete answer"
            case MissingVariableError() | VariableTypeError() | UnknownVariableError():
                return "the argument is wrong"
            case VariableError() | NotSupportedError() | ConfigError():
                return "the call is wrong"
        return "the call failed"


    def find_loan(number):
        try:
            return library.define("loans").find_by_id(number).to_dict()
        except ConnectorError as error:
            return explain(error)
"""

from app.connector import (
    BlockedHostError,
    BoundModel,
    Call,
    CallTimeoutError,
    ConfigError,
    ConnectError,
    ConnectorError,
    DataSource,
    HTTPStatusError,
    MissingVariableError,
    NotFoundError,
    NotSupportedError,
    Operation,
    Pages,
    PaginationError,
    RateLimitedError,
    Record,
    Request,
    Response,
    ResponseDecodeError,
    ResponseError,
    ResponsePathError,
    ResponseTooLargeError,
    Template,
    TLSError,
    TooManyCallsError,
    TooManyRedirectsError,
    TransportError,
    UnauthorizedError,
    UnknownVariableError,
    Variable,
    VariableError,
    VariableTypeError,
    items_of,
    without_waiting,
)

__all__ = [
    "BlockedHostError",
    "BoundModel",
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
    "Pages",
    "PaginationError",
    "RateLimitedError",
    "Record",
    "Request",
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
