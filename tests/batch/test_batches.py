"""Several calls in one transaction: their answers, and what each sees of those before it."""


def test_calls_are_made_in_order_and_each_is_answered_as_if_it_were_sent_alone(api, batch, token):
    new = {"title": "Plan"}
    response = batch(
        {"id": "plan", "method": "POST", "path": "/todos", "body": new},
        {"method": "PATCH", "path": "/todos/{plan.id}", "body": {"desc": "Soon"}},
        {"method": "GET", "path": "/todos/count"},
    )

    created, changed, counted = response.json["responses"]
    alone = api("GET", f"/todos/{created['body']['id']}", token=token)
    assert response.status_code == 200
    assert created["id"] == "plan"
    assert (created["status"], created["body"]["title"]) == (200, "Plan")
    assert changed == {"id": None, "status": 200, "etag": alone.headers["ETag"], "body": alone.json}
    assert counted == {"id": None, "status": 200, "etag": None, "body": {"count": 1}}
