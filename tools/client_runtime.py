"""Compile the part of clients that is written by hand, for clients in JavaScript.

`python -m tools.client_runtime` writes `runtime.js` and `runtime.d.ts` beside `runtime.ts`, and
`changes.js` beside `changes.ts`, which continues it; it needs node.
"""

import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

from app.clients.runtime import FOLDER, text
from tests.support.node_packages import install

# TypeScript is among the packages of clients under test.
PACKAGES = Path(__file__).parents[1] / "tests" / "openapi" / "client_node"
# What each service declares.
GENERATED = "export type ErrorCode = string;\nexport interface ErrorDetails {}\n"
OPTIONS = "--strict --declaration --target es2022 --module es2022 --moduleResolution bundler"
# Stands between the two files.
BETWEEN = "export const BETWEEN = 0;\n"


def compiled() -> dict[str, str]:
    """Return the compiled files by name."""
    install(PACKAGES)
    with TemporaryDirectory() as place:
        source = Path(place, "runtime.ts")
        source.write_text(text("runtime.ts") + BETWEEN + text("changes.ts") + GENERATED)
        compiler = PACKAGES / "node_modules" / ".bin" / "tsc"
        subprocess.run([compiler, *OPTIONS.split(), source], check=True, timeout=100)  # noqa: S603
        first, second = Path(place, "runtime.js").read_text().split(BETWEEN)
        declared = Path(place, "runtime.d.ts").read_text().partition("export declare const BETWEEN")
    files = {"runtime.js": first, "changes.js": second, "runtime.d.ts": declared[0]}
    return {name: code.rstrip() + "\n" for name, code in files.items()}


def main() -> None:
    """Write the files."""
    for name, code in compiled().items():
        (FOLDER / name).write_text(code)


if __name__ == "__main__":
    main()
