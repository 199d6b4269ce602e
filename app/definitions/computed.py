"""Computed properties of models in JSON, as declared: functions of related rows."""

from collections.abc import Mapping
from dataclasses import dataclass

from app.problems import suggest
from app.properties.declaration import Declaration
from app.properties.properties import KEYS as PROPERTY_KEYS
from app.properties.properties import NOTES, column_name, name_problem

COMPUTED, WHERE, VISIBLE = "computed", "where", "visibleToCaller"
COUNT = "count"
FUNCTIONS = (COUNT, "sum", "min", "max")
KEYS = (*FUNCTIONS, WHERE, VISIBLE)
# The keys of a property beside `computed`; others are about values that are stored.
BESIDE = (COMPUTED, "description", "hidden", "readOnly")
FORMS = {
    True: "must be the name of a relation",
    False: "must be a relation and a property of its rows, as in signUps.hours",
}
WORDS = {COUNT: "number", "sum": "sum", "min": "smallest", "max": "largest"}


@dataclass(frozen=True)
class DeclaredComputed:
    """A computed property as declared; what it names is not checked."""

    # The place of `computed`.
    declared: Declaration
    name: str
    word: str
    relation: str
    # The property of the related rows; empty for their number.
    argument: str
    is_hidden: bool
    description: str

    @property
    def column(self) -> str:
        """The attribute of rows with the value."""
        return column_name(self.name)

    @property
    def argument_place(self) -> Declaration:
        """The place of the function."""
        return self.declared[self.word]

    @property
    def is_visible_to_caller(self) -> bool:
        """Whether only rows count that the caller may read."""
        return self.declared.mapping.get(VISIBLE) is True


def is_computed(declared: Declaration) -> bool:
    """Return True if a property is computed."""
    return COMPUTED in declared.mapping


def read_all_computed(properties: Mapping[str, Declaration]) -> dict[str, DeclaredComputed]:
    """Read the computed properties of a model; report invalid ones."""
    read = {name: _read(name, property_) for name, property_ in properties.items()}
    return {name: computed for name, computed in read.items() if computed is not None}


def _read(name: str, property_: Declaration) -> DeclaredComputed | None:
    """Read a property such as `{"computed": {"count": "signUps"}}`; None if it is invalid."""
    declared = property_[COMPUTED]
    words = [word for word in FUNCTIONS if word in declared.mapping]
    if len(words) != 1:
        declared.add(
            f'must be an object with one of {", ".join(FUNCTIONS)}: {{"count": "signUps"}}'
        )
        return None
    [word] = words
    problems = _problems(name, word, property_)
    for place, problem in problems:
        place.add(problem)
    declared.check_keys(KEYS)
    if problems:
        return None
    given = str(declared.mapping[word])
    relation, _, argument = given.partition(".")
    text = property_.text("description") or f"Computed: the {WORDS[word]} of {given}."
    is_hidden = property_.flag("hidden")
    return DeclaredComputed(declared, name, word, relation, argument, is_hidden, text)


def _problems(name: str, word: str, property_: Declaration) -> list[tuple[Declaration, str]]:
    """Return what is wrong with a computed property, with the places."""
    declared, found = property_[COMPUTED], list[tuple[Declaration, str]]()
    for key in sorted(property_.mapping.keys() - {*BESIDE, *NOTES}):
        known = "a computed property has none: no value is stored" if key in PROPERTY_KEYS else ""
        found.append((property_[key], known or f"there is no such key{suggest(key, BESIDE)}"))
    if problem := name_problem(name, column_name(name)):
        found.append((property_, problem))
    given = declared.mapping[word]
    relation, _, argument = given.partition(".") if isinstance(given, str) else ("", "", "")
    if not relation or bool(argument) == (word == COUNT):
        found.append((declared[word], FORMS[word == COUNT]))
    if not isinstance(declared.mapping.get(WHERE, {}), Mapping):
        found.append((declared[WHERE], "must be an object"))
    if not isinstance(declared.mapping.get(VISIBLE, False), bool):
        found.append((declared[VISIBLE], "must be true or false"))
    return found
