"""The template language: the interface's table and the reference's cases."""

from __future__ import annotations

import datetime
import decimal
import enum
import uuid
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.connector import (
    ConfigError,
    MissingVariableError,
    Template,
    VariableError,
    VariableTypeError,
)
from app.connector.template import scan

INTERFACE = [
    ("{x=100:number}", {}, 100),
    ("{x=100:number}", {"x": 7}, 7),
    ("{x:number}", {"x": "12"}, 12),
    ("{x:number}", {}, None),
    ("{x}", {"x": "a"}, "a"),
    ("{x}", {}, None),
    ("{x=100}ABC{y}123", {"x": 50, "y": "YYY"}, "50ABCYYY123"),
    ("{x=100}ABC{y}123", {"y": "YYY"}, "100ABCYYY123"),
    ("{x=100}ABC{y}123", {}, "100ABC123"),
    ("{!x}", {"x": 1}, 1),
    ("{x=100}ABC{^y}123", {"y": 9}, "100ABC9123"),
]


@pytest.mark.parametrize(("text", "values", "expected"), INTERFACE)
def test_definition_of_the_interface_builds(text, values, expected):
    assert Template(text).build(values) == expected


@pytest.mark.parametrize("text", ["{!x}", "{^x}", "a{!x}", "{x}{^x}", "{!x:number}"])
def test_required_variable_without_value_is_refused(text):
    with pytest.raises(MissingVariableError, match=r"^Required variable x has no value$"):
        Template(text).build({"x": None})


GRAMMAR = [
    ("{x=1}", {}, "1"),
    ("{!x=7}", {}, "7"),
    ("{x =5}", {}, "5"),
    ("{x= 5}", {}, " 5"),
    ("{x=}", {}, ""),
    ("{x=a b c}", {}, "a b c"),
    ("{x=1,2}", {}, "1,2"),
    ("{x=a=b}", {}, "a=b"),
    ("{x=http://a:80}", {}, "http://a:80"),
    ("{b=id:7digital-UK}", {}, "id:7digital-UK"),
    ("{x={a}}", {}, "{a}"),
    ('{x={"a":1}:json}', {}, {"a": 1}),
    ("{c=[99]:json}", {}, [99]),
    ("{c=5:json}", {}, 5),
    ('{c="s":json}', {}, "s"),
    ("{x=a:string}", {}, "a"),
    ("{x=a:banana}", {}, "a:banana"),
    ("{{x}}", {"x": 1}, "{1}"),
    ("${x}", {"x": 1}, "$1"),
    ("\\{x}", {"x": 1}, "\\1"),
    ("{$p}{_x}", {"$p": 1, "_x": 2}, "12"),
    ("{x} ", {"x": 5}, "5 "),
    ("{x:number}{y:number}", {"x": 1, "y": 2}, "12"),
    ("a{x}", {"x": True}, "atrue"),
    ("a{x}", {"x": [1, 2]}, "a1,2"),
    ("a{x}", {"x": 1.0}, "a1"),
    ("a{x}", {"x": 1.5}, "a1.5"),
    ("Bearer {t}", {}, "Bearer "),
    ("{x=5:int}", {}, 5),
    ("{x:Number}", {"x": "5"}, 5),
    ("{x:banana}", {"x": [5]}, [5]),
    ("{x:string}", {"x": 5}, 5),
    ("{x}", {"x": {"a": [1]}}, {"a": [1]}),
    ("{x=5}", {"x": 0}, 0),
    ("{x=5}", {"x": False}, False),
    ("{x=5}", {"x": ""}, ""),
    ("{!x}", {"x": ""}, ""),
    ("{x}", {"x": "{y}"}, "{y}"),
    ("a{x}{y=1}", {"x": "{y}"}, "a{y}1"),
    ("{a={b}", {}, "{a="),
    ("/{x=1}{x}", {}, "/11"),
    ("{constructor}", {}, None),
    ("a{toString}", {}, "a"),
]


@pytest.mark.parametrize(("text", "values", "expected"), GRAMMAR)
def test_text_builds(text, values, expected):
    built = Template(text).build(values)

    assert built == expected
    assert type(built) is type(expected)


