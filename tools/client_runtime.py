"""Compile the part of clients that is written by hand, for clients in JavaScript.

`python -m tools.client_runtime` writes `runtime.js` and `runtime.d.ts` beside `runtime.ts`; it
needs node.
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
FILES = ("runtime.js", "runtime.d.ts")


def compiled() -> dict[str, str]:
    """Return the compiled files by name."""
    install(PACKAGES)
    with TemporaryDirectory() as place:
        source = Path(place, "runtime.ts")
        source.write_text(text("runtime.ts") + GENERATED)
        compiler = PACKAGES / "node_modules" / ".bin" / "tsc"
        subprocess.run([compiler, *OPTIONS.split(), source], check=True, timeout=100)  # noqa: S603
        return {file: _without_generated(Path(place, file).read_text()) for file in FILES}


def _without_generated(code: str) -> str:
    return code.partition("export type ErrorCode")[0].rstrip() + "\n"


def main() -> None:
    """Write the files."""
    for name, code in compiled().items():
        (FOLDER / name).write_text(code)


if __name__ == "__main__":
    main()
