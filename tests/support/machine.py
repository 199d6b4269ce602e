"""A folder that stands for the machine of docs/deployment.md, to execute its commands."""

import os
import re
import shlex
import shutil
import sys
from pathlib import Path

import trustme
from sqlalchemy import URL

from . import service_manager
from .documents import blocks, run_shell
from .installation import ROOT
from .ports import free_port

GUIDE = "docs/deployment.md"
SETTINGS = "/etc/ostiary/ostiary.env"
SERVICE = [SETTINGS, "/usr/local/sbin/ostiary", "/etc/systemd/system/ostiary@.service"]
PROXY = "/etc/nginx/conf.d/ostiary.conf"
# A front end, and a route of the second release.
PROJECT = {
    "config.py": 'STATIC_FOLDER = "public"\n',
    "public/index.html": "<!doctype html><title>A front end of the project</title>",
    "public/main.3f2a1c.js": "document.title = 'loaded' // and so on, and so on\n",
    "public/main.3f2a1c.js.map": "hidden",
    "public/module.mjs": "export default 1\n",
    "public/docs/index.html": "Documents",
    "public/.env": "hidden",
}
RELEASE_ROUTE = """
def init_app(app):
    app.add_url_rule("/release", view_func=lambda: "2")
"""
# The ports of the instances and their metrics.
PORTS = ["3000", "3001", "9464", "9465"]
# Folders that Debian has, or whose packages make them.
FOLDERS = ["bin", "etc/nginx/sites-enabled", "etc/ssl/certs", "etc/ssl/private", "var/log/nginx"]
# Programs that would change the machine of the tests, and what is done instead. "$@" are the
# arguments, and {} the folder.
PROGRAMS = {
    "apt-get": "exit 0",
    "useradd": "exit 0",
    # The server of the tests may have it.
    "createuser": 'PATH=${{PATH#*:}} createuser "$@" 2> /dev/null || true',
    "curl": 'PATH=${{PATH#*:}} exec curl --config {}/etc/curl "$@"',
    "git": 'for folder; do :; done; cp -r {}/repository "$folder"',
    "install": 'exec /usr/bin/install $(printf "%s " "$@" | sed "s/-[og] ostiary//g")',
    "nginx": 'exec {nginx} "$@"',
    "python3": '[ "$2" = venv ] && exec ln -s {venv} "$3"; exec {python} "$@"',
    # Another host is a folder beside that of this one.
    "rsync": 'here={} to="${{@: -1}}"; host="${{here%/*}}/${{to%%.*}}" to="${{to#*:}}"; '
    'to="${{to/#$here/$host}}"; mkdir -p "$to" && cp -a "${{@: -2:1}}" "$to"',
    "ssh": 'here={}; host="${{here%/*}}/${{1%%.*}}"; '
    'PATH="$host/bin:$host/usr/local/sbin:${{PATH#*:*:}}" exec bash -euc "${{2//$here/$host}}"',
    "runuser": 'shift 3; exec "$@"',
    "setpriv": 'shift 3; exec "$@"',
    "systemctl": 'exec {python} {manager} {}/etc/systemd/system "$@"',
}
NGINX = """
{user}
pid {folder}/nginx.pid;
events {{}}
http {{
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    include {folder}/etc/nginx/conf.d/*.conf;
}}
"""


