"""Download the pages' libraries from npm: `python -m tools.vendored`, which needs npm.

They are shipped unchanged, except for imports by name, which browsers resolve only with an inline
script, and for links to source maps, which are not shipped.
"""

import re
import subprocess
import tarfile
import tempfile
from pathlib import Path

FOLDER = Path(__file__).parents[1] / "app" / "pages" / "static" / "vendor"
# The files of each package, with their names here.
PACKAGES = {
    "preact@11.2.0": {
        "preact.js": "dist/preact.mjs",
        "hooks.js": "hooks/dist/hooks.mjs",
        "preact.LICENSE": "LICENSE",
    },
    "htm@3.1.1": {"htm.js": "dist/htm.mjs", "htm.LICENSE": "LICENSE"},
}
SOURCE_MAP = re.compile(r"\n//# sourceMappingURL=\S+")


def main() -> None:
    """Write the files of all packages."""
    FOLDER.mkdir(exist_ok=True)
    for package, files in PACKAGES.items():
        with tempfile.TemporaryDirectory() as folder:
            command = ["npm", "pack", "--silent", "--pack-destination", folder, package]
            subprocess.run(command, check=True)  # noqa: S603 constant
            [archive] = Path(folder).glob("*.tgz")
            with tarfile.open(archive) as packed:
                packed.extractall(folder, filter="data")
            for name, source in files.items():
                text = Path(folder, "package", source).read_text()
                text = SOURCE_MAP.sub("", text).replace('from"preact"', 'from"./preact.js"')
                (FOLDER / name).write_text(text)


if __name__ == "__main__":
    main()
