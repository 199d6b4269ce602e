"""The OpenAPI document describes each model of users by its own properties."""

from .shop import STAFF_PATH


def test_the_document_has_the_properties_of_each_model(api):
    document = api("GET", "/openapi.json").json
    schemas, paths = document["components"]["schemas"], document["paths"]

    assert schemas["Staff"]["properties"].keys() >= {"badge", "level", "shopId", "email"}
    assert "phone" not in schemas["Staff"]["properties"]
    assert schemas["User"]["properties"].keys() >= {"phone", "level", "email"}
    assert "badge" not in schemas["User"]["properties"]
    assert schemas["StaffLogin"]["properties"]["user"] == {"$ref": "#/components/schemas/Staff"}
    assert "principalType" in schemas["Login"]["properties"]
    for call in ("/login", "/logout", "/reset", "/reset-password", "/change-password"):
        assert f"{STAFF_PATH}{call}" in paths
    created = paths[STAFF_PATH]["post"]["responses"]["200"]["content"]["application/json"]
    assert "Staff" in str(created["schema"])
