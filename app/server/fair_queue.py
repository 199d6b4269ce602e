"""A queue that serves clients in turn, regardless of how many items each has in it."""

from collections.abc import Hashable
from typing import Generic, NamedTuple, TypeVar

Item = TypeVar("Item", bound=Hashable)


class Entry(NamedTuple):
    """The client of an item, and its size in bytes."""

    client: str
    size: int


class FairQueue(Generic[Item]):
    """A queue, limited in items and bytes, that takes the next item of each client in turn."""

    def __init__(self, most: int, most_bytes: int) -> None:
        self._most = most
        self._most_bytes = most_bytes
        self._bytes = 0
        # In the order of insertion.
        self._entries: dict[Item, Entry] = {}
        # The items of each client, in the order of the clients' turns.
        self._lines: dict[str, dict[Item, None]] = {}

    def __len__(self) -> int:
        return len(self._entries)

    def add(self, item: Item, client: str, size: int) -> list[Item]:
        """Add an item; remove and return items in excess: the newest of the client with most."""
        self._entries[item] = Entry(client, size)
        self._lines.setdefault(client, {})[item] = None
        self._bytes += size
        surplus = []
        while len(self) > self._most or (self._bytes > self._most_bytes and len(self) > 1):
            surplus.append(self._newest_of_the_largest(client))
            self.remove(surplus[-1])
        return surplus

    def pop(self) -> Item:
        """Remove and return the next item: the first one of the client whose turn it is."""
        client, line = next(iter(self._lines.items()))
        item = next(iter(line))
        self.remove(item)
        # The client's next turn comes after those of all others.
        if self._lines.pop(client, None):
            self._lines[client] = line
        return item

    def remove(self, item: Item) -> None:
        """Remove an item."""
        client, size = self._entries.pop(item)
        self._bytes -= size
        line = self._lines[client]
        del line[item]
        if not line:
            del self._lines[client]

    def oldest(self) -> Item | None:
        """Return the oldest item, None if there is none."""
        return next(iter(self._entries), None)

    def _newest_of_the_largest(self, newcomer: str) -> Item:
        """Return the newest item of the client with most items or bytes."""
        is_crowded = len(self) > self._most

        def share(client: str) -> tuple[int, bool]:
            line = self._lines[client]
            size = len(line) if is_crowded else sum(self._entries[item].size for item in line)
            return size, client == newcomer

        return next(reversed(self._lines[max(self._lines, key=share)]))
