"""The shop of docs/shop.md through HTTP, on both databases."""

import json

import pytest
from sqlalchemy import insert

from app.access.rules import READ
from app.database.session import db, transaction
from app.rest.collection import served_collections
from app.rest.endpoint import served_endpoints
from app.users.models import RESET_SCOPE, AccessToken, new_token_values
from tests.support.answers import field_codes, refusal
from tests.support.rows import put_into_past, statements
from tests.support.shop import JSON, PYTHON, Shops

LAMP = {"sku": "LAMP-1", "name": "Lamp", "price": "12.50"}
ADDRESS = {"street": "Long Lane 1", "city": "Berlin", "zip": 10115}
BERLIN = {"lat": 52.52, "lng": 13.405}


@pytest.fixture(scope="module", params=[JSON, PYTHON])
def shops(request, tmp_path_factory):
    """The shops of this module, in JSON and in Python."""
    with Shops(request.param, tmp_path_factory.mktemp("shop")) as shops:
        yield shops


@pytest.fixture
def shop(shops, database_url, api, token, runner):
    """Serve the shop; return a function that calls it as Ada, who is 1, Bob, 2, or a clerk, 3."""
    tokens = {None: None, "ada": token}
    tokens |= {name: api.newcomer(f"{name}@example.com") for name in ("bob", "clerk")}
    tokens |= {"nobody": None} | {name: name * 10 for name in ("expired", "reset")}
    runner.invoke(args=["roles", "grant", "clerk@example.com", "clerk"])
    with shops.get(database_url) as served:
        client = served.app.test_client()
        with served.app.app_context():
            for name, ttl, scope in (("expired", -1, None), ("reset", 600, RESET_SCOPE)):
                values = new_token_values(tokens[name], ttl, scope=scope)
                db.session.add(AccessToken(user_id=1, **values))
            db.session.commit()

        def call(verb, path, body=None, caller="ada", **query):
            headers = {"Authorization": tokens[caller]} if tokens[caller] else {}
            texts = {name: json.dumps(value) for name, value in query.items()}
            return client.open(
                f"/api{path}", method=verb, json=body, headers=headers, query_string=texts
            )

        call.app = served.app
        yield call


def create(shop, path, body, caller="ada"):
    response = shop("POST", path, body, caller)
    assert response.status_code == 200, response.json
    return response.json


@pytest.fixture
def lamp(shop):
    return create(shop, "/products", LAMP, "clerk")


@pytest.fixture
def order(shop):
    return create(shop, "/orders", {})


def test_properties_have_their_types_and_defaults(shop, lamp, order):
    given = {
        **LAMP,
        "sku": "LAMP-2",
        "price": 9,
        "status": "draft",
        "releasedOn": "2026-03-01",
        "tags": ["new", "light"],
        "size": {"height": 30, "width": {"foot": 10.5}},
    }

    full = create(shop, "/products", given, "clerk")

    defaults = {"status": "on sale", "releasedOn": None, "tags": [], "size": None}
    assert lamp == {"id": lamp["id"], **LAMP, **defaults}
    assert full == {"id": full["id"], **given, "price": "9.00"}
    assert shop("GET", f"/products/{full['id']}", caller=None).json == full
    assert order.keys() == {"id", "status", "created", "changed", "customerId"}
    assert (order["status"], order["customerId"]) == ("open", 1)


WRONG = {
    "/categories": [("name", 5), ("name", "x" * 51), ("name", None)],
    "/products": [
        *(("price", "1.234"), ("price", 1e6), ("price", "x"), ("price", None)),
        *(("status", "lost"), ("releasedOn", "2026-02-30"), ("tags", "new"), ("tags", [1])),
        *(("size", []), ("sku", "x" * 21), ("colour", "red")),
    ],
    "/order-items": [("quantity", 0), ("quantity", 1001), ("quantity", "1"), ("productId", 99)],
    "/shipments": [("place", {"lat": 91, "lng": 0}), ("dueOn", "soon"), ("address", "here")],
    "/reviews": [("stars", 6), ("stars", 1.5), ("text", "x" * 2001), ("productId", None)],
}


def test_values_that_do_not_fit_are_422_and_name_the_property(shop, lamp, order):
    right = {
        "/categories": {"name": "Light"},
        "/products": {**LAMP, "sku": "LAMP-3"},
        "/order-items": {"orderId": order["id"], "productId": lamp["id"]},
        "/shipments": {"orderId": order["id"], "address": ADDRESS},
        "/reviews": {"stars": 5, "productId": lamp["id"]},
    }

    for path, wrong in WRONG.items():
        caller = "clerk" if path in ("/categories", "/products") else "ada"
        before = shop("GET", f"{path}/count", caller=caller).json
        for name, value in wrong:
            response = shop("POST", path, {**right[path], name: value}, caller)
            assert field_codes(response).keys() == {name}, (path, name, value)
        assert shop("GET", f"{path}/count", caller=caller).json == before
        assert shop("POST", path, right[path], caller).status_code == 200


