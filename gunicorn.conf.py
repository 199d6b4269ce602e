"""How gunicorn serves Ostiary: threads, a graceful stop, and logs without query strings."""

import os

from app.config import SettingsSchema

bind = f"{os.environ.get('HOST', '127.0.0.1')}:{os.environ.get('PORT', '3000')}"
worker_class = "app.server.worker.Worker"
workers = int(os.environ.get("WEB_CONCURRENCY", "2"))
threads = int(os.environ.get("THREADS") or SettingsSchema().fields["THREADS"].load_default)

# Loaded once before the fork: a wrong setting stops the start instead of every worker.
preload_app = True
# Seconds that requests in flight get to finish after SIGTERM.
graceful_timeout = 30
# The default control socket is one path for all instances of a user.
control_socket_disable = True

# The worker bounds the request line, which gunicorn would at 8 kB; header fields and their bytes.
limit_request_line = 0
limit_request_fields = 100
limit_request_field_size = 8190
# Only TRUSTED_PROXIES says whose X-Forwarded-* count; no header sets the prefix or the scheme.
forwarder_headers = ""
secure_scheme_headers = {}

logger_class = "app.server.log.QuietLogger"
accesslog = "-"
access_log_format = '%(h)s "%(m)s %(U)s" %(s)s %(b)s %(M)sms %({x-request-id}o)s'
