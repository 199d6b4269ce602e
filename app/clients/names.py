"""Identifiers of TypeScript for the names in a document."""

import json
import re
from collections.abc import Iterable

# Words that no argument may be called.
KEYWORD = re.compile(
    "arguments|await|break|case|catch|class|const|continue|debugger|default|delete|do|else|enum"
    "|eval|export|extends|false|finally|for|function|if|implements|import|in|instanceof|interface|let|new|null"
    "|package|private|protected|public|return|static|super|switch|this|throw|true|try|typeof|var"
    "|void|while|with|yield"
)
WORD = re.compile(r"[^\W_]\w*|_\w+")
# The capitals at the beginning of `APIKey` and `Books` that become small.
CAPITALS = re.compile(r"^([A-Z]+(?=[A-Z][a-z]|[^A-Za-z]|$)|[A-Z])")
# Members that an object or a type may have without quotes; a method `new` would be a constructor.
PLAIN = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*")
CONSTRUCTED = "new"
PROTOTYPE = "__proto__"
# The method that `await` calls, which no object of a client has.
AWAITED = "then"


def type_name(text: str) -> str:
    """Return the name of a type: `OrderItem` for `order-item`."""
    joined = "".join(word[0].upper() + word[1:] for word in _words(text))
    return joined if joined.isidentifier() else f"T{joined}"


def member_name(text: str) -> str:
    """Return the name of a method or collection: `orderItems` for `order-items`."""
    name = method_name(text)
    return CAPITALS.sub(lambda capitals: capitals[0].lower(), name, count=1) if name else name


def method_name(text: str) -> str:
    """Return a name as that of a method: as it is, without characters that none has."""
    first, *others = _words(text) or ["call"]
    joined = first + "".join(word[0].upper() + word[1:] for word in others)
    return joined if joined.isidentifier() else f"_{joined}"


def argument_name(text: str) -> str:
    """Return the name of a function's argument."""
    name = member_name(text)
    return f"{name}_" if KEYWORD.fullmatch(name) else name


def quoted(text: str) -> str:
    """Return a text as a literal."""
    return json.dumps(text, ensure_ascii=False)


def key(text: str) -> str:
    """Return the name of a member, with quotes if it needs them."""
    # In brackets, it is a name like any other, and does not set the prototype.
    if text == PROTOTYPE:
        return f"[{quoted(text)}]"
    return text if PLAIN.fullmatch(text) and text != CONSTRUCTED else quoted(text)


def union(texts: Iterable[str]) -> str:
    """Return the type of any of these texts; `never` if there are none."""
    return " | ".join(map(quoted, texts)) or "never"


def comment(text: str) -> str:
    """Return a text that cannot end the comment that it is in, as one line."""
    return " ".join(text.replace("*/", "*\\/").split())


class Names:
    """Names that are given once each: to a name that is taken, a suffix is added."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._taken = set(taken)

    def give(self, name: str, suffix: str = "", endings: Iterable[str] = ()) -> str:
        """Return the name, or if it is taken, the first one with the suffix that is not.

        The names that it makes with the endings are given with it.
        """
        given, number, endings = name, 1, ("", *endings)
        while any(given + ending in self._taken for ending in endings):
            given = f"{name}{suffix}{number if number > 1 or not suffix else ''}"
            number += 1
        self._taken.update(given + ending for ending in endings)
        return given


def _words(text: str) -> list[str]:
    """Return the words of a text, of characters that identifiers may have."""
    return WORD.findall("".join(each if f"_{each}".isidentifier() else " " for each in text))
