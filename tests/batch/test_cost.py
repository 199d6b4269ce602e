"""What a batch costs: its own statements, and the function calls of each call in it."""

import shutil

from benchmarks.batch import ALONE, CALLS, TOGETHER, count
from benchmarks.worst.measuring import make_environ, respond
from benchmarks.worst.service import serving
from tests.support.rows import statements

from .conftest import call


def test_a_call_in_a_batch_takes_a_third_fewer_function_calls_than_a_request(
    sqlite_template, tmp_path
):
    shutil.copy(sqlite_template, tmp_path / "worst.sqlite")
    with serving(tmp_path, f"sqlite:///{tmp_path}/worst.sqlite", 1) as (app, token):
        for request in (ALONE[0], *TOGETHER):
            respond(app, make_environ(request, token))

        alone, together = count(app, ALONE, token), count(app, TOGETHER, token)

    assert together < alone * 2 / 3


def test_a_batch_sends_the_statements_of_its_calls_in_one_transaction_and_one_for_the_token(todos):
    with statements(todos.app) as sent:
        # The same statement with the same values would be counted once.
        response = todos.batch(*(call("POST", "/todos", {"title": f"{n}"}) for n in range(CALLS)))

    assert response.status_code == 200
    token, begin, *inserts, commit = (statement.split()[0] for statement in sent)
    assert [token, begin, commit] == ["SELECT", "BEGIN", "COMMIT"]
    assert inserts == ["INSERT"] * CALLS