@pytest.mark.both_databases
def test_a_unique_property_is_unique(shop, lamp):
    other = create(shop, "/products", {**LAMP, "sku": "LAMP-2"}, "clerk")

    for verb, path, body in [
        ("POST", "/products", LAMP),
        ("POST", "/products", [{**LAMP, "sku": "LAMP-3"}, LAMP]),
        ("PATCH", f"/products/{other['id']}", {"sku": "LAMP-1"}),
        ("PUT", f"/products/{other['id']}", LAMP),
    ]:
        response = shop(verb, path, body, "clerk")
        assert field_codes(response) == {"sku": ["uniqueness"]}, verb
    for path in ("/products/update", "/products/upsertWithWhere"):
        response = shop("POST", path, {"sku": "LAMP-1"}, "clerk", where={"id": other["id"]})
        assert field_codes(response) == {"sku": ["uniqueness"]}, path
    assert shop("GET", "/products/count").json == {"count": 2}


@pytest.mark.both_databases
def test_everybody_reads_the_catalogue_and_clerks_maintain_it(shop, lamp):
    path = f"/products/{lamp['id']}"

    for caller, status in [(None, 401), ("ada", 403)]:
        assert shop("POST", "/products", LAMP, caller).status_code == status
        assert shop("PATCH", path, {"price": 1}, caller).status_code == status
        assert shop("DELETE", path, caller=caller).status_code == status
        assert shop("GET", path, caller=caller).json == lamp
    assert shop("PATCH", path, {"price": 1}, "clerk").json == {**lamp, "price": "1.00"}
    assert shop("DELETE", path, caller="clerk").json == {"count": 1}


@pytest.mark.both_databases
def test_a_product_is_in_many_categories(shop, lamp):
    light = create(shop, f"/products/{lamp['id']}/categories", {"name": "Light"}, "clerk")
    home = create(shop, "/categories", {"name": "Home"}, "clerk")
    link = f"/products/{lamp['id']}/categories/rel/{home['id']}"

    assert shop("PUT", link).status_code == 403
    assert shop("PUT", link, caller="clerk").status_code == 204
    assert shop("HEAD", link).status_code == 200
    assert shop("GET", f"/products/{lamp['id']}/categories").json == [light, home]
    assert shop("GET", f"/categories/{home['id']}/products").json == [lamp]
    assert shop("DELETE", link, caller="clerk").status_code == 204
    assert shop("GET", f"/categories/{home['id']}/products").json == []


def test_an_order_has_items_and_products_and_one_shipment(shop, lamp, order):
    path = f"/orders/{order['id']}"
    other = create(shop, "/products", {**LAMP, "sku": "LAMP-2", "price": "0.99"}, "clerk")

    item = create(shop, f"{path}/items", {"productId": lamp["id"], "quantity": 2})
    assert shop("PUT", f"{path}/products/rel/{other['id']}").status_code == 204
    shipment = create(shop, f"{path}/shipment", {"address": ADDRESS, "place": BERLIN})

    assert item == {
        "id": item["id"],
        "quantity": 2,
        "orderId": order["id"],
        "productId": lamp["id"],
        "customerId": 1,
    }
    linked = shop("GET", f"{path}/items").json[1]
    assert linked == {**item, "id": linked["id"], "quantity": 1, "productId": other["id"]}
    assert shop("GET", f"{path}/products").json == [lamp, other]
    assert shop("GET", f"{path}/shipment").json == shipment
    assert refusal(shop("POST", f"{path}/shipment", {"address": {}})) == (409, "CONFLICT")
    assert shop("GET", f"{path}/customer").json["email"] == "ada@example.com"
    assert shop("GET", f"/order-items/{item['id']}/product").json == lamp
    assert shop("GET", f"{path}/total").json == {"total": "25.99"}
    assert shop("DELETE", path).json == {"count": 1}
    for collection in ("order-items", "shipments"):
        assert shop("GET", f"/{collection}").json == []


@pytest.mark.both_databases
def test_everything_is_included_by_a_constant_number_of_statements(shop, lamp):
    light = create(shop, f"/products/{lamp['id']}/categories", {"name": "Light"}, "clerk")
    orders = [create(shop, "/orders", {}) for _ in range(3)]
    for order in orders:
        create(shop, f"/orders/{order['id']}/items", {"productId": lamp["id"]})
        create(shop, f"/orders/{order['id']}/shipment", {"address": ADDRESS})
    items = {"relation": "items", "scope": {"limit": 1, "include": {"product": "categories"}}}

    with statements(shop.app) as sent:
        found = shop("GET", "/orders", filter={"include": [items, "shipment", "customer"]}).json

    assert len(sent) == 2 + 5
    assert [order["id"] for order in found] == [order["id"] for order in orders]
    for entry in found:
        assert entry["customer"]["email"] == "ada@example.com"
        assert entry["shipment"]["address"] == ADDRESS
        assert [item["product"]["categories"] for item in entry["items"]] == [[light]]