class Machine:
    """Executes the guide with paths, ports and the database replaced by those of a test."""

    def __init__(self, folder: Path, database: URL, ports: dict[str, int] | None = None) -> None:
        self.folder = folder
        self.database = database.set(database="ostiary")
        self.ports = ports or {name: free_port() for name in ("80", "443", *PORTS)}
        self.address = f"https://127.0.0.1:{self.ports['443']}"
        for name in FOLDERS:
            (folder / name).mkdir(parents=True, exist_ok=True)
        self.authority = folder / "etc" / "authority.pem"
        self._write_certificate()
        for name, command in PROGRAMS.items():
            self.replace_program(name, command)
        self._write_nginx()
        (folder / "etc" / "curl").write_text(
            f"cacert = {self.authority}\n"
            f"connect-to = ostiary.example.com:443:127.0.0.1:{self.ports['443']}\n"
            f"connect-to = ostiary.example.com:80:127.0.0.1:{self.ports['80']}\n"
            f"connect-to = app1.example.com:{self.ports['3000']}:127.0.0.11:{self.ports['3000']}\n"
            f"connect-to = app2.example.com:{self.ports['3000']}:127.0.0.12:{self.ports['3000']}\n"
        )
        for name, text in PROJECT.items():
            self.write(f"repository/{name}", text)

    def replace_program(self, name: str, command: str) -> None:
        """Let a name of a program stand for a shell command."""
        path = self.folder / "bin" / name
        nginx = shutil.which("nginx")
        text = command.format(
            self.folder,
            manager=service_manager.__file__,
            nginx=f"{nginx} -e {self.folder}/nginx.log -c {self.folder}/etc/nginx.conf",
            python=sys.executable,
            venv=sys.prefix,
        )
        path.write_text(f"#!/bin/bash\n{text}\n")
        path.chmod(0o755)

    def write(self, name: str, text: str) -> None:
        """Write a file in the folder."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def localize(self, text: str) -> str:
        """Replace paths, addresses and the database; leave installing to `make install`."""
        url = self.database.render_as_string(hide_password=False)
        here = r"^DATABASE_URL=.*/var/run/postgresql.*$"
        text = re.sub(here, f"DATABASE_URL={shlex.quote(url)}", text, flags=re.MULTILINE)
        elsewhere = f"@db.example.com:{self.database.port}/ostiary?hostaddr=127.0.0.20&"
        text = text.replace("@db.example.com/ostiary?", elsewhere)
        text = text.replace("10.0.0.", "127.0.0.")
        # nginx counts whole seconds; with fewer of them, fewer are enough between two restarts.
        text = text.replace("fail_timeout=10s", "fail_timeout=1s").replace("sleep 12", "sleep 2.1")
        text = re.sub(r"(?<!\w)/(?=(srv|etc|var|usr/local)/)", f"{self.folder}/", text)
        text = re.sub(r"^ *listen \[::\].*\n", "", text, flags=re.MULTILINE)
        for name in ("80", "443"):
            text = text.replace(f"listen {name}", f"listen 127.0.0.1:{self.ports[name]}")
        ports = rf"\b({'|'.join(PORTS)})\b"
        text = re.sub(ports, lambda found: str(self.ports[found[0]]), text)
        return text.replace("-m pip install", "-c pass")

    def write_files(self, *paths: str) -> None:
        """Write the files whose content the guide shows below their paths."""
        guide = (ROOT / GUIDE).read_text()
        for path in paths:
            shown = re.search(rf"`{path}`[^\n]*\n\n```\w+\n(.*?)^```$", guide, re.M | re.S)
            assert shown is not None, path
            self.write(path[1:], self.localize(shown[1]))
            if path == SETTINGS:
                with (self.folder / path[1:]).open("a") as settings:
                    settings.write("WEB_CONCURRENCY=1\n")

    def run(self, heading: str, number: int = -1, **variables: str) -> tuple[list[str], list[str]]:
        """Execute shell code of a section; return the statuses that it states, and those it got."""
        code = self.localize(blocks(GUIDE, "sh", heading)[number])
        server = self.database
        stated, printed, _ = run_shell(
            f'exec <<< "${{ADMIN_PASSWORD:-${{DATABASE_PASSWORD:-}}}}"\n{code}',
            self.folder,
            PATH=f"{self.folder}/bin:{self.folder}/usr/local/sbin:{os.environ['PATH']}",
            PGHOST=str(server.query.get("host") or server.host or ""),
            PGPORT=str(server.port or 5432),
            PGUSER=server.username or "",
            PGPASSWORD=str(server.password or ""),
            **variables,
        )
        return stated, printed

    def stop(self) -> None:
        """Stop what is running."""
        units = self.folder / "etc" / "systemd" / "system"
        for file in units.glob("*.pid"):
            service_manager.Unit(units, file.stem).stop()

    def _write_certificate(self) -> None:
        authority = trustme.CA()
        authority.cert_pem.write_to_path(str(self.authority))
        issued = authority.issue_cert("ostiary.example.com", "127.0.0.1")
        issued.private_key_pem.write_to_path(f"{self.folder}/etc/ssl/private/ostiary.key")
        for pem in issued.cert_chain_pems:
            pem.write_to_path(f"{self.folder}/etc/ssl/certs/ostiary.pem", append=True)

    def _write_nginx(self) -> None:
        user = "user root;" if os.geteuid() == 0 else ""
        text = NGINX.format(folder=self.folder, user=user)
        (self.folder / "etc" / "nginx.conf").write_text(text)
        shutil.copy("/etc/nginx/mime.types", self.folder / "etc" / "nginx")
        units = self.folder / "etc" / "systemd" / "system"
        units.mkdir(parents=True)
        (units / "nginx.service").write_text(
            f"ExecStart={self.folder}/bin/nginx\nType=forking\nPIDFile={self.folder}/nginx.pid\n"
        )
