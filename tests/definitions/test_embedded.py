"""Relations of models in JSON that are a property of the row: embedded objects, lists of ids."""

import pytest

from tests.answers import field_codes

CUSTOMER = {
    "name": "Customer",
    "properties": {"name": "string", "emailList": ["object"]},
    "relations": {
        "address": {"type": "embedsOne", "model": "Address", "property": "billingAddress"},
        "phone": {"type": "embedsOne", "model": "Phone"},
        "emails": {"type": "embedsMany", "model": "EmailAddress", "property": "emailList"},
        "links": {"type": "embedsMany", "model": "Link"},
        "accounts": {"type": "referencesMany", "model": "Account", "foreignKey": "accountIds"},
        "favourites": {"type": "referencesMany", "model": "BookShop"},
        "linked": {"type": "belongsTo", "polymorphic": {"idType": "number"}},
        "pictures": {"type": "hasMany", "model": "Customer", "polymorphic": "imageable"},
    },
    "acls": [{"principalType": "ROLE", "principalId": "$authenticated", "permission": "ALLOW"}],
}
ADA = {
    "name": "Ada",
    "billingAddress": {"city": "Berlin"},
    "_phone": None,
    "emailList": [{"email": "ada@example.com"}],
    "_links": [],
    "accountIds": [1, 7],
    "bookShopIds": ["5f0c"],
}


@pytest.fixture
def customers(serve):
    api = serve({"customer": CUSTOMER})
    token = api.newcomer()

    def call(verb, path="", body=None):
        return api(verb, f"/customers{path}", body, token=token)

    call.app = api.client.application
    return call


def test_what_is_embedded_is_a_property_of_the_row(customers):
    created = customers("POST", "", ADA)

    assert created.json == {"id": 1, **ADA}
    assert customers("PATCH", "/1", {"_phone": {"area": 30}}).json["_phone"] == {"area": 30}
    for name, value in [("billingAddress", []), ("_links", {}), ("accountIds", 7)]:
        assert field_codes(customers("POST", "", {name: value})) == {name: ["invalid"]}


@pytest.mark.parametrize(
    ("where", "count"),
    [
        ('{"billingAddress.city":"Berlin"}', 1),
        ('{"accountIds":7}', 1),
        ('{"accountIds":{"inq":[2,3]}}', 0),
        ('{"bookShopIds":"5f0c"}', 1),
        ('{"bookShopIds":7}', 0),
    ],
)
def test_rows_are_found_by_what_is_embedded(customers, where, count):
    customers("POST", "", ADA)

    assert customers("GET", f"/count?where={where}").json == {"count": count}


def test_neither_embedded_nor_polymorphic_relations_have_endpoints(customers):
    customers("POST", "", ADA)
    relations = CUSTOMER["relations"]

    for name in relations:
        assert customers("GET", f"/1/{name}").status_code == 404
        assert customers("GET", f"/1?filter[include]={name}").status_code == 400
    warnings = customers.app.extensions["json_models"].problems.warnings
    assert len(warnings) == len(relations)
    refused = [each for each in warnings if "polymorphic" in each]
    assert [each.split(":")[1].strip() for each in refused] == [
        "relations.linked",
        "relations.pictures",
    ]
