"""The forms of ids: what is one, in paths and in JSON."""

import pytest

from app.ids import FORMS, INTEGER, MAX_TEXT_ID, OBJECT_ID, UUID, text_form

UPPER = "018C5A3E-7D2B-7C1A-9F00-3B1D2E4F5A6B"


@pytest.mark.parametrize(
    ("form", "text", "expected"),
    [
        (INTEGER, "1", 1),
        (INTEGER, "9" * 18, 10**18 - 1),
        (INTEGER, "9" * 19, None),
        (INTEGER, "0", None),
        (INTEGER, "01", None),
        (INTEGER, "-1", None),
        (INTEGER, "1\n", None),
        (INTEGER, "\u0661", None),
        (UUID, UPPER, UPPER.lower()),
        (UUID, UPPER.replace("-", ""), None),
        (UUID, f"{{{UPPER}}}", None),
        (OBJECT_ID, "507F1F77BCF86CD799439011", "507f1f77bcf86cd799439011"),
        (OBJECT_ID, "507f1f77bcf86cd79943901", None),
        (text_form(), "a b", "a b"),
        (text_form(), "", None),
        (text_form(), ".", None),
        (text_form(), "..", None),
        (text_form(), "...", "..."),
        (text_form(), "a\x00", None),
        (text_form(), "\ud800", None),
        (text_form(), "x" * (MAX_TEXT_ID + 1), None),
        (text_form(3), "four", None),
    ],
)
def test_the_id_of_a_path(form, text, expected):
    assert form.parse(text) == expected


@pytest.mark.parametrize(
    ("form", "value", "expected"),
    [
        (INTEGER, 7, 7),
        (INTEGER, True, None),
        (INTEGER, 7.0, None),
        (INTEGER, "7", None),
        (INTEGER, 2**53 - 1, 2**53 - 1),
        (INTEGER, 2**53, None),
        pytest.param(INTEGER, 10**5000, None, id="5001 digits"),
        (UUID, UPPER, UPPER.lower()),
        (UUID, 7, None),
        (text_form(), "7", "7"),
        (text_form(), None, None),
    ],
)
def test_the_id_of_a_json_value(form, value, expected):
    assert form.parse_json(value) == expected


@pytest.mark.parametrize("form", [*FORMS.values(), text_form()], ids=lambda form: form.name)
def test_examples_and_generated_ids_are_of_the_form(form):
    generated = [form.generate()] * 2 if form.generate else []

    for found in (form.example, *generated):
        assert form.parse_json(found) == found


def test_text_that_is_too_short_for_a_generated_id_is_given_by_clients():
    assert text_form(35).generate is None
    assert text_form(36).generate is not None
