"""English plurals, by the rules that LoopBack 3 names paths by."""

import re

UNCOUNTABLE = {
    *("advice", "aircraft", "data", "deer", "equipment", "feedback", "fish", "furniture"),
    *("information", "luggage", "metadata", "money", "news", "police", "rice", "series", "sheep"),
    *("software", "species", "staff", "traffic"),
}
IRREGULAR = {
    "child": "children",
    "foot": "feet",
    "goose": "geese",
    "man": "men",
    "mouse": "mice",
    "ox": "oxen",
    "person": "people",
    "tooth": "teeth",
    "woman": "women",
}
# The first expression that matches the end of a word says what replaces it.
ENDINGS = [
    (r"(matr|vert|ind)(ix|ex)$", r"\1ices"),
    (r"(analy|ba|cri|diagno|hypothe|paraly|synop|synthe|the|parenthe)sis$", r"\1ses"),
    (r"(dat|medi|criteri|phenomen)(um|on)$", r"\1a"),
    (r"(quiz)$", r"\1zes"),
    (r"(alias|status|virus|bus|campus)$", r"\1es"),
    (r"(x|ch|ss|sh|z)$", r"\1es"),
    (r"(buffal|her|potat|tomat|ech|torped)o$", r"\1oes"),
    (r"([^aeiouy]|qu)y$", r"\1ies"),
    (r"([lr]|kni|wi|li)(f|fe)$", r"\1ves"),
    (r"(s|media|people|children|men)$", r"\1"),
    (r"$", "s"),
]
LAST_WORD = re.compile(r"[A-Z]?[a-z]+$|[A-Za-z]+$")


def pluralize(name: str) -> str:
    """Return the plural of a name such as `Category`, `orderItem` or `Person`."""
    last = LAST_WORD.search(name)
    start, word = (name[: last.start()], last[0]) if last else ("", name)
    if word.lower() in UNCOUNTABLE:
        return name
    if plural := IRREGULAR.get(word.lower()):
        return start + word[0] + plural[1:]
    for ending, replacement in ENDINGS:
        if re.search(ending, word, re.IGNORECASE):
            return start + re.sub(ending, replacement, word, count=1, flags=re.IGNORECASE)
    return name
