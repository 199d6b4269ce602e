"""The scopes of a personal token: which methods of which models it may call."""

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import lru_cache

# The word for all methods of a model, and the prefix of words that exclude methods.
EVERY_METHOD, EXCEPT = "*", "!"


@dataclass(frozen=True)
class Scopes:
    """Words by the name of a model: access types, names of methods, or `*`.

    A word with the prefix `!` excludes its methods. Scopes never permit more than the user may do.
    """

    words: Mapping[str, Collection[str]]

    def cover(self, model: str, method: str, access: str) -> bool:
        """Return True if the scopes include a method of a model, by its name or its access type."""
        words = self.words.get(model, ())
        if f"{EXCEPT}{method}" in words or f"{EXCEPT}{access}" in words:
            return False
        return method in words or access in words or EVERY_METHOD in words


@lru_cache(maxsize=256)
def read_scopes(text: str) -> Scopes:
    """Return the scopes stored as JSON."""
    return Scopes(json.loads(text))


def write_scopes(words: Mapping[str, Collection[str]]) -> str:
    """Return the scopes as JSON to store."""
    return json.dumps({model: sorted(named) for model, named in sorted(words.items())})
