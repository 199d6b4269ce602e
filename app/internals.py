"""Undocumented names of libraries that the service uses, and the versions that were checked.

After an upgrade `tests/test_internals.py` reports which are gone; the meaning of the others must be
reviewed.
"""

# The names of each module and class.
INTERNALS = {
    # app/storage limits S3's responses.
    "botocore==1.44.5": {
        "botocore.awsrequest.AWSPreparedRequest": "stream_output",
        "botocore.awsrequest.AWSResponse": "raw",
        "botocore.client.BaseClient": "_endpoint",
        "botocore.endpoint.Endpoint": "http_session",
    },
    # app/http encodes JSON with an encoder that is created once.
    "flask==3.1.3": {"flask.json.provider.DefaultJSONProvider": "_prepare_response_obj"},
    # app/server reads requests and sends responses in the main loop; `ostiary run` is a gunicorn.
    "gunicorn==27.0.1": {
        "gunicorn.app.base": "Application",
        "gunicorn.app.base.Application": "load_config_from_file"
        " load_config_from_module_name_or_filename",
        "gunicorn.app.base.BaseApplication": "cfg load load_config wsgi",
        "gunicorn.arbiter.Arbiter": "WORKERS app cfg",
        "gunicorn.config": "get_default_config_file",
        "gunicorn.config.Config": "address env_orig get_cmd_args_from_env is_ssl parser set",
        "gunicorn.glogging.Logger": "access access_log access_log_enabled error_log setup",
        "gunicorn.http.body": "Body CHUNK_EXT_RE ChunkedReader",
        "gunicorn.http.body.Body": "reader",
        "gunicorn.http.body.LengthReader": "length",
        "gunicorn.http.errors": "ChunkMissingTerminator ExpectationFailed InvalidChunkExtension"
        " InvalidChunkSize InvalidRequestLine InvalidResponseHeader InvalidResponseHeaderName"
        " LimitRequestHeaders LimitRequestLine ParseException UnsupportedTransferCoding",
        "gunicorn.http.message.Request": "_expected_100_continue body force_close headers method"
        " parse_headers path peer_addr uri version",
        "gunicorn.http.unreader": "IterUnreader",
        "gunicorn.http.wsgi": "create",
        "gunicorn.http.wsgi.Response": "sent sock status_code",
        "gunicorn.workers.gthread": "STOP_KEEPALIVE_LINGER",
        "gunicorn.workers.gthread.ThreadWorker": "accept alive cfg check_config finish_request"
        " get_thread_pool handle handle_request keepalived_conns log method_queue murder_pending"
        " notify nr_conns pending_conns poller run set_accept_enabled sockets tpool"
        " wait_for_and_dispatch_events worker_connections wsgi",
    },
    # Template errors name a variable, and no value.
    "jinja2==3.1.6": {"jinja2.Undefined": "_undefined_message", "jinja2.utils": "missing"},
    # app/connector refuses expensive expressions.
    "jsonpath-ng==1.16.0": {
        "jsonpath_ng.ext.arithmetic": "Operation",
        "jsonpath_ng.ext.filter": "Filter",
    },
    # Fields are listed without an instance of their schema.
    "marshmallow==4.4.0": {"marshmallow.Schema": "_declared_fields"},
    # app/metrics counts by worker number, in a folder of its own.
    "prometheus-client==0.26.0": {
        "prometheus_client.multiprocess.MultiProcessCollector": "merge",
        "prometheus_client.values": "MultiProcessValue ValueClass",
    },
    # app/database prepares statements as psycopg's cursors do, and limits the time to wait.
    "psycopg==3.3.9": {
        "psycopg.Connection": "wait",
        "psycopg._connection_base.BaseConnection": "_prepared",
        "psycopg._preparing": "Prepare",
        "psycopg._preparing.PrepareManager": "get maintain_gen maybe_add_to_cache validate",
        "psycopg.adapt.Transformer": "dump_sequence formats load_row load_rows set_pgresult types",
        "psycopg.errors": "_WaitTimeout error_from_result",
        "psycopg.generators": "execute",
        "psycopg.waiting": "wait",
    },
    # A lost connection is invalidated with all older ones; a generated migration has a column's
    # type for each database; the names of another project's models are released.
    "sqlalchemy==2.1.9": {
        "sqlalchemy.Pool": "_invalidate",
        "sqlalchemy.Engine": "_sqla_logger_namespace",
        "sqlalchemy.orm.registry": "_dispose_cls",
        "sqlalchemy.sql.Select": "_auto_correlate _correlate _correlate_except",
        "sqlalchemy.types.TypeEngine": "_variant_mapping",
    },
    # app/connector limits the time to connect, and selects the addresses.
    "urllib3==2.8.0": {
        "urllib3.HTTPSConnectionPool": "_validate_conn",
        "urllib3.PoolManager": "pool_classes_by_scheme",
        "urllib3.connection.HTTPConnection": "_dns_host _new_conn",
    },
    # Rules are compiled when a URL is built; entries of proxies are counted from the end; forms
    # with files are read piece by piece, with limited part headers.
    "werkzeug==3.1.9": {
        "werkzeug.middleware.proxy_fix.ProxyFix": "_get_real_value",
        "werkzeug.routing.Rule": "_compile_builder",
        "werkzeug.sansio.multipart": "Data Epilogue Event Field File MultipartDecoder NeedData",
        "werkzeug.sansio.multipart.MultipartDecoder": "_parse_headers",
    },
}
