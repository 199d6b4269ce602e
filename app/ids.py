"""The forms of ids: how ids are written, read and generated."""

import os
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from typing import Any

# An id in Python: an integer, or a text in its normal form.
Id = int | str

#: Maximum characters of a text id, unless its column has another length.
MAX_TEXT_ID = 255
UUID_LENGTH = 36
#: Seconds by which a clock may be set back without changing the order of new UUIDs: more than a
#: time service corrects at once, and less than a typical wrong clock.
CLOCK_CORRECTION = 10
#: The highest id that clients may choose for sequential ids: those generated after it are still
#: exact in JavaScript.
MAX_CHOSEN = 2**52


class Uuids:
    """Generates UUIDs of version 7 (RFC 9562, 5.7): rows sort by the time of their creation.

    Indexes grow at their end, as with sequential ids. The 12 bits after the milliseconds are a
    fraction of a millisecond (6.2, method 3), so that the rows of one request are in order, too. If
    the clock is set back a little, the time advances in the smallest steps, to keep the order.
    """

    def __init__(self) -> None:
        # The last time, in 4096ths of a millisecond.
        self._last = 0

    def __call__(self) -> str:
        """Return a new id: 32 hexadecimal digits, with hyphens."""
        milliseconds, rest = divmod(time.time_ns(), 1_000_000)
        moment = milliseconds << 12 | rest * 4096 // 1_000_000
        if moment <= self._last < moment + CLOCK_CORRECTION * 1000 * 4096:
            moment = self._last + 1
        # Concurrent threads may take the same time, with different random bits.
        self._last = moment
        random = int.from_bytes(os.urandom(8), "big") & (1 << 62) - 1
        of_time = (moment >> 12) << 80 | (moment & 0xFFF) << 64
        digits = f"{of_time | 7 << 76 | 2 << 62 | random:032x}"
        return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


new_uuid = Uuids()


class ObjectIds:
    """Generates ObjectIds as specified by BSON.

    Each has 4 bytes of seconds, 5 random bytes of the process, and 3 of a counter with a random
    start.
    """

    def __init__(self) -> None:
        self.restart()

    def restart(self) -> None:
        """Choose the random bytes and the start of the counter, which each process must do."""
        self._process = os.urandom(5).hex()
        self._counter = count(int.from_bytes(os.urandom(3), "big"))

    def __call__(self) -> str:
        """Return a new id: 24 hexadecimal digits."""
        seconds, number = int(time.time()) & 0xFFFFFFFF, next(self._counter) & 0xFFFFFF
        return f"{seconds:08x}{self._process}{number:06x}"


new_object_id = ObjectIds()
os.register_at_fork(after_in_child=new_object_id.restart)


@dataclass(frozen=True)
class IdForm:
    """A form of ids."""

    # Its name in ID_TYPE; text is only for the application's own models.
    name: str
    pattern: re.Pattern[str]
    # Returns the normal form of a text that matches the pattern.
    normalize: Callable[[str], Id]
    # Generates an id; None if the database does.
    generate: Callable[[], str] | None
    # A description of an id for errors, and its JSON Schema with an example.
    description: str
    json_schema: dict[str, Any]

    def parse(self, text: str) -> Id | None:
        """Return the id in a client's text; None if it is invalid."""
        return self.normalize(text) if self.pattern.fullmatch(text) else None

    def parse_json(self, value: object) -> Id | None:
        """Return the id in a JSON value; None if it is invalid."""
        if isinstance(value, bool) or not isinstance(value, self.python_type):
            return None
        # Larger ones are not exact in JavaScript, and converting them to text may take long.
        if isinstance(value, int) and abs(value) >= 2**53:
            return None
        return self.parse(str(value))

    @property
    def python_type(self) -> type[Id]:
        """The Python type of its ids: `int` or `str`."""
        return int if self.normalize is int else str

    @property
    def example(self) -> object:
        """An id for examples."""
        return self.json_schema["examples"][0]


INTEGER = IdForm(
    name="integer",
    # At most 18 digits, which always fit into a 64-bit column.
    pattern=re.compile(r"[1-9][0-9]{0,17}", re.ASCII),
    normalize=int,
    generate=None,
    description="a whole number from 1",
    json_schema={"type": "integer", "minimum": 1, "examples": [1]},
)
UUID = IdForm(
    name="uuid",
    pattern=re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}", re.ASCII),
    normalize=str.lower,
    generate=new_uuid,
    description="a UUID like 018c5a3e-7d2b-7c1a-9f00-3b1d2e4f5a6b",
    json_schema={
        "type": "string",
        "format": "uuid",
        "examples": ["018c5a3e-7d2b-7c1a-9f00-3b1d2e4f5a6b"],
    },
)
OBJECT_ID = IdForm(
    name="objectid",
    pattern=re.compile(r"[0-9a-fA-F]{24}", re.ASCII),
    normalize=str.lower,
    generate=new_object_id,
    description="24 hexadecimal digits",
    json_schema={
        "type": "string",
        "pattern": "^[0-9a-fA-F]{24}$",
        "examples": ["507f1f77bcf86cd799439011"],
    },
)


def text_form(max_length: int = MAX_TEXT_ID) -> IdForm:
    """Return the form of text ids of at most `length` characters.

    Without control characters, and not only dots, because such ids do not survive in a URL's path.
    """
    return IdForm(
        name="text",
        pattern=re.compile(rf"(?!\.{{1,2}}\Z)[^\x00-\x1f\x7f-\x9f\ud800-\udfff]{{1,{max_length}}}"),
        normalize=str,
        # A UUID does not fit into a shorter column.
        generate=new_uuid if max_length >= UUID_LENGTH else None,
        description=f"1 to {max_length} characters, without control characters",
        json_schema={
            "type": "string",
            "minLength": 1,
            "maxLength": max_length,
            "pattern": r"^[^\x00-\x1f\x7f-\x9f]+$",
            "examples": ["text"],
        },
    )


# The forms that ID_TYPE may name.
FORMS = {form.name: form for form in (INTEGER, UUID, OBJECT_ID)}
