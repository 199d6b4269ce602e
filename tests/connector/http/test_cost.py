"""What a call costs, counted in function calls, beside the same call written with requests."""

import sys
from collections import Counter

import requests

# Relative to a call of requests.Session.
LIMIT = 1.05
TEMPLATE = {
    "url": "/echo/{format=json}",
    "headers": {"x-tenant": "{tenant}"},
    "query": {"address": "{^street},{city}", "sensor": "{sensor=false:boolean}"},
    "responsePath": "$.entries[0]",
}


def count_calls(work):
    """Return how many functions work calls once it has been warmed up, by sys.setprofile."""
    for _ in range(3):
        work()
    events = Counter()
    sys.setprofile(lambda _frame, event, _argument: events.update([event]))
    work()
    sys.setprofile(None)
    return events["call"] + events["c_call"]


def test_a_call_makes_as_many_function_calls_as_one_by_hand(connect, server):
    operation = {"template": TEMPLATE, "functions": {"geocode": ["street", "city", "tenant"]}}
    source = connect([operation])
    session = requests.Session()
    session.trust_env = False

    def by_hand():
        response = session.get(
            f"{server.url}/echo/json",
            params={"address": "107 S B St,San Mateo", "sensor": "false"},
            headers={"x-tenant": "a"},
            timeout=(5, 30),
        )
        response.raise_for_status()
        return response.json()["entries"][0]

    calls = count_calls(lambda: source.geocode("107 S B St", "San Mateo", "a"))

    assert calls <= LIMIT * count_calls(by_hand)
