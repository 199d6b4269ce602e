"""Deleting folders that are not visible any more, in a background thread if they are large."""

import os
import shutil
from itertools import islice
from pathlib import Path
from threading import Thread

#: Files that a request deletes with their container, in about 10 ms; a thread deletes the others.
MAX_AT_ONCE = 1000


def remove_folder(folder: Path) -> None:
    """Delete a folder of files; if there are many, most of them after the return.

    If the process ends meanwhile, the rest is removed as abandoned.
    """
    try:
        with os.scandir(folder) as entries:
            first = [entry.path for entry in islice(entries, MAX_AT_ONCE)]
        for path in first:
            os.unlink(path)
        os.rmdir(folder)
    except OSError:
        # There is more in it, or something that cannot be deleted: nobody waits for that.
        Thread(target=shutil.rmtree, args=(folder, True), name="removal", daemon=True).start()
