"""A folder that stands for PostgreSQL's host of docs/postgresql.md, to execute its commands."""

import os
import re
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from .documents import run_shell
from .installation import ROOT
from .postgres import Cluster

DOCUMENT = "docs/postgresql.md"
CONFIGURATION = "/etc/postgresql/15/main"
CRON = "/etc/cron.d/pgbackrest"
FILES = ["/etc/pgbackrest.conf", f"{CONFIGURATION}/conf.d/pgbackrest.conf", CRON]
FOLDERS = ["bin", "instance", "var/lib/pgbackrest", "var/backups/ostiary"]
# Only a power failure would need that commits are written to the disk.
SETTINGS = """
include_dir = 'conf.d'
listen_addresses = ''
unix_socket_directories = '{folder}'
fsync = off
"""
# Programs that would change the machine of the tests, or are not those of the tests' server, and
# what is done instead.
PROGRAMS = {
    "apt-get": "exit 0",
    "install": 'exec runuser -u postgres -- mkdir -m 700 "${{@: -1}}"',
    "ostiary": 'exec {ostiary} "$@"',
    "runuser": 'shift 3; exec {as_user} "$@"',
    # The service is a part of the test.
    "systemctl": "[[ $2 = ostiary* ]] || exec {as_user} {pg_ctl} -w -D {data} -l {folder}/log "
    '-o "-c config_file={folder}{configuration}/postgresql.conf" "$1" > /dev/null',
}


@dataclass
class Host:
    """A server that is configured as Debian's, in the folder of a cluster, and its programs."""

    server: Cluster

    @property
    def url(self) -> str:
        return f"postgresql+psycopg://postgres@/ostiary?host={self.server.folder}"

    def path(self, name: str) -> Path:
        """Return where a file of the host is."""
        return self.server.folder / name.removeprefix("/")

    def prepare(self) -> None:
        """Start a server with an empty database."""
        for name in (*FOLDERS, *(f"{path}/.." for path in FILES)):
            self.path(os.path.normpath(name)).mkdir(parents=True, exist_ok=True)
        if self.server.user:
            shutil.chown(self.path("var/lib/pgbackrest"), self.server.user)
        settings = SETTINGS.format(folder=self.server.folder)
        self.path(f"{CONFIGURATION}/postgresql.conf").write_text(settings)
        for name, command in PROGRAMS.items():
            self._write_program(name, command)
        self.server.create("postgres")
        self.run("systemctl start postgresql\ncreatedb ostiary")

    def write_files(self) -> None:
        """Write the files whose content the document shows below their paths."""
        document = (ROOT / DOCUMENT).read_text()
        for path in FILES:
            shown = re.search(rf"`{path}`[^\n]*\n\n```\w+\n(.*?)^```$", document, re.M | re.S)
            assert shown is not None, path
            self.path(path).write_text(self._localize(shown[1]))

    def run(self, code: str, **variables: str) -> str:
        """Execute shell code with the paths of this host; return what it prints."""
        folder = self.server.folder
        own = {
            "PATH": f"{folder}/bin:{self.server.programs}:{os.environ['PATH']}",
            "PGHOST": str(folder),
            "PGUSER": "postgres",
            "DATABASE_URL": self.url,
            "INSTANCE_PATH": f"{folder}/instance",
            "PGBACKREST_CONFIG": f"{folder}/etc/pgbackrest.conf",
            "PGBACKREST_LOCK_PATH": f"{folder}/lock",
            "PGBACKREST_LOG_LEVEL_FILE": "off",
            "PGBACKREST_PG1_SOCKET_PATH": str(folder),
            "PGBACKREST_PG1_USER": "postgres",
        }
        *_, printed = run_shell(self._localize(code), folder, **own, **variables)
        return printed

    def _localize(self, text: str) -> str:
        text = text.replace("/var/lib/postgresql/15/main", str(self.server.data))
        text = re.sub(r"(?<!\w)/(?=(?:etc|var)/)", f"{self.server.folder}/", text)
        return text.replace("sleep 1;", "sleep 0.1;")

    def _write_program(self, name: str, command: str) -> None:
        user = self.server.user
        text = command.format(
            as_user=f"/usr/sbin/runuser -u {user} --" if user else "",
            configuration=CONFIGURATION,
            data=self.server.data,
            folder=self.server.folder,
            ostiary=f"{sys.prefix}/bin/ostiary",
            pg_ctl=self.server.programs / "pg_ctl",
        )
        path = self.path(f"bin/{name}")
        path.write_text(f"#!/bin/bash\n{text}\n")
        path.chmod(0o755)