@pytest.mark.parametrize(
    "text",
    [
        "{!^x}",
        "{1x}",
        "{x-y}",
        "{x.y}",
        "{ x }",
        "{x",
        "{}",
        "{naïve}",
        "{x+y}{|}{0a}{=4}",
        "{x: number}",
        "{x:}",
        "{x=unclosed",
        "plain",
        "",
        "}{",
        "{color:#fff}",
    ],
)
def test_text_that_is_no_variable_stays(text):
    template = Template(text)

    assert template.build({"x": 1}) == text
    assert template.variables == {}


CONVERSIONS = [
    ("number", "12", 12),
    ("number", "1e3", 1000),
    ("number", " 7 ", 7),
    ("number", "1.0", 1),
    ("number", "-.5", -0.5),
    ("number", 1.5, 1.5),
    ("number", decimal.Decimal("2.50"), 2.5),
    ("number", "12345678901234567890123", 12345678901234567890123),
    ("number", 0, 0),
    ("integer", "3", 3),
    ("integer", 3.0, 3),
    ("boolean", "true", True),
    ("boolean", "FALSE", False),
    ("boolean", "1", True),
    ("boolean", "0", False),
    ("boolean", 1, True),
    ("boolean", 0, False),
    ("boolean", False, False),
    ("object", '{"a": 1}', {"a": 1}),
    ("object", {"a": 1}, {"a": 1}),
    ("array", "[1]", [1]),
    ("array", [1], [1]),
    ("array", (1, 2), (1, 2)),
    ("json", "null", None),
    ("json", 5, 5),
    ("json", '"x"', "x"),
    ("any", "5", "5"),
    ("string", True, True),
]


@pytest.mark.parametrize(("kind", "value", "expected"), CONVERSIONS)
def test_declared_type_converts(kind, value, expected):
    built = Template(f"{{x:{kind}}}").build({"x": value})

    assert built == expected
    assert type(built) is type(expected)


REFUSED = [
    ("number", "abc"),
    ("number", ""),
    ("number", True),
    ("number", [5]),
    ("number", "0x10"),
    ("number", "nan"),
    ("number", float("inf")),
    ("number", "1e999"),
    ("number", "1_0"),
    ("number", "٣"),
    pytest.param("number", "9" * 5000, id="long"),
    ("integer", "1.5"),
    ("integer", 1.5),
    ("boolean", "no"),
    ("boolean", ""),
    ("boolean", 2),
    ("boolean", None.__class__),
    ("object", "[1]"),
    ("object", "{"),
    ("object", 5),
    ("array", "{}"),
    ("array", "x"),
    ("json", "{bad"),
    ("json", "NaN"),
    pytest.param("json", "[" * 100_000, id="deep"),
]


@pytest.mark.parametrize(("kind", "value"), REFUSED)
def test_value_that_does_not_fit_its_type_is_refused(kind, value):
    with pytest.raises(VariableTypeError, match=r"^Variable x must be an? ?|JSON"):
        Template(f"{{x:{kind}}}").build({"x": value})


def test_refusal_names_variable_type_and_value():
    with pytest.raises(VariableTypeError, match=r"^Variable x must be a number, got 'abc'$"):
        Template("{x:number}").build({"x": "abc"})


def test_refusal_of_a_secret_does_not_show_it():
    template = Template("{x:number}", {"x": {"secret": True, "type": "number"}})

    with pytest.raises(VariableTypeError, match=r"^Variable x must be a number$"):
        template.build({"x": "hunter2"})


class Colour(enum.Enum):
    RED = "red"


class Level(enum.IntEnum):
    HIGH = 3


TEXTS = [
    (datetime.date(2026, 1, 2), "2026-01-02"),
    (datetime.datetime(2026, 1, 2, 3, 4, tzinfo=datetime.UTC), "2026-01-02T03:04:00.000Z"),
    (uuid.UUID(int=1), "00000000-0000-0000-0000-000000000001"),
    (Colour.RED, "red"),
    (Level.HIGH, "3"),
    (decimal.Decimal("1.10"), "1.10"),
    (1e21, "1e+21"),
    ([None, [1, True]], ",1,true"),
]


@pytest.mark.parametrize(("value", "text"), TEXTS)
def test_value_in_a_text_is_written_plainly(value, text):
    assert Template("<{x}>").build({"x": value}) == f"<{text}>"


