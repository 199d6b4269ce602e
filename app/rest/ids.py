"""Parse the row ids in paths."""

import re

from app.errors import ModelNotFound

# At most 18 digits, which always fit into a 64-bit column.
ROW_ID = re.compile(r"[1-9][0-9]{0,17}", re.ASCII)


def parse_row_id(text: str) -> int | None:
    """Return the id in a path; None for text that is not a valid id."""
    return int(text) if ROW_ID.fullmatch(text) else None


def row_id(model: str, text: str) -> int:
    """Return the id in a path; raise ModelNotFound for text that is not a valid id."""
    number = parse_row_id(text)
    if number is None:
        raise ModelNotFound(model, text)
    return number
