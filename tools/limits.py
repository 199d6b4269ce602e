"""The limits that are constants in the code, by module, as `docs/security.md` lists them."""

LIMITS = {
    "server.incoming": {
        "MAX_LINE": "Bytes of a request line (as Node.js bounds a whole head)",
        "MAX_HEAD": "Bytes of request line and header fields together",
    },
    "server.bodies": {
        "MAX_CHUNKS": "Chunks of a body",
        "MAX_SIZE_LINE": "Bytes of the line with a chunk's size",
        "MAX_TRAILERS": "Bytes of the fields after the last chunk",
    },
    "server.hash_queue": {
        "MAX_BYTES": "Bytes of the requests of a process that wait to compute a password hash",
    },
    "server.worker": {
        "LINGER_SECONDS": "Seconds that a client has to close a connection",
        "MAX_TOTAL_UNSENT": "Bytes of answers that a process keeps for clients that read slowly",
    },
    "server.outgoing": {"MAX_UNSENT": "Bytes of one such answer"},
    "rest.requests.bodies": {
        "MAX_DEPTH": "Levels of a JSON body",
        "MAX_FIELDS": "Fields of a form",
    },
    "rest.requests.parameters": {"MAX_DEPTH": "Levels of a filter"},
    "rest.filters.filter": {
        "MAX_LIMIT": "Rows of a list",
        "MAX_ORDER": "Properties to order by",
        "MAX_SKIP": "Rows to skip",
    },
    "rest.views.kept": {
        "MAX_STATEMENTS": "Compiled statements of lists and includes that a process keeps"
    },
    "rest.views.lists": {
        "MAX_FILTERS": "Filters of lists that a process keeps",
        "MAX_LENGTH": "Characters of such a filter",
    },
    "rest.views.serialization": {"MAX_URL": "Characters of the URL of a next page"},
    "rest.filters.bounds": {
        "MAX_ITEMS": "List items of a filter",
        "MAX_CONDITIONS": "Properties and operators of a filter",
        "MAX_PATTERNS": "Patterns of a filter; each alternative of a `regexp` is one",
        "MAX_SEARCHED": "Characters of a filter's patterns behind their first `%`, except where a"
        " pattern is plain text with `%` before or after it; `*`, `?` and `[` count 6 times,"
        " characters beyond ASCII 3 times, and a class of a `regexp` 3 more than its characters,"
        " each once and neighbours as a range",
    },
    "rest.filters.patterns": {"MAX_PATTERN": "Characters of a pattern"},
    "rest.filters.json_cost": {
        "MAX_IN_JSON": "Values that a filter compares with objects, arrays and positions, those of"
        " its includes counted",
        "MAX_ARRAYS": "Conditions of a filter on arrays, counted in the same way",
        "MAX_PATH_ORDER": "Paths such as `address.city` that a filter orders by, counted in the"
        " same way",
    },
    "rest.filters.json_paths": {
        "MAX_STEPS": "Names after the first one in a path such as `address.city`"
    },
    "rest.fields.json": {
        "MAX_LENGTH": "Characters of the JSON of one property",
    },
    "rest.fields.base": {
        "MAX_SAFE": "The largest whole number in the JSON of a property",
        "MAX_TEXT": "Characters of a text of a model in JSON",
    },
    "rest.fields.times": {"MAX_LENGTH": "Characters of a time"},
    "database.columns": {"MAX_PRECISION": "Digits of a decimal"},
    "rest.rows.hooks": {
        "MAX_ROWS": "Rows that one request changes or deletes where hooks are called"
    },
    "rest.views.includes": {
        "MAX_LEVELS": "Levels of includes",
        "MAX_INCLUDES": "Includes of a filter",
    },
    "rest.rows.pages": {
        "MAX_OBJECTS": "Included objects of an answer; each counts as often as the answer has it",
        "MAX_BYTES": "Bytes of an answer's rows; half of it for included rows where there are any",
        "JSON_COST": "Times that the JSON of objects and arrays counts towards these bytes",
    },
    "rest.rows.results": {
        "MAX_CHARACTERS": "Characters that rows may have for PostgreSQL to send all of them at once"
    },
    "errors": {
        "MAX_QUOTED": "Characters of a request that an error repeats",
        "MAX_FIELD_ERRORS": "Fields that an error names",
        "RETRY_AFTER": "Seconds in `Retry-After` of a 503",
        "HASH_RETRY_AFTER": "The same where requests wait to compute a password hash",
    },
    "database.timeouts": {
        "INTERVAL": "Seconds between two looks for statements that exceed `STATEMENT_TIMEOUT` on"
        " SQLite",
    },
    "metrics.database": {
        "TIMEOUT": "Seconds that the answer to Prometheus waits for the database",
    },
    "metrics.exposition": {
        "CLIENT_TIMEOUT": "Seconds that Prometheus has to send a request and to take the answer",
        "LEVELS_INTERVAL": "Seconds between two looks at a process's pool and hashes for metrics",
    },
    "hashing.threads": {
        "NICENESS": "Niceness that the threads which hash passwords have beyond that of others"
    },
    "database.purging": {
        "PURGE_BATCH": "Rows of no use that one statement deletes",
        "PAUSE": "Seconds between two such statements of a process",
        "PURGE_INTERVAL": "Seconds until a process looks for such rows again, up to half as much"
        " again",
    },
    "users.names": {
        "MAX_EMAIL_LENGTH": "Characters of an email address (RFC 5321, 4.5.3.1.3)",
        "MAX_EMAIL_PART_LENGTH": "Characters before its `@`, and of a label of its domain"
        " (RFC 5321, 4.5.3.1.1; RFC 1035, 2.3.4)",
        "MAX_USERNAME_LENGTH": "Characters of a username",
    },
    "users.passwords.hashing": {"MAX_NORMALIZED": "Characters of a password that is normalized"},
    "users.transfer.csv_files": {"MAX_LINE": "Characters of a line of a CSV file"},
    "users.transfer.importing": {
        "MAX_ROWS": "Users of a CSV file",
        "MAX_PROBLEMS": "Problems of a CSV file that are listed",
    },
    "access.roles": {"MAX_ROLE_LENGTH": "Characters of a role's name"},
    "ids": {"MAX_TEXT_ID": "Characters of an id that is text, unless its column says otherwise"},
    "users.sessions.login": {
        "RECENT_SESSION": "Seconds after a login in which a new email needs no password",
    },
    "users.passwords.stored_hashes": {
        "CACHE_SECONDS": "Seconds between two looks at the methods of stored hashes",
        "MAX_SCHEMES_PER_METHOD": "Costs of one hash method that a login makes up for",
    },
    "users.sessions.tokens": {
        "MAX_SESSIONS": "Sessions that a user is shown, the newest",
    },
    "oauth.flows": {
        "FLOW_LIFETIME": "Seconds for a login by a provider",
    },
    "oauth.http": {
        "LOGIN_TIMEOUT": "Seconds for all requests of a login to its provider",
        "READ_TIMEOUT": "Seconds for each read of its answer",
        "CONNECT_TIMEOUT": "Seconds for a connection to it",
        "SLOT_TIMEOUT": "Seconds that a request to it waits while half of `THREADS` are under way",
        "MAX_ANSWER": "Bytes of its answer, with the header fields",
    },
    "oauth.discovery": {
        "CACHE_SECONDS": "Seconds for which a provider's metadata and keys are used",
        "RETRY_INTERVAL": "Seconds in which what could not be fetched is not asked for again",
        "REFRESH_INTERVAL": "Seconds between two requests for keys because of an unknown key id",
        "MAX_KEYS": "Keys of a provider that are read",
        "MIN_RSA_BITS": "Bits that an RSA key of a provider has at least",
    },
    "oauth.id_tokens": {
        "LEEWAY": "Seconds by which the clocks of a provider and the service may differ",
        "MAX_AGE": "Seconds for which an ID token is accepted after it was issued",
    },
    "oauth.schemas": {
        "MAX_CODE": "Characters of the code that a provider sends",
        "MAX_ID_TOKEN": "Characters of an ID token",
        "MAX_NONCE": "Characters of the nonce that an app sends",
    },
    "oauth.models": {
        "MAX_ISSUER": "Characters of an issuer",
        "MAX_SUBJECT": "Characters of a subject (OpenID Connect Core, section 2)",
    },
    "oauth.profiles": {"MAX_TEXT": "Characters of a text of a profile that are kept"},
    "oauth.linking": {"MAX_IDENTITIES": "Identities of a user"},
    "users.sessions.lifetimes": {
        "TOUCH_TIMEOUT": "Seconds that a request waits to prolong its token"
    },
    "observability.origin": {
        "MAX_USER_AGENT": "Characters of a `User-Agent` that a session keeps",
        "MAX_ADDRESS": "Characters of a client's address that are kept",
    },
    "audit.entries": {
        "MAX_ATTEMPTS": "Records an hour of failed logins, as many of throttled requests, and as"
        " many of anonymous calls of data sources",
    },
    "users.accounts.addresses": {
        "NOTICE_LIFETIME": "Seconds for which a notice of a new email is tried"
    },
    "settings": {"MAX_SERVICE_NAME": "Characters of `SERVICE_NAME`"},
    "http.languages": {
        "MAX_HEADER": "Characters of an `Accept-Language` header that are read",
        "MAX_LANGUAGES": "Languages of a client that are kept for its mails",
    },
    "outbox.claims": {
        "LEASE": "Seconds after which another process takes over the mail of one that died",
        "MAX_BACKOFF": "Seconds between two attempts to deliver a mail",
        "CLOCK_TOLERANCE": "Seconds by which the clocks of hosts that deliver mail may differ",
    },
    "outbox.models": {"MAX_REASON": "Characters of the reason of a failed delivery that are kept"},
    "outbox.worker": {
        "MAX_RESERVED": "Mails that wait for the process that recorded them; others are sent by"
        " any process",
        "STOP_TIMEOUT": "Seconds for the mail that is being sent when a process ends",
    },
    "mail.delivery": {"SERVER_TIMEOUT": "Seconds for one step with the mail server"},
    "rest.resource": {
        "MAX_VALUES": "Values of the rows that one request creates; a `format` counts by the ways"
        " in which it may match",
    },
    "properties.types": {
        "MAX_INDEXED": "Characters of a text of a model in JSON that has an index",
    },
    "rest.fields.formats": {
        "MAX_WAYS": "Ways to divide a text among the repetitions of a `format`",
    },
    "database.engine": {
        "POOL_OVERFLOW": "Database connections of a process beyond `THREADS`",
        "IDLE_IN_TRANSACTION": "Seconds after which PostgreSQL ends a transaction that sends"
        " nothing",
        "QUERY_CACHE": "Compiled statements that a process keeps",
    },
    "connector.settings.options": {
        "PUBLIC_MAX_RESPONSE": "Bytes of a public data source's response, unless"
        " `maxResponseBytes` says otherwise",
        "PUBLIC_MAX_VALUES": "Values and names in the JSON of such a response, and of one with the"
        " rows of a model at a data source, unless `maxResponseValues` says otherwise",
    },
    "connector.http.auth": {
        "_MAX_CLIENTS": "OAuth 2 clients of a data source whose tokens are kept",
    },
    "connector.request.url": {
        "MAX_URL_LENGTH": "Characters of a URL that is called",
        "_MAX_AUTHORITY_LENGTH": "Characters of its host and port",
        "_MAX_HOST_LENGTH": "Characters of a host name (RFC 1035, 2.3.4)",
    },
    "connector.http.transport": {
        "_OVERHEAD": "Bytes of headers and framing that a response may have beyond twice"
        " `maxResponseBytes`",
        "_MAX_REDIRECT_HEADERS": "Bytes of the header fields of all redirects of a call",
    },
    "connector.request.encoding": {
        "_MAX_NAME_CHARACTERS": "Characters of all names of a form, each with `=` and `&`;"
        " of a query as many as of a URL"
    },
    "connector.request.body": {
        "_MAX_STEP_LENGTH": "Characters of a name in the path of a body's value that is not JSON",
    },
    "connector.operation.response_path": {
        "MAX_VALUES": "Values of a body that a response path with `*` searches",
        "MAX_SEARCHED_VALUES": "Values of a body that a response path with `..` or a filter"
        " searches",
        "MAX_DEPTH": "Levels of such a body",
        "MAX_SEARCHED_LEVELS": "Levels of the values that such a path searches, all together",
        "_MAX_STEPS": "Steps of a response path",
        "_LARGEST_MATCHES": "Values and characters that a response path with `..` matches",
    },
    "connector.problems": {"MAX_LEVELS": "Levels of a data source's settings, or of a template"},
    "connector.redaction": {
        "MAX_SECRETS": "Secrets that are looked for in a text; with more, all of it is masked",
        "MAX_CHARACTERS": "Characters of these secrets; with more, all of it is masked",
        "MAX_NAME_LENGTH": "Characters of a name; a value with a longer one is masked",
    },
    "connector.http.failures": {
        "_MAX_MESSAGE_LENGTH": "Characters of a remote's message that an error repeats"
    },
}
