"""What workshops have beyond their properties: the positions of an address."""

from typing import Any

from flask import request

from ostiary import fields
from ostiary.datasources import data_source
from ostiary.resources import Resource
from ostiary.rules import READ


class PositionsSchema(fields.Schema):
    """The positions that an address may have."""

    positions = fields.Array(dict)


def extend(workshops: Resource) -> None:
    """Add the endpoint to the model."""
    address = {"name": "address", "in": "query", "required": True, "schema": {"type": "string"}}

    @workshops.endpoint("locate", READ, "GET /locate", answer=PositionsSchema, parameters=[address])
    def locate() -> dict[str, Any]:
        """Find the positions of an address."""
        return {"positions": data_source("geocoder").geocode(request.args["address"])}
