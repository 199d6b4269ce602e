"""Read row ids from paths."""

import re

from app.errors import ModelNotFound

# At most 18 digits: below what a 64-bit column holds.
ROW_ID = re.compile(r"[1-9][0-9]{0,17}", re.ASCII)


def row_id(model: str, text: str) -> int:
    """Return the id in a path; raise ModelNotFound for text that no row can have as its id."""
    if not ROW_ID.fullmatch(text):
        raise ModelNotFound(model, text)
    return int(text)
