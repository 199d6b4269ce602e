"""The plural of an English noun, for the path of a resource."""

import re

# From the first that fits; the same as LoopBack 3 for regular nouns and the usual other ones.
_RULES = tuple(
    (re.compile(pattern, re.IGNORECASE), replacement)
    for pattern, replacement in (
        (r"(people|children|men|news|series|species|sheep|equipment|information|data)$", r"\1"),
        (r"(pe)rson$", r"\1ople"),
        (r"(child)$", r"\1ren"),
        (r"(?<!hu)(?<!ger)(m)an$", r"\1en"),
        (r"(quiz)$", r"\1zes"),
        (r"(matr|vert|ind)(?:ix|ex)$", r"\1ices"),
        (r"sis$", "ses"),
        (r"(x|ch|sh|ss|[aeiou]tus|us|alias)$", r"\1es"),
        (r"([^aeiou]|qu)y$", r"\1ies"),
        (r"([^f])fe$", r"\1ves"),
        (r"(hal|sel|cal|shel|wol)f$", r"\1ves"),
        (r"([tm]at)o$", r"\1oes"),
        (r"s$", "s"),
        (r"$", "s"),
    )
)


def pluralize(noun: str) -> str:
    """Return the plural of a noun; what ends in `s` mostly is one."""
    for pattern, replacement in _RULES:
        if pattern.search(noun):
            return pattern.sub(replacement, noun, count=1)
    return noun
