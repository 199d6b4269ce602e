"""Typed values of an app."""

import pytest
from flask import Flask

from app.state import AppState

names = AppState[list[str]]("names", factory=lambda app: [app.name])
number = AppState[int]("number")


def test_each_app_has_its_own_value():
    first, second = Flask("first"), Flask("second")
    number.set(first, 1)
    number.set(second, 2)

    assert (number.of(first), number.of(second)) == (1, 2)
    with second.app_context():
        assert number.current == 2


def test_a_factory_makes_the_value_of_an_app_once():
    app = Flask("first")
    names.of(app).append("more")

    assert names.of(app) == ["first", "more"]


def test_two_states_with_the_same_name_are_two():
    app = Flask("first")
    number.set(app, 1)
    AppState[int]("number").set(app, 2)

    assert number.of(app) == 1


def test_a_value_that_was_not_set_is_named_in_the_error():
    with pytest.raises(LookupError, match="the app has no number"):
        number.of(Flask("first"))


def test_there_is_no_current_value_without_an_app():
    with pytest.raises(RuntimeError, match="application context"):
        _ = number.current
