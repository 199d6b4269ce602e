"""The plurals of `app.plurals` are those of `inflection` 1.13.4, which LoopBack 3 installs."""

import json
from pathlib import Path

from app.plurals import pluralize

# What `inflection.pluralize` returns for each name: words that are uncountable or irregular, words
# for each of its rules, their compounds, and names of models in public applications.
PLURALS = json.loads(Path(__file__).with_name("plurals.json").read_text())


def test_plurals_are_those_of_inflection():
    assert {name: pluralize(name) for name in PLURALS} == PLURALS
