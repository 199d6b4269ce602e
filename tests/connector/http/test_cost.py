"""The cost of a call, in function calls, beside the same call written with requests."""

import requests

from benchmarks.connector import ADDRESS, BODY, FUNCTIONS, TEMPLATE, by_hand, count_calls

# Relative to a call of requests.Session.
LIMIT = 1.05


def test_a_call_makes_as_many_function_calls_as_one_by_hand(connect, server):
    server.routes["geocode"] = lambda handler: handler.reply(BODY)
    source = connect([{"template": TEMPLATE, "functions": FUNCTIONS}])
    session = requests.Session()
    session.trust_env = False
    works = [lambda: source.geocode(**ADDRESS), lambda: by_hand(session, server.url)]

    # The first call opens the connection.
    given = [work() for work in works]
    ours, theirs = (count_calls(work) for work in works)

    assert given[0] == given[1]
    assert ours <= LIMIT * theirs
