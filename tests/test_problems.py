"""Problems and warnings of settings and models, and words that are suggested."""

import pytest

from app.problems import MISSPELT, Problems, closest, join_path, suggest, type_name

KNOWN = ["strategy", "timeout", "maxLength"]


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("timeot", "timeout"),
        ("TIMEOUT", "timeout"),
        ("maxlength", "maxLength"),
        ("color", None),
        ("", None),
    ],
)
def test_a_similar_word_is_found(word, expected):
    assert closest(word, KNOWN) == expected
    assert suggest(word, KNOWN) == (f"; did you mean '{expected}'?" if expected else "")


def test_a_misspelt_word_is_more_similar_than_a_suggestion():
    assert closest("time", KNOWN) == "timeout"
    assert closest("time", KNOWN, MISSPELT) is None


@pytest.mark.parametrize(
    ("path", "key", "expected"),
    [("", "a", "a"), ("a", "b", "a.b"), ("a", 0, "a[0]"), ("a[0]", "b", "a[0].b")],
)
def test_the_path_of_a_key(path, key, expected):
    assert join_path(path, key) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, "null"),
        (True, "a boolean"),
        (1, "a number"),
        (1.5, "a number"),
        ("", "a string"),
        ({}, "an object"),
        ([], "a list"),
    ],
)
def test_the_name_of_a_type(value, expected):
    assert type_name(value) == expected


def test_problems_are_reported_once_and_in_their_order():
    problems = Problems()
    problems.add("b", "is wrong")
    problems.add("a[0].c", "is wrong too")
    problems.add("b", "is wrong")

    assert problems.found == ["b: is wrong", "a[0].c: is wrong too"]
    assert problems.describe("x") == "x cannot be used:\n  b: is wrong\n  a[0].c: is wrong too"
    assert [problems.has_error(path) for path in ("a", "a[0]", "a[0].c", "c", "a[1]")] == [
        *[True] * 3,
        *[False] * 2,
    ]


def test_unknown_keys_are_problems_if_they_are_misspelt_and_else_warnings():
    problems = Problems()

    problems.check_keys("x", ["timeout", "timeuot", "color", "old"], KNOWN, ignored=["old"])

    assert problems.found == ["x.timeuot: there is no such key; did you mean 'timeout'?"]
    assert problems.new_warnings() == ["x.color: is ignored"]
    assert problems.new_warnings() == []
