"""Relations of models in JSON that are a property of the row: embedded objects, lists of ids."""

import json

import pytest
from openapi_spec_validator import validate

from app.definitions.reading import json_models
from app.rest.collection import served_collections
from tests.support.answers import field_codes

from .library import OPEN, rule

CUSTOMER = {
    "name": "Customer",
    "properties": {"name": "string", "emailList": ["object"]},
    "relations": {
        "address": {"type": "embedsOne", "model": "Address", "property": "billingAddress"},
        "phone": {"type": "embedsOne", "model": "Phone"},
        "card": {"type": "embedsOne", "model": "Card", "property": "idCard", "default": True},
        "size": {"type": "embedsOne", "model": "Size", "property": "size", "default": {"s": 38}},
        "emails": {"type": "embedsMany", "model": "EmailAddress", "property": "emailList"},
        "links": {"type": "embedsMany", "model": "Link"},
        "accounts": {"type": "referencesMany", "model": "Account", "foreignKey": "accountIds"},
        "favourites": {"type": "referencesMany", "model": "BookShop"},
        "shops": {"type": "referencesMany", "model": "Shop"},
    },
    "acls": OPEN,
}
NOT_SERVED = ("favourites",)
ACCOUNT = {
    "name": "Account",
    "properties": {"name": "string"},
    "relations": {"customer": {"type": "belongsTo", "model": "Customer"}},
    "acls": OPEN,
}
# Each is private to its keeper.
SHOP = {
    "name": "Shop",
    "properties": {"id": {"type": "string", "id": True}},
    "relations": {"keeper": {"type": "belongsTo", "model": "User"}},
    "acls": [rule("$authenticated", property="create"), rule("$owner")],
}
NEW = {
    "billingAddress": None,
    "_phone": None,
    "idCard": {},
    "_size": {"s": 38},
    "emailList": [],
    "_links": [],
    "accountIds": [],
    "bookShopIds": [],
    "shopIds": [],
}
ADA = {
    **NEW,
    "name": "Ada",
    "billingAddress": {"city": "Berlin"},
    "emailList": [{"email": "ada@example.com"}],
    "accountIds": [2, 1, 9, 2],
    "bookShopIds": ["5f0c"],
}


@pytest.fixture
def customers(serve):
    api = serve({"customer": CUSTOMER, "account": ACCOUNT, "shop": SHOP})
    token = api.logged_in()

    def call(verb, path="", body=None):
        return api(verb, f"/customers{path}", body, token=token)

    call.api, call.token, call.app = api, token, api.client.application
    return call


def included(customers, include, row=1, **more):
    query = {"filter": json.dumps({"include": include, **more})}
    return customers.api("GET", f"/customers/{row}", token=customers.token, query_string=query)


def test_what_is_embedded_is_a_property_of_the_row(customers):
    created = customers("POST", "", ADA)

    assert created.json == {"id": 1, **ADA}
    assert customers("PATCH", "/1", {"_phone": {"area": 30}}).json["_phone"] == {"area": 30}
    for name, value in [("billingAddress", []), ("_links", {}), ("accountIds", 7)]:
        assert field_codes(customers("POST", "", {name: value})) == {name: ["invalid"]}


def test_what_is_embedded_begins_as_loopback_has_it(customers):
    assert customers("POST", "", {"name": "Bob"}).json == {"id": 1, "name": "Bob", **NEW}
    customers("PATCH", "/1", {"_links": [{"a": 1}], "idCard": None})
    assert customers("PUT", "/1", {"name": "B"}).json == {"id": 1, "name": "B", **NEW}


