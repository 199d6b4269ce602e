"""Settings of gunicorn: worker, threads, time-outs, and logs without query strings."""

# gunicorn finds its hooks by name.
from app.metrics.setup import (  # noqa: F401
    child_exit,
    on_exit,
    on_starting,
    post_worker_init,
    pre_exec,
)
from app.server import listening
from app.server.incoming import MAX_LINE
from app.server.processes import pre_fork, when_ready  # noqa: F401

bind = listening.address()
worker_class = "app.server.worker.BufferingWorker"
workers = listening.processes()
threads = listening.threads()

# Loaded once before the fork, so that an invalid setting prevents the start.
preload_app = True
# Seconds for requests in progress to finish after SIGTERM.
graceful_timeout = 30
# The default control socket has one path for all instances of a user.
control_socket_disable = True

# The worker limits the request line itself, because gunicorn's maximum is 8 KiB.
limit_request_line = 0
limit_request_fields = 100
# A filter in a header may be as long as one in the request line.
limit_request_field_size = MAX_LINE
# X-Forwarded-* headers are handled by ProxyFix (TRUSTED_PROXIES), not by gunicorn.
forwarder_headers = ""
secure_scheme_headers: dict[str, str] = {}
# No headers are trusted, so gunicorn need not check the address of their sender.
forwarded_allow_ips = "*"

logger_class = "app.server.log.QuietLogger"
accesslog = "-"
