"""Whether changes of a model's rows are recorded, and which of their values are kept."""

from collections.abc import Mapping, Sequence

from app.properties.declaration import Declaration


def read_changes(declared: Declaration) -> bool | Mapping[str, Sequence[str]]:
    """Return what `changes` says: whether to record them, or the properties to keep of them."""
    given = declared.value
    if isinstance(given, bool | None):
        return given is True
    kept = given.get("keep") if isinstance(given, Mapping) and given.keys() == {"keep"} else None
    if isinstance(kept, list) and all(isinstance(name, str) for name in kept):
        return {"keep": kept}
    declared.add('must be true, or an object such as {"keep": ["status"]}')
    return False