def test_what_is_embedded_has_the_properties_that_its_model_requires(serve):
    properties = {
        "street": {"type": "string", "required": True},
        "kind": {"type": "string", "required": True, "default": "home"},
        "at": {"type": "date", "required": True, "defaultFn": "now"},
    }
    address = {"name": "Address", "base": "Model", "properties": properties}
    flat = {"name": "Flat", "base": "Address", "properties": {"floor": {"required": True}}}
    relations = {
        "home": {"type": "embedsOne", "model": "Address", "property": "homeAddress"},
        "flats": {"type": "embedsMany", "model": "Flat", "property": "flatList"},
        "drafts": {
            "type": "embedsMany",
            "model": "Flat",
            "property": "draftList",
            "options": {"validate": False},
        },
    }
    person = {"name": "Person", "relations": relations, "acls": OPEN}
    api = serve({"address": address, "flat": flat, "person": person})
    token = api.logged_in()
    flat = {"street": "A", "floor": 0, "more": [1]}

    created = api(
        "POST",
        "/people",
        {"homeAddress": {"street": "B"}, "flatList": [flat], "draftList": [{}]},
        token=token,
    ).json
    assert created["flatList"] == [flat]
    assert created["homeAddress"] == {"street": "B"}
    for verb, path in [("POST", "/people"), ("PATCH", "/people/1"), ("PUT", "/people/1")]:
        for body in (
            {"flatList": [flat, {"street": "A"}]},
            {"flatList": [{"floor": 1, "street": ""}]},
            {"homeAddress": {}},
            {"homeAddress": {"street": None}},
        ):
            answer = api(verb, path, body, token=token)
            assert field_codes(answer) == {next(iter(body)): ["invalid"]}, (verb, body)
    messages = api("PATCH", "/people/1", {"flatList": [{}]}, token=token).json["error"]["details"]
    assert messages["messages"]["flatList"] == ["has an object in which floor can't be blank"]
    assert api("PATCH", "/people/1", {"homeAddress": None, "flatList": []}, token=token).json == {
        **created,
        "homeAddress": None,
        "flatList": [],
    }


@pytest.mark.parametrize(
    ("where", "count"),
    [
        ('{"billingAddress.city":"Berlin"}', 1),
        ('{"accountIds":9}', 1),
        ('{"accountIds":{"inq":[3,4]}}', 0),
        ('{"bookShopIds":"5f0c"}', 1),
        ('{"bookShopIds":7}', 0),
    ],
)
def test_rows_are_found_by_what_is_embedded(customers, where, count):
    customers("POST", "", ADA)

    assert customers("GET", f"/count?where={where}").json == {"count": count}


def test_what_is_embedded_has_no_endpoints(customers):
    customers("POST", "", ADA)
    relations = CUSTOMER["relations"]

    for name in relations:
        assert customers("GET", f"/1/{name}").status_code == 404
        status = 400 if name in NOT_SERVED else 200
        assert customers("GET", f"/1?filter[include]={name}").status_code == status
    warnings = json_models.of(customers.app).problems.warnings
    assert len(warnings) == len(relations)


def test_what_is_embedded_is_included_by_the_name_of_the_relation(customers):
    created = customers("POST", "", ADA).json
    customers("POST", "", {"_links": None})

    answer = included(customers, ["address", "phone", "emails", "links", "card"]).json
    assert answer == {
        **created,
        "address": {"city": "Berlin"},
        "emails": [{"email": "ada@example.com"}],
        "links": [],
        "card": {},
    }
    assert included(customers, ["links", "phone"], 2, fields=["name"]).json == {
        "name": None,
        "links": [],
    }
    assert included(customers, "emails", fields=["id"]).json["emails"] == ADA["emailList"]
    assert included(customers, {"emails": []}).json["emails"] == ADA["emailList"]
    refused = included(customers, {"relation": "emails", "scope": {"limit": 1}})
    assert refused.json["message"] == (
        "include.emails takes no scope: what is embedded is included whole."
    )


def test_a_client_may_send_back_what_is_included(customers):
    customers("POST", "", ADA)
    read = included(customers, ["address", "emails"]).json

    assert customers("PATCH", "/1", {**read, "name": "A"}).json["name"] == "A"
    assert field_codes(customers("PATCH", "/1", {**read, "emails": []})) == {"emails": ["unknown"]}


