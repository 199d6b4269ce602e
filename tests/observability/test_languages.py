"""The languages of Accept-Language headers and of tags."""

import pytest

from app.observability.origin import (
    MAX_LANGUAGES,
    MAX_LANGUAGES_HEADER,
    parse_languages,
    to_language,
)


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("", ()),
        ("de", ("de",)),
        ("de-AT, en;q=0.5, fr;q=0.8", ("de", "fr", "en")),
        ("de-AT, de-DE, de", ("de",)),
        ("DE", ("de",)),
        ("en;q=0, de", ("de",)),
        ("*, de;q=0.5", ("de",)),
        ("x, english, ../de, de", ("de",)),
        (f"de, en;q=0.5{' ' * MAX_LANGUAGES_HEADER}", ("de",)),
        ("aa, bb, cc, dd, ee, ff", ("aa", "bb", "cc", "dd", "ee")),
    ],
)
def test_the_languages_of_a_header(header, expected):
    assert parse_languages(header) == expected
    assert len(expected) <= MAX_LANGUAGES


@pytest.mark.parametrize(
    ("tag", "expected"),
    [
        ("de", "de"),
        ("de_DE", "de"),
        ("gsw-CH", "gsw"),
        ("d", None),
        ("germ", None),
        ("de/..", None),
        ("de\n", None),
        ("", None),
        (7, None),
        (None, None),
    ],
)
def test_the_language_of_a_tag(tag, expected):
    assert to_language(tag) == expected
