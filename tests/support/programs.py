"""Programs that tests need and that pip does not install."""

import os
import shutil

import pytest


def require(program: str, is_there: bool | None = None) -> None:
    """Skip the test without this program, and fail it in continuous integration."""
    if is_there is None:
        is_there = shutil.which(program) is not None
    if not is_there:
        message = f"{program} is not on this machine"
        pytest.fail(message) if os.environ.get("CI") else pytest.skip(message)
