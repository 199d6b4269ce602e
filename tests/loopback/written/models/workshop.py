"""What the JavaScript of Workshop does."""

from typing import Any

from flask import request

from ostiary.datasources import data_source
from ostiary.resources import Resource
from ostiary.rules import READ


def locate() -> dict[str, Any]:
    """Find the positions of an address."""
    return {"positions": data_source("geocoder").geocode(request.args["address"])}


def extend(resource: Resource) -> None:
    """Add what the JavaScript of Workshop does."""
    positions = {"type": "array", "items": {"type": "object"}}
    address = {"name": "address", "in": "query", "required": True, "schema": {"type": "string"}}
    resource.endpoint(
        "locate",
        READ,
        "GET /locate",
        answer={"type": "object", "properties": {"positions": positions}},
        parameters=[address],
    )(locate)