@pytest.mark.both_databases
def test_rows_are_selected_by_properties_of_every_type(shop, lamp, order):
    dear = {**LAMP, "sku": "LAMP-2", "price": "100", "status": "draft", "tags": ["new"]}
    create(shop, "/products", {**dear, "releasedOn": "2026-03-01", "size": {"h": 30}}, "clerk")
    create(shop, f"/orders/{order['id']}/shipment", {"address": ADDRESS, "place": BERLIN})

    for path, where, skus in [
        ("/products", {"price": {"gt": "12.50"}}, ["LAMP-2"]),
        ("/products", {"price": {"lt": 13}}, ["LAMP-1"]),
        ("/products", {"status": {"inq": ["draft", "sold out"]}}, ["LAMP-2"]),
        ("/products", {"releasedOn": {"gte": "2026-01-01"}}, ["LAMP-2"]),
        ("/products", {"releasedOn": {"exists": False}}, ["LAMP-1"]),
        ("/products", {"tags": "new"}, ["LAMP-2"]),
        ("/products", {"size.h": {"between": [20, 40]}}, ["LAMP-2"]),
        ("/products", {"name": {"like": "l%", "options": "i"}}, ["LAMP-1", "LAMP-2"]),
    ]:
        found = shop("GET", path, filter={"where": where}).json
        assert [entry["sku"] for entry in found] == skus, where
    near = {"near": {"lat": 52.5, "lng": 13.4}, "maxDistance": 5, "unit": "kilometers"}
    for where, count in [
        ({"place": near}, 1),
        ({"place": {**near, "maxDistance": 1}}, 0),
        ({"address.city": "Berlin"}, 1),
        ({"dueOn": None}, 1),
    ]:
        assert shop("GET", "/shipments/count", where=where).json == {"count": count}


def test_nobody_reads_or_changes_the_orders_of_others(shop, lamp, order):
    path = f"/orders/{order['id']}"
    item = create(shop, f"{path}/items", {"productId": lamp["id"]})
    mine = create(shop, "/orders", {}, "bob")

    for collection in ("orders", "order-items", "shipments"):
        found = shop("GET", f"/{collection}", caller="bob").json
        assert [entry["id"] for entry in found] == ([mine["id"]] if collection == "orders" else [])
    for verb, below, body in [
        ("GET", "", None),
        ("PATCH", "", {"status": "paid"}),
        ("DELETE", "", None),
        ("GET", "/total", None),
        ("GET", "/items", None),
        ("POST", "/items", {"productId": lamp["id"]}),
        ("POST", "/shipment", {"address": ADDRESS}),
        ("PUT", f"/products/rel/{lamp['id']}", None),
    ]:
        response = shop(verb, path + below, body, "bob")
        assert refusal(response) == (404, "MODEL_NOT_FOUND"), (verb, below)
    for name, value in [("orderId", order["id"]), ("customerId", 1)]:
        body = {"orderId": mine["id"], "productId": lamp["id"], name: value}
        assert field_codes(shop("POST", "/order-items", body, "bob")).keys() == {name}
    assert shop("GET", "/order-items").json == [item]
    assert shop("GET", f"{path}/total", caller="clerk").json == {"total": "12.50"}


@pytest.mark.both_databases
def test_everybody_reads_reviews_and_their_writer_changes_them(shop, lamp):
    path = f"/products/{lamp['id']}/reviews"
    review = create(shop, "/reviews", {"stars": 4, "productId": lamp["id"], "text": "So\nso"})

    assert shop("GET", path, caller=None).json == [review]
    assert review["customerId"] == 1
    assert refusal(shop("PATCH", f"/reviews/{review['id']}", {"stars": 1}, "bob"))[0] == 403
    table = served_collections.of(shop.app)["reviews"].rows.key.table
    put_into_past(shop.app, table.name, "created", "changed")
    [before] = shop("GET", path).json
    changed = shop("PATCH", f"/reviews/{review['id']}", {"stars": 5}).json
    assert changed == {**before, "stars": 5, "changed": changed["changed"]}
    assert changed["changed"] > before["changed"] == before["created"]
    assert shop("DELETE", f"/reviews/{review['id']}", caller="clerk").json == {"count": 1}


CATALOGUE = ("categories", "products")
PURCHASES = ("orders", "order-items", "shipments")
# What calls may answer that are refused with a status, or not at all. Bodies are empty but for
# reviews, and are checked before a row is looked for.
EXPECTED = {401: [401], 403: [403], 404: [404, 422], None: [200, 204, 400, 409, 422]}


