"""Fixtures: a geocoder data source whose remote is the connector tests' HTTP server."""

import pytest

from tests.connector.conftest import connect, http_server, server  # noqa: F401 fixtures

LOCATION = {"lat": 37.56, "lng": -122.32}


@pytest.fixture
def geo(server):  # noqa: F811
    """The settings of a public data source with one function."""
    server.routes["geocode"] = lambda handler: handler.reply(
        {"results": [{"geometry": {"location": LOCATION}}]}
    )
    return {
        "connector": "rest",
        "baseURL": server.url,
        "public": True,
        "options": {"headers": {"x-api-key": "a planted secret"}, "timeout": 20_000},
        "operations": [
            {
                "template": {
                    "method": "GET",
                    "url": "/geocode/{format=json}",
                    "headers": {"x-tenant": "{tenant}"},
                    "query": {"address": "{^street},{city}", "floor": "{floor:number}"},
                    "responsePath": "$.results[0].geometry.location",
                    "responseSelect": "first",
                },
                "functions": {
                    "geocode": ["street", "city", "floor", "tenant"],
                    "inFormat": ["format", "street"],
                },
            },
            {
                "template": {"method": "POST", "url": "/echo", "body": {"note": "{!note}"}},
                "functions": {"note": ["note"]},
            },
            {
                "template": {"method": "GET", "url": "/status/{!code:number}"},
                "functions": {"status": ["code"]},
            },
            {
                "template": {"method": "GET", "url": "/slow", "timeout": 100},
                "functions": {"slow": []},
            },
        ],
    }
