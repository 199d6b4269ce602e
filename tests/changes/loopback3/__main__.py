"""Record anew what LoopBack 3 sends to change streams: `python -m tests.changes.loopback3`."""

import json
import subprocess
from pathlib import Path

from tests.support.node_packages import install
from tests.support.programs import require

FOLDER = Path(__file__).parent
# The service of the benchmark has the packages.
PACKAGES = FOLDER.parents[2] / "benchmarks" / "loopback3"
MODEL = {"name": "Order", "properties": {"title": "string", "status": "string"}}
CREATE = ["POST", "/Orders", {"title": "Home", "status": "a"}]
OTHER = ["POST", "/Orders", {"title": "Work", "status": "b"}]
WRITES = [
    CREATE,
    ["PATCH", "/Orders/1", {"title": "Garden"}],
    ["PUT", "/Orders/1", {"title": "Garden", "status": "c"}],
    ["POST", "/Orders/1/replace", {"title": "Shed", "status": "a"}],
    ["DELETE", "/Orders/1", None],
]
FILTERED = [CREATE, OTHER, ["PATCH", "/Orders/1", {"status": "b"}]]
CASES = {
    "writes of a row": (
        ["GET", "/Orders/change-stream?_format=event-stream", None],
        WRITES,
    ),
    "by POST": (["POST", "/Orders/change-stream", None], WRITES[:1]),
    "a filter in JSON": (
        ["GET", '/Orders/change-stream?options={"where":{"status":"a"}}', None],
        FILTERED,
    ),
    "a filter in brackets": (
        ["GET", "/Orders/change-stream?options[where][status]=a", None],
        FILTERED,
    ),
    "a filter in a body": (
        ["POST", "/Orders/change-stream", {"options": {"where": {"status": "a"}}}],
        FILTERED,
    ),
    "updateAll": (
        ["GET", "/Orders/change-stream", None],
        [CREATE, OTHER, ["POST", '/Orders/update?where={"status":"a"}', {"title": "All"}]],
    ),
    "a removal with a filter": (
        ["GET", "/Orders/change-stream?options[where][status]=a", None],
        [CREATE, ["DELETE", "/Orders/1", None]],
    ),
}


def main() -> None:
    """Store what LoopBack 3 sends."""
    require("node")
    install(PACKAGES)
    cases = [
        {"name": name, "stream": stream, "calls": calls} for name, (stream, calls) in CASES.items()
    ]
    run = subprocess.run(
        ["node", str(FOLDER / "record.js")],
        cwd=PACKAGES,
        input=json.dumps({"model": MODEL, "cases": cases}),
        capture_output=True,
        text=True,
        check=True,
    )
    recorded = json.dumps(json.loads(run.stdout), indent=1)
    (FOLDER / "recorded.json").write_text(f"{recorded}\n")


if __name__ == "__main__":
    main()
