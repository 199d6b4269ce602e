"""Build the site of the documents in build/site: `python -m tools.site`.

Its navigation is that of docs/README.md. Pages outside of docs/ to which documents link, such as
the changelog, are part of it.
"""

import re
import shutil
import sys
from pathlib import Path, PurePosixPath
from posixpath import normpath, relpath

from sphinx.cmd.build import build_main

ROOT = Path(__file__).parent.parent.parent
SOURCES, SITE = ROOT / "build" / "site-sources", ROOT / "build" / "site"
CONTENTS = "docs/README.md"
# The folder of the site for files that are not in docs/.
OUTSIDE = "project"
LINK = re.compile(r"(\]\()(?!\w+:|#)([^)#]+)")


def main() -> int:
    """Write the sources of the site, and build it; return the status of Sphinx."""
    shutil.rmtree(SOURCES, ignore_errors=True)
    shutil.copytree(ROOT / "docs" / "pictures", SOURCES / "pictures")
    for path in _reachable():
        place = SOURCES / _place(path)
        place.parent.mkdir(parents=True, exist_ok=True)
        if path == CONTENTS:
            place.write_text(_contents())
        elif path.endswith(".md"):
            place.write_text(_linked(path))
        else:
            shutil.copy(ROOT / path, place)
    options = ["-q", "-W", "--keep-going", "-E", "-c", str(Path(__file__).parent)]
    return build_main([*options, str(SOURCES), str(SITE)])


def _reachable() -> set[str]:
    """Return the files to which links lead from the page of contents, with that page."""
    found, open_ = {CONTENTS}, [CONTENTS]
    while open_:
        path = open_.pop()
        if path.endswith(".md"):
            links = LINK.finditer((ROOT / path).read_text())
            new = {_resolved(path, link[2]) for link in links} - found
            found |= new
            open_ += new
    return {path for path in found if (ROOT / path).is_file()}


def _contents() -> str:
    """Return the page of contents, with the navigation."""
    text, trees = (ROOT / CONTENTS).read_text(), []
    for part in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        title, _, body = part.partition("\n")
        pages = re.findall(r"^- \[(.*?)\]\((.*?)\)", body, re.MULTILINE)
        entries = [f"{name} </{_place(_resolved(CONTENTS, path))}>" for name, path in pages]
        lines = ["```{toctree}", ":hidden:", f":caption: {title}", "", *entries, "```"]
        trees.append("\n".join(lines))
    return "\n\n".join([_linked(CONTENTS), *trees]) + "\n"


def _linked(path: str) -> str:
    """Return the text of a page whose links lead to the places that files have in the site."""
    folder = str(PurePosixPath(_place(path)).parent)
    return LINK.sub(
        lambda link: link[1] + relpath(_place(_resolved(path, link[2])), folder),
        (ROOT / path).read_text(),
    )


def _resolved(path: str, target: str) -> str:
    """Return the path in the repository of what a page links to."""
    return normpath(str(PurePosixPath(path).parent / target))


def _place(path: str) -> str:
    """Return the place among the sources of the site of a file of the repository."""
    if path == CONTENTS:
        return "index.md"
    return path.removeprefix("docs/") if path.startswith("docs/") else f"{OUTSIDE}/{path}"


if __name__ == "__main__":
    sys.exit(main())
