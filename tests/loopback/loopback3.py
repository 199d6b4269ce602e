"""The application on LoopBack 3: copies with ids and a database of a kind, and their processes."""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.support import node_packages
from tests.support.ports import free_port

APPLICATION = Path(__file__).parent / "application"
# In a copy: LoopBack makes no tables itself.
MAKE_TABLES = """\
'use strict';

module.exports = function(app, cb) {
  app.dataSources.db.autoupdate(cb);
};
"""
# In place of MongoDB: a memory connector with the ids that MongoDB gives.
OBJECT_IDS = """\
'use strict';

const crypto = require('crypto');
const {Memory} = require('loopback-datasource-juggler/lib/connectors/memory');

exports.initialize = function(dataSource, callback) {
  const memory = new Memory(null, dataSource.settings);
  memory.dataSource = dataSource;
  memory.name = 'mongodb';
  memory.getDefaultIdType = () => String;
  const create = memory._createSync;
  memory._createSync = function(model, data, fn) {
    if (!this.getIdValue(model, data)) {
      const time = Math.floor(Date.now() / 1000).toString(16);
      this.setIdValue(model, data, time + crypto.randomBytes(8).toString('hex'));
    }
    return create.call(this, model, data, fn);
  };
  dataSource.connector = memory;
  memory.connect(callback);
};
"""


def copy_application(
    folder: Path,
    ids: str,
    db: Mapping[str, Any],
    geocoder: str | None = None,
    source: Path = APPLICATION,
) -> None:
    """Copy an application, with ids of this kind and these settings of its database.

    `ids` is `integer`, `uuid` or `objectid`, those that MongoDB gives.
    """
    shutil.copytree(source, folder, ignore=shutil.ignore_patterns("node_modules"))
    (folder / "files").mkdir()
    local = {"db": {"name": "db", **db}}
    if geocoder:
        sources = json.loads((folder / "server" / "datasources.json").read_text())
        [operation] = sources["geocoder"]["operations"]
        operation["template"]["url"] = f"{geocoder}/search"
        local["geocoder"] = sources["geocoder"]
    (folder / "server" / "datasources.local.json").write_text(json.dumps(local, indent=2))
    if ids != "integer":
        for path in (folder / "common" / "models").glob("*.json"):
            model = json.loads(path.read_text())
            _change_ids(model, ids)
            path.write_text(json.dumps(model, indent=2))


def _change_ids(model: dict[str, Any], ids: str) -> None:
    has_rows = model["base"] in ("PersistedModel", "User") and model.get("idInjection") is not False
    if ids == "uuid" and (has_rows or model["base"] == "User"):
        model["properties"]["id"] = {"type": "string", "id": True, "defaultFn": "uuidv4"}
    if subject := model.get("relations", {}).get("subject"):
        subject["polymorphic"]["idType"] = "string"


@contextmanager
def run_loopback(folder: Path) -> Iterator[str]:
    """Run a copied application under node; yields the address of its API."""
    node_packages.install(APPLICATION)
    packages = folder / "node_modules"
    if not packages.exists():
        packages.symlink_to(APPLICATION / "node_modules")
        connector = folder / "server" / "object-ids.js"
        connector.write_text(OBJECT_IDS)
        (folder / "server" / "boot" / "a-tables.js").write_text(MAKE_TABLES)
    port = free_port()
    errors = folder / "errors.txt"
    with errors.open("w") as output:
        process = subprocess.Popen(
            ["node", "server/server.js"],
            cwd=folder,
            env={**os.environ, "PORT": str(port), "HOST": "127.0.0.1", "TZ": "UTC"},
            stdout=subprocess.PIPE,
            stderr=output,
            text=True,
        )
    try:
        assert process.stdout
        line = process.stdout.readline()
        assert line.startswith("Listening"), errors.read_text()
        yield f"http://127.0.0.1:{port}/api"
    finally:
        process.terminate()
        process.wait(30)