@pytest.mark.parametrize("value", [{"a": 1}, object(), float("nan"), b"x", [10**5000], [{}]])
def test_value_that_has_no_text_is_refused_inside_a_text(value):
    with pytest.raises(VariableTypeError, match="Variable x cannot be written as text"):
        Template("<{x}>").build({"x": value})


BAD_AT_LOAD = [
    ("{x=:number}", "invalid default: Variable x must be a number, got ''"),
    ("{x=bad:json}", "invalid default"),
    ("{x:path}", "is only for the url"),
]


@pytest.mark.parametrize(("text", "message"), BAD_AT_LOAD)
def test_definition_that_cannot_work_is_a_configuration_error(text, message):
    with pytest.raises(ConfigError, match=message):
        Template(text)


def test_default_declared_once_applies_everywhere():
    template = Template({"a": "/{x=1}", "b": "{x}"})

    assert template.build({}) == {"a": "/1", "b": "1"}


def test_required_anywhere_is_required_everywhere():
    assert Template(["{!x}", "{x}"]).variables["x"].required


def test_structures_are_walked_and_made_anew():
    template = Template({"a": ["{x}", {"b": "{y=2:number}"}], "c": 3, "d": None})

    first, second = template.build({"x": 1}), template.build({"x": 5})

    assert first == {"a": [1, {"b": 2}], "c": 3, "d": None}
    assert second["a"][0] == 5


def test_default_structure_is_not_shared_between_builds():
    template = Template("{x=[]:array}")
    template.build({}).append(1)

    assert template.build({}) == []


def test_key_holds_variables():
    assert Template({"{k}": 1, "a-{k}": 2}).build({"k": "z"}) == {"z": 1, "a-z": 2}


@pytest.mark.parametrize("value", [None, ""])
def test_missing_variable_in_a_key_is_refused(value):
    with pytest.raises(VariableError, match="object key"):
        Template({"{k}": 1}).build({"k": value})


def test_key_value_is_not_scanned_again():
    assert Template({"{k}": "{x=1}"}).build({"k": "{x}"}) == {"{x}": "1"}


def test_variables_section_declares_more():
    section = {"x": {"type": "number", "default": 3, "doc": "how many", "enum": [3, 4]}}
    variable = Template("{x}", section).variables["x"]

    assert (variable.type, variable.default, variable.doc) == ("number", 3, "how many")
    assert variable.enum == (3, 4)


def test_variables_section_can_make_required():
    with pytest.raises(MissingVariableError):
        Template("{x}", {"x": {"required": True}}).build({})


def test_value_outside_the_enum_is_refused():
    with pytest.raises(VariableTypeError, match="must be one of 'a', 'b', got 'c'"):
        Template("{x}", {"x": {"enum": ["a", "b"]}}).build({"x": "c"})


def test_default_outside_the_enum_is_a_configuration_error():
    with pytest.raises(ConfigError, match="invalid default"):
        Template("{x=c}", {"x": {"enum": ["a", "b"]}})


@given(st.text())
@settings(deadline=None)
def test_scanner_raises_nothing_but_a_configuration_error(text):
    with suppress(ConfigError):
        Template(text)


@given(st.text(alphabet="{}!^=:x1 _$number"))
@settings(max_examples=300, deadline=None)
def test_template_with_odd_braces_builds_or_is_refused(text):
    with suppress(ConfigError, VariableTypeError):
        template = Template(text)
        template.build(dict.fromkeys(template.variables, 1))


@given(st.text().filter(lambda text: "{" not in text))
@settings(deadline=None)
def test_text_without_variables_comes_back_unchanged(text):
    assert Template(text).build({"x": 1}) == text


@given(st.text(), st.text(), st.text())
@settings(deadline=None)
def test_value_is_put_in_once_and_never_scanned(before, value, after):
    before, after = before.replace("{", ""), after.replace("{", "")

    assert (
        Template(before + "{x}" + after + "|").build({"x": value}) == before + value + after + "|"
    )


class CountedText(str):
    """A text that counts how often characters or parts of it are read."""

    reads = 0

    def __getitem__(self, key):
        self.reads += 1
        return super().__getitem__(key)


def test_braces_that_are_never_closed_are_searched_once():
    text = CountedText("{a=" * 1000 + "{b=1}")

    pieces = scan(text)

    assert (pieces[0], pieces[1].name, len(pieces)) == ("{a=" * 1000, "b", 2)
    assert text.reads == 2
