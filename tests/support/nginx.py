"""nginx in front of several instances of the service."""

import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import requests

from .programs import require
from .waiting import eventually

CONFIGURATION = """
daemon off;
master_process off;
pid {folder}/nginx.pid;
error_log {folder}/nginx.log crit;
events {{}}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    {upstream}
    server {{
        listen 127.0.0.1:{port};
        proxy_set_header Host $host;
        {locations}
    }}
}}
"""
# A request that an instance does not take goes to another one. One that it may have begun does
# only if its method is idempotent: never add `non_idempotent`, which would write twice.
BALANCED = """
    upstream ostiary {{
        {servers}
        keepalive 16;
        keepalive_timeout 1s;
    }}
"""
SERVER = "server {address} max_fails=0;"
TO_BALANCED = """
        location / {
            proxy_pass http://ostiary;
            proxy_http_version 1.1;
            proxy_set_header Connection "";
            proxy_next_upstream error timeout;
            proxy_connect_timeout 2s;
            proxy_read_timeout 75s;
        }
"""


@contextmanager
def nginx(folder: Path, port: int, instances: Mapping[str, str]) -> Iterator[str]:
    """Run nginx on a port; `instances` are the addresses to ask, by regular expression of paths."""
    locations = [f"location ~ {path} {{ proxy_pass {url}; }}" for path, url in instances.items()]
    with _run(folder, port, "\n".join(locations)) as url:
        yield url


@contextmanager
def balancer(folder: Path, port: int, instances: Sequence[str]) -> Iterator[str]:
    """Run nginx on a port, in front of equal instances at these addresses."""
    servers = [SERVER.format(address=urlsplit(instance).netloc) for instance in instances]
    upstream = BALANCED.format(servers="\n        ".join(servers))
    with _run(folder, port, TO_BALANCED, upstream) as url:
        yield url


@contextmanager
def proxy_to(folder: Path, port: int, name: str, upstream: str) -> Iterator[str]:
    """Run nginx on a port, in front of the upstream of this name, which is configured as given."""
    with _run(folder, port, f"location / {{ proxy_pass http://{name}; }}", upstream) as url:
        yield url


@contextmanager
def _run(folder: Path, port: int, locations: str, upstream: str = "") -> Iterator[str]:
    require("nginx")
    configuration = folder / "nginx.conf"
    configuration.write_text(
        CONFIGURATION.format(folder=folder, port=port, locations=locations, upstream=upstream)
    )
    log = folder / "nginx.log"
    with subprocess.Popen(["nginx", "-e", log, "-c", configuration]) as process:
        try:
            _wait_until_it_answers(process, f"http://127.0.0.1:{port}", log)
            yield f"http://127.0.0.1:{port}"
        finally:
            process.kill()


def _wait_until_it_answers(process: subprocess.Popen, url: str, log: Path) -> None:
    def answers() -> bool:
        assert process.poll() is None, f"nginx did not start:\n{log.read_text()}"
        try:
            requests.get(url, timeout=60)
        except requests.ConnectionError:
            return False
        return True

    eventually(answers, told=log.read_text)