def refused(caller, model, endpoint, route):
    """Return the status that a caller gets from an endpoint, or None if the call is permitted."""
    reads, leads_to_user = endpoint.access == READ, route.path.endswith("/customer")
    if caller in ("nobody", "expired", "reset"):
        return None if reads and model not in PURCHASES and not leads_to_user else 401
    if leads_to_user:
        return None if caller == "ada" else 404
    if caller == "clerk" or (reads and model not in PURCHASES):
        return None
    if model in CATALOGUE:
        return 403
    about_a_row = "<id>" in route.path or endpoint.method == "findOne"
    says_so = endpoint.method == "exists" and route.verb == "GET"
    if caller == "ada" or not about_a_row or says_so:
        return None
    return 404 if model in PURCHASES else 403


@pytest.mark.both_databases
def test_every_route_refuses_who_may_not_call_it_and_nobody_who_may(shop, lamp, order):
    product = {"productId": lamp["id"]}
    category = create(shop, "/categories", {"name": "Light"}, "clerk")
    item = create(shop, "/order-items", {"orderId": order["id"], **product})
    shipment = create(shop, "/shipments", {"orderId": order["id"], "address": ADDRESS})
    review = create(shop, "/reviews", {"stars": 4, **product})
    link = f"/products/{lamp['id']}/categories/rel/{category['id']}"
    assert shop("PUT", link, caller="clerk").status_code == 204
    rows = {"categories": category, "products": lamp, "orders": order, "order-items": item}
    rows |= {"shipments": shipment, "reviews": review, "items": item}
    before = everything(shop)

    called = set()
    for caller in ("nobody", "expired", "reset", "bob", "ada", "clerk"):
        for model, endpoint, route in shop_routes(shop.app):
            expected = refused(caller, model, endpoint, route)
            # Calls that change something are tested above for those who may make them.
            if expected is None and endpoint.access != READ:
                continue
            path = route.path.replace("<id>", str(rows[model]["id"]))
            if "<fk>" in path:
                path = path.replace("<fk>", str(rows[path.split("/")[2]]["id"]))
            where = {"where": {"id": rows[model]["id"]}} if endpoint.query == "where!" else {}
            body = {"stars": 1, **product} if model == "reviews" else {}
            answer = shop(route.verb, f"/{model}{path}", body, caller, **where)
            seen = caller, route.verb, model, route.path, answer.status_code
            assert answer.status_code in EXPECTED[expected], seen
            called.add((model, endpoint.method))

    assert {model for model, _ in called} == {*CATALOGUE, *PURCHASES, "reviews"}
    assert everything(shop) == before


def shop_routes(app):
    """Yield the routes of the shop, each with its collection and endpoint."""
    for name, endpoint in served_endpoints.of(app).items():
        resource = served_collections.of(app).get(name.partition(".")[0])
        model = resource and (resource.path or resource.name)
        if model not in (None, "users", "todos"):
            yield from ((model, endpoint, route) for route in endpoint.routes)


def everything(shop):
    return [shop("GET", f"/{path}", caller="clerk").json for path in (*CATALOGUE, *PURCHASES)]


def fill_categories(shop, size):
    """Create so many categories with the same products, as many, each with as many reviews."""
    lamps = [{**LAMP, "sku": str(number)} for number in range(size)]
    names = [{"name": str(number)} for number in range(size)]
    products = [product["id"] for product in create(shop, "/products", lamps, "clerk")]
    categories = [category["id"] for category in create(shop, "/categories", names, "clerk")]
    create(shop, "/reviews", [{"stars": 1, "productId": product} for product in products * size])
    links = [
        {"category_id": category, "product_id": product}
        for category in categories
        for product in products
    ]
    model = served_collections.of(shop.app)["categories"].relations["products"].through
    with shop.app.app_context(), transaction():
        db.session.execute(insert(model), links)
    return categories


@pytest.mark.both_databases
def test_rows_that_are_included_repeatedly_count_each_time(shop):
    categories = fill_categories(shop, 22)
    short = {"relation": "reviews", "scope": {"fields": ["id"]}}

    def find(path, included, **filter_):
        scope = {"fields": ["id"], "include": included}
        include = {"include": {"relation": "products", "scope": scope}}
        return shop("GET", path, caller=None, filter={**include, **filter_})

    for included in ("reviews", short):
        answer = find("/categories", included)
        assert refusal(answer) == (400, "INVALID_FILTER")
        assert answer.json["message"].startswith("include.products.reviews: an answer includes")
    for category in (
        find(f"/categories/{categories[0]}", "reviews").json,
        *find("/categories", short, limit=19).json,
    ):
        assert [len(product["reviews"]) for product in category["products"]] == [22] * 22
