"""The shop moves: its users go on with their tokens, and get the answers of LoopBack 3.

What LoopBack 3 stored and answered is recorded, by `python -m tests.loopback.record shop`.
"""

import json

import pytest

from tests.loopback.comparison import differences
from tests.loopback.loopback3 import copy_application
from tests.loopback.restored import fresh_dump, restore
from tests.loopback.sources import DATA_SOURCES

from .drill import APPLICATION, KNOWN, SOURCE, import_and_call, named

pytestmark = pytest.mark.live


def test_users_of_two_models_with_the_same_ids_go_on_with_their_tokens(tmp_path):
    recorded = json.loads(SOURCE.answers.read_text())
    kept, project = recorded["kept"], tmp_path / "project"
    tokens = [value for name, value in kept.items() if name.startswith("token")]
    copy_application(tmp_path / "imported", "integer", DATA_SOURCES["mariadb"], source=APPLICATION)
    project.mkdir()

    with restore(SOURCE, fresh_dump(SOURCE, tokens), tmp_path, "") as data:
        url = f"sqlite:///{project}/moved.sqlite"
        after, new_ids = import_and_call(tmp_path / "imported", data, project, url, kept)

    assert new_ids["Customer"] == {}
    assert new_ids["Staff"].keys() == {"1", "2", "3"}
    answers = named(recorded["answers"], recorded["later"]), named(*after)
    assert "\n".join(differences(*answers, KNOWN)) == ""
