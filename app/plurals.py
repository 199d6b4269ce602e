"""English plurals as in npm's package `inflection`, which LoopBack 3 uses."""

import re

_UNCOUNTABLE = """
accommodation adulthood advertising advice aggression aid air aircraft alcohol anger applause
arithmetic assistance athletics bacon baggage beef biology blood botany bread butter carbon
cardboard cash chalk chaos chess crossroads countryside dancing deer dignity dirt dust economics
education electricity engineering enjoyment envy equipment ethics evidence evolution fame fiction
flour flu food fuel fun furniture gallows garbage garlic genetics gold golf gossip gratitude grief
guilt gymnastics happiness hardware harm hate hatred health heat help homework honesty honey
hospitality housework humour hunger hydrogen ice importance inflation information innocence iron
irony jam jewelry judo karate knowledge lack laughter lava leather leisure lightning linguine
linguini linguistics literature litter livestock logic loneliness luck luggage macaroni machinery
magic management mankind marble mathematics mayonnaise measles methane milk minus money mud music
mumps nature news nitrogen nonsense nurture nutrition obedience obesity oxygen pasta patience
physics poetry pollution poverty pride psychology publicity punctuation quartz racism relaxation
reliability research respect revenge rice rubbish rum safety scenery seafood seaside series shame
sheep shopping sleep smoke smoking snow soap software soil spaghetti species steam stuff stupidity
sunshine symmetry tennis thirst thunder timber traffic transportation trust underwear unemployment
unity validity veal vegetation vegetarianism vengeance violence vitality warmth wealth weather
welfare wheat wildlife wisdom yoga zinc zoology
"""
_FLAGS = re.ASCII | re.IGNORECASE | re.VERBOSE
# Words that are their own plural, and endings of words that are already plural.
_UNCHANGED = re.compile(
    rf"""
    ^oxen | (
      ^({"|".join(_UNCOUNTABLE.split())})
      | ^(m|wom)en | people | children | [m|l]ice | [ti]a | ^(feet|teeth|geese|genera)
      | (analy|ba|diagno|parenthe|progno|synop|the|databa)ses | (cris|test|octopus|virus|bus)es
      | (x|ch|ss|sh|o|alias|canvas|status|campus|quizz|matric|^summons|^bonus|^whereas)es
      | [^fo]ves | ([^aeiouy]|qu)ies
    )\Z""",
    _FLAGS,
)
# The first expression that matches the end of a word determines the replacement.
_ENDINGS = tuple(
    (re.compile(rf"{ending}\Z", _FLAGS), plural)
    for ending, plural in (
        (r"^(m|wom)an", r"\1en"),
        (r"(pe)rson", r"\1ople"),
        (r"(child)", r"\1ren"),
        (r"^(ox)", r"\1en"),
        (r"(ax|test)is", r"\1es"),
        (r"(octop|vir)us", r"\1uses"),
        (r"(alias|status|canvas|campus)", r"\1es"),
        (r"^(summons|bonus)", r"\1es"),
        (r"(bu)s", r"\1ses"),
        (r"(buffal|tomat|potat)o", r"\1oes"),
        (r"([ti])um", r"\1a"),
        (r"sis", "ses"),
        (r"(?:([^f])fe|([lr])f)", r"\1\2ves"),
        (r"(hi|ti)ve", r"\1ves"),
        (r"([^aeiouy]|qu)y", r"\1ies"),
        (r"(matr)ix", r"\1ices"),
        (r"(vert|ind)ex", r"\1ices"),
        (r"(x|ch|ss|sh)", r"\1es"),
        (r"([m|l])ouse", r"\1ice"),
        (r"^foot", "feet"),
        (r"^tooth", "teeth"),
        (r"^goose", "geese"),
        (r"(quiz)", r"\1zes"),
        (r"^(whereas)", r"\1es"),
        (r"^(criteri)on", r"\1a"),
        (r"^genus", "genera"),
        (r"s?", "s"),
    )
)


def pluralize(name: str) -> str:
    """Return the plural of a name such as `Category`, `orderItem` or `Person`."""
    if _UNCHANGED.search(name):
        return name
    ending, plural = next(rule for rule in _ENDINGS if rule[0].search(name))
    return ending.sub(plural, name, count=1)
