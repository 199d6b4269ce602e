"""Properties in LoopBack's form: what cannot be used is named with its place."""

import pytest

from app.problems import Problems
from app.properties.declaration import Declaration
from app.properties.properties import column_name, read_property
from app.properties.validators import count_ways

PATH = "note.json: properties.x"
# A declaration, and the end of the problem or warning it has.
PROBLEMS = [
    ("strng", ".type: there is no type 'strng'; did you mean 'string'?"),
    ({"type": "string", "reqired": True}, ".reqired: there is no such key; did you mean 'requ"),
    ({"type": "string", "required": "maybe"}, ".required: must be true or false"),
    ({"type": "string", "length": "ten"}, ".length: must be a positive whole number"),
    ({"type": "string", "enum": "red"}, ".enum: must be a list of texts"),
    ({"type": "string", "enum": ["red"], "default": "green"}, ".default: must be one of red"),
    ({"type": "number", "default": "many"}, ".default: must be a number"),
    ({"type": "decimal", "precision": 4, "scale": 5}, ": a decimal has a precision of at most 18"),
    (
        {"type": "date", "defaultFn": "nwo"},
        ".defaultFn: 'nwo' is no function for a date; there are now",
    ),
    ({"type": "string", "validates": ["x"]}, ".validates: must be an object with length, format"),
    ({"type": "string", "validates": {"lenght": 1}}, ".validates.lenght: there is no such key; "),
    ({"type": "string", "validates": {"min": 1}}, ".validates.min: is for number, integer"),
    ({"type": "number", "validates": {"min": "a"}}, ".validates.min: 'a' must be a number"),
    ({"type": "number", "validates": {"in": [None]}}, ".validates.in: None can't be blank"),
    ({"type": "decimal", "validates": {"min": "a"}}, ".validates.min: 'a' must be a decimal like"),
    ({"type": "decimal", "validates": {"max": "1.005"}}, ".max: '1.005' has more than 2 decimals"),
    ({"type": "string", "validates": {"format": "^(a+)+$"}}, ".format: repeats a group that has a"),
    ({"type": "string", "validates": {"format": "("}}, ".format: is no regular expression: "),
    ({"type": "string", "validates": {"format": ".*.*x"}}, ".format: takes too long for texts of"),
    (False, ".type: must be one of string, decimal, array"),
]
WARNINGS = [
    ({"type": "string", "color": "red"}, ".color: is ignored"),
    ({"type": "string", "length": 100_000}, ".length: a text has at most 10000 characters"),
    ({"type": {"city": "string"}}, ".type: what is inside the object is not checked"),
    ("Image", ".type: 'Image' is taken as an object, and its inside not checked"),
]


@pytest.mark.parametrize(("declared", "problem"), PROBLEMS)
def test_a_problem_names_its_place_and_what_may_be_meant(declared, problem):
    problems = Problems()

    read_property("x", Declaration(declared, problems, PATH))

    [found] = problems.found
    assert found.startswith(PATH)
    assert problem in found


@pytest.mark.parametrize(("declared", "warning"), WARNINGS)
def test_what_is_ignored_is_a_warning(declared, warning):
    problems = Problems()

    assert read_property("x", Declaration(declared, problems, PATH))

    assert (problems.found, problems.warnings) == ([], [PATH + warning])


@pytest.mark.parametrize("name", ["a.b", "and", "", "1st", "x" * 64])
def test_a_name_must_be_usable_in_filters(name):
    problems = Problems()

    assert read_property(name, Declaration("string", problems, PATH)) is None
    assert len(problems.found) == 1


@pytest.mark.parametrize(
    ("name", "column"),
    [
        ("ownerId", "owner_id"),
        ("HTTPServer", "http_server"),
        ("qr-code", "qr_code"),
        ("class", "class_"),
        ("$x", "x"),
    ],
)
def test_columns_are_named_in_snake_case(name, column):
    assert column_name(name) == column


@pytest.mark.parametrize(
    ("pattern", "ways"),
    [
        (r"^\d{5}$", 1),
        (r"^[A-Z]{2,3}-?\d+$", 2 * 2 * 100),
        (r"\d+", 100 * 100),
        (r"^a|b$", 100),
        (r"^(\w+)@(\w+)\.(com|org)$", 100 * 100),
    ],
)
def test_the_work_of_an_expression_is_bounded_by_its_repetitions(pattern, ways):
    assert count_ways(pattern, 100) == ways
