"""Clients of several applications and the programs that use them, compiled by TypeScript once."""

import fcntl
import json
import os
import re
import shutil
import subprocess
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

import pytest

from app.clients.writing import Client
from tests.support.documents import blocks
from tests.support.node_packages import install
from tests.support.programs import require

from .applications import documents
from .mistakes import MISTAKES

FOLDER = Path(__file__).parent / "programs"
# TypeScript is among the packages of other clients.
PACKAGES = Path(__file__).parents[1] / "openapi" / "client_node"
OPTIONS = {
    "strict": True,
    "exactOptionalPropertyTypes": True,
    "noUncheckedIndexedAccess": True,
    "noUnusedLocals": True,
    "erasableSyntaxOnly": True,
    "verbatimModuleSyntax": True,
    "removeComments": True,
    "target": "es2022",
    "module": "nodenext",
    "lib": ["es2022", "dom", "dom.iterable"],
    "types": [],
    "outDir": "built",
}
# The address of the service in the document, and what stands for it.
ADDRESS = '"https://shop.example.com/api"'
VALUES = "process.argv"
PROCESS = "\ndeclare const process: { argv: string[] };\n"
ERROR = re.compile(r"^(\S+)\.ts\(\d+,\d+\): (error .*(?:\n .*)*)", re.MULTILINE)


class Compiled(NamedTuple):
    """The compiled programs, and the errors of each file by its name."""

    folder: Path
    errors: dict[str, list[str]]

    def source(self, client: str) -> str:
        """Return a client as it was written."""
        return (self.folder / "clients" / f"{client}.ts").read_text()


@pytest.fixture(scope="session")
def compiled(tmp_path_factory):
    """All clients and programs, compiled by the first test process that needs them."""
    require("node")
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent
    with (folder / "clients.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        printed = folder / "clients" / "printed"
        if not printed.exists():
            printed.write_text(_compile(folder / "clients"))
    errors = defaultdict(list)
    for file, error in ERROR.findall(printed.read_text()):
        errors[file].append(error)
    return Compiled(folder / "clients", errors)


def _compile(folder: Path) -> str:
    """Write the files, and compile them; return what the compiler prints."""
    install(PACKAGES)
    shutil.copytree(FOLDER, folder)
    for name in ("clients", "mistakes", "plain"):
        (folder / name).mkdir()
    code = "\n".join(blocks("docs/client.md", "ts")).replace('"./client.js"', '"./clients/shop.js"')
    # The address is the first value that the program gets.
    assert ADDRESS in code
    (folder / "document.ts").write_text(code.replace(ADDRESS, f"({VALUES})[3]!") + PROCESS)
    # The same uses, with the types of the client in JavaScript.
    uses = (folder / "types.ts").read_text().replace("./clients/", "./plain/")
    (folder / "plain_types.ts").write_text(uses)
    for name, document in documents(folder / "applications").items():
        client = Client.of(document)
        (folder / "clients" / f"{name}.ts").write_text(client.typescript())
        (folder / "plain" / f"{name}.js").write_text(client.javascript())
        (folder / "plain" / f"{name}.d.ts").write_text(client.declarations())
    for mistake in MISTAKES:
        (folder / "mistakes" / f"{mistake.name}.ts").write_text(mistake.program)
    (folder / "package.json").write_text('{"type": "module"}')
    (folder / "tsconfig.json").write_text(json.dumps({"compilerOptions": OPTIONS}))
    compiler = PACKAGES / "node_modules" / ".bin" / "tsc"
    done = subprocess.run(
        [compiler, "--pretty", "false"], cwd=folder, capture_output=True, text=True, check=False
    )
    return done.stdout + done.stderr
