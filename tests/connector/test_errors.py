"""Errors that replace those of libraries hold nothing of them."""

from __future__ import annotations

import pytest

from app.connector import ConnectError, ConnectorError, Template, VariableTypeError
from app.connector.errors import translate_errors


def test_translated_error_has_no_context():
    def refused(_error):
        return ConnectError("no number")

    with pytest.raises(ConnectError) as caught, translate_errors(ValueError, refused):
        int("s3cret")

    assert caught.value.__context__ is None
    assert caught.value.__cause__ is None


def test_other_errors_and_our_own_pass():
    with pytest.raises(KeyError), translate_errors(ValueError, ConnectError):
        {}["a"]
    with pytest.raises(VariableTypeError), translate_errors(ValueError, ConnectError):
        raise VariableTypeError("is a ValueError too")


@pytest.mark.parametrize(
    ("source", "value"),
    [("{a:number}", "s3cret"), ("{a:json}", "{s3cret"), ("{a} {b}", ["s3cret", object()])],
)
def test_error_of_a_variable_does_not_refer_to_its_value(source, value):
    template = Template(source, {"a": {"secret": True}})

    with pytest.raises(ConnectorError) as caught:
        template.build({"a": value})

    assert caught.value.__context__ is None
    assert "s3cret" not in str(caught.value)
