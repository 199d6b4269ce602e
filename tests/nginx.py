"""nginx in front of several instances of the service."""

import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import requests

from tests.programs import require

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
    server {{
        listen 127.0.0.1:{port};
        proxy_set_header Host $host;
        {locations}
    }}
}}
"""


@contextmanager
def nginx(folder: Path, port: int, instances: Mapping[str, str]) -> Iterator[str]:
    """Run nginx on a port; `instances` are the addresses to ask, by regular expression of paths."""
    require("nginx")
    locations = [f"location ~ {path} {{ proxy_pass {url}; }}" for path, url in instances.items()]
    configuration = folder / "nginx.conf"
    configuration.write_text(
        CONFIGURATION.format(folder=folder, port=port, locations="\n".join(locations))
    )
    log = folder / "nginx.log"
    with subprocess.Popen(["nginx", "-e", log, "-c", configuration]) as process:
        try:
            _wait_until_it_answers(process, f"http://127.0.0.1:{port}", log)
            yield f"http://127.0.0.1:{port}"
        finally:
            process.kill()


def _wait_until_it_answers(process: subprocess.Popen, url: str, log: Path) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and process.poll() is None:
        try:
            requests.get(url, timeout=10)
        except requests.ConnectionError:
            time.sleep(0.05)
        else:
            return
    raise AssertionError(f"nginx did not start:\n{log.read_text()}")