@pytest.mark.both_databases
def test_the_rows_whose_ids_are_referenced_are_included(customers):
    api, token = customers.api, customers.token
    customers("POST", "", ADA)
    b, a = (
        api("POST", "/accounts", {"name": name, "customerId": 1}, token=token).json
        for name in ("b", "a")
    )

    def names(**scope):
        answer = included(customers, {"relation": "accounts", "scope": scope}).json
        return [each["name"] for each in answer["accounts"]]

    assert included(customers, "accounts", fields=["id"]).json == {"id": 1, "accounts": [a, b]}
    assert names(order="name DESC") == ["b", "a"]
    # PostgreSQL puts a row that was changed behind the others.
    api("PATCH", "/accounts/1", {"name": "b"}, token=token)
    assert names(order="customerId DESC") == ["b", "a"]
    assert names(where={"name": "b"}) == ["b"]
    assert names(limit=1) == ["a"]
    assert names(skip=1, fields=["name"]) == ["b"]
    nested = included(customers, {"accounts": "customer"}).json["accounts"]
    assert [each["customer"]["name"] for each in nested] == ["Ada", "Ada"]


def test_only_rows_that_the_caller_may_read_are_included_by_their_ids(customers):
    api = customers.api
    bob = api.logged_in("bob@example.com")
    for name, token in (("his", bob), ("hers", customers.token)):
        api("POST", "/shops", {"id": name}, token=token)

    customers("POST", "", {"shopIds": ["his", "hers", 7]})

    assert [each["id"] for each in included(customers, "shops").json["shops"]] == ["hers"]


@pytest.mark.both_databases
def test_what_is_included_by_ids_or_embedded_counts_towards_the_limits(customers):
    api, token = customers.api, customers.token
    customers("POST", "", [{"accountIds": [1] * 400} for _ in range(26)])
    customers("POST", "", {"_links": [{"a": "x" * 9_000}] * 2})
    api("POST", "/accounts", [{"customerId": 27}] * 20, token=token)

    def listed(path, include):
        query = {"filter": json.dumps({"include": include, "fields": ["id"]})}
        return api("GET", path, token=token, query_string=query).json

    assert listed("/customers", "accounts")["message"] == (
        "include.accounts: an answer includes at most 10,000 objects; ask for fewer rows with "
        "limit, or for fewer fields."
    )
    assert "1,000,000 bytes" in listed("/accounts", {"customer": "links"})["message"]


def test_a_relation_cannot_hold_its_data_where_something_else_is(make_models):
    relations = {
        "one": {"type": "embedsOne", "model": "X", "property": "id"},
        "two": {"type": "embedsMany", "model": "X", "property": "text"},
        "three": {"type": "embedsOne", "model": "X", "property": "noteId"},
        "four": {"type": "belongsTo", "model": "Note", "foreignKey": "noteId"},
        "text": {"type": "embedsOne", "model": "X"},
        "five": {"type": "embedsOne", "model": "X", "property": "secret"},
    }
    note = {"name": "Note", "properties": {"text": "string"}, "relations": relations}
    app = make_models({"note": {**note, "hidden": ["secret"], "acls": OPEN}})

    assert json_models.of(app).problems.warnings == [
        "note.json: hidden: there is no property 'secret'",
        "note.json: relations.one: is not served: id of Note holds something else",
        "note.json: relations.two: is not served: text of Note is of the type string",
        "note.json: relations.three: has no endpoints: its data is the property noteId",
        "note.json: relations.four: is not served: noteId of Note holds no ids",
        "note.json: relations.text: is not served: there is a property or a call of this name",
        "note.json: relations.five: has no endpoints: its data is the property secret",
    ]
    assert list(served_collections.of(app)["Notes"].relations) == ["three"]


def test_the_document_has_what_is_included(customers):
    document = customers.api("GET", "/openapi.json").json
    validate(document)

    schemas = document["components"]["schemas"]
    row = schemas["CustomerWithRelations"]["properties"]
    assert row["emails"] == row["emailList"]
    assert row["accounts"]["items"] == {"$ref": "#/components/schemas/AccountWithRelations"}
    include = schemas["CustomerFilter"]["properties"]["include"]
    assert "links" in include["items"]["anyOf"][0]["enum"]
