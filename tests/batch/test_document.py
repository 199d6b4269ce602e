"""The examples of docs/batch.md."""

import json

from tests.support.documents import blocks

REQUEST, RESPONSES, ERROR = map(json.loads, blocks("docs/batch.md", "json"))


def without_changing(answer):
    """Return an answer without what differs each time."""
    body = {name: value for name, value in answer["body"].items() if name != "created"}
    return {**answer, "etag": answer["etag"] and "...", "body": body}


def test_the_batch_of_the_document_has_the_documented_responses(todos):
    response = todos("POST", "/batch", REQUEST)

    assert response.status_code == 200
    assert list(map(without_changing, response.json["responses"])) == list(
        map(without_changing, RESPONSES["responses"])
    )
    assert [[*answer] for answer in response.json["responses"]] == [
        [*answer] for answer in RESPONSES["responses"]
    ]


def test_the_error_of_the_document_is_that_of_a_batch(todos):
    first, *_ = REQUEST["requests"]

    response = todos.batch(first, {"method": "POST", "path": "/todos", "body": {}})

    assert response.json == ERROR
