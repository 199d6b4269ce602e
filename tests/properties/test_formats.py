"""Regular expressions of properties, and a bound of the work that they cause."""

import pytest
from marshmallow import ValidationError

from app.properties.validators import MAX_WAYS, Format, count_ways


@pytest.mark.parametrize(
    ("pattern", "length", "ways"),
    [
        ("^abc$", 100, 1),
        ("abc", 100, 100),
        ("^a*", 100, 100),
        ("^a*b+", 100, 10_000),
        ("^a?", 100, 2),
        ("^a{5}", 100, 1),
        ("^a{5,}", 100, 96),
        ("^a{2,5}", 100, 4),
        ("^(?:ab)+", 100, 100),
        ("^a|b", 100, 100),
        ("^(a|b)$", 100, 1),
        (r"^[\]*]\*", 100, 1),
    ],
)
def test_the_ways_to_divide_a_text(pattern, length, ways):
    assert count_ways(pattern, length) == ways


@pytest.mark.parametrize(
    ("pattern", "problem"),
    [
        ("(a+)+", "repeats a group"),
        ("((a*))?", "repeats a group"),
        ("(?=a)", "not supported"),
        (r"(a)\1", "not supported"),
        (r"\p{L}", "no regular expression"),
        ("a**", "no regular expression"),
        ("(", "no regular expression"),
        (".*.*.*x", "takes too long"),
    ],
)
def test_an_expression_that_may_take_long_is_refused(pattern, problem):
    with pytest.raises(ValueError, match=problem):
        Format(pattern, 1000)


@pytest.mark.parametrize(
    ("pattern", "text", "matches"),
    [
        ("b", "abc", True),
        ("/^b/", "abc", False),
        (r"^\d+$", "12", True),
        (r"^\d+$", "\u0661", False),
    ],
)
def test_a_text_is_searched(pattern, text, matches):
    check = Format(pattern, 100)

    assert check.ways <= MAX_WAYS
    if matches:
        assert check(text) == text
    else:
        with pytest.raises(ValidationError):
            check(text)
