"""What clients of the shop call: first to fill it, and then, with the same tokens, again."""

from tests.loopback.script import Call

# Ada is a customer and one of the staff, with the same address and different passwords.
ADA = {"email": "ada@example.com", "password": "a long list"}
ADA_AT_WORK = {"email": "ada@example.com", "password": "a white apron"}
BOB = {"email": "bob@example.com", "password": "a full basket"}
CYD = {"email": "cyd@example.com", "password": "a small purse"}
CHIEF = {"email": "chief@example.com", "password": "a ring of keys"}
EVE = {"email": "eve@example.com", "password": "a broom and a bucket"}
DAN = {"email": "dan@example.com", "password": "a pair of scales"}
NEW = "another shopping list"

# By model, the names under which the ids of users are kept.
USERS = {"Customer": ("bob", "ada", "cyd", "dan"), "Staff": ("chief", "clerk", "eve", "fay")}

SETUP = [
    Call("POST /staff/login", CHIEF, keep="token of chief"),
    Call("POST /Customers/login", BOB, keep="token of bob"),
    Call("GET /staff?filter[where][name]=Chief", by="chief", keep="chief"),
    Call("GET /Customers?filter[where][name]=Bob", by="chief", keep="bob"),
    Call("POST /Customers", {**ADA, "name": "Ada", "phone": "030 123"}, keep="ada"),
    Call("POST /staff", {**ADA_AT_WORK, "name": "Ada", "badge": "7"}, keep="clerk"),
    Call("POST /Customers", {**CYD, "name": "Cyd"}, keep="cyd"),
    Call("POST /Customers", {**DAN, "name": "Dan"}, keep="dan"),
    Call("POST /staff", {**EVE, "name": "Eve", "bossId": "{chief}"}, keep="eve"),
    Call("PATCH /staff/{clerk}", {"bossId": "{eve}"}, by="chief"),
    Call("POST /Customers/login", ADA, keep="token of ada"),
    Call("POST /Customers/login", {**ADA, "ttl": 86400}, keep="token of ada's phone"),
    Call("POST /staff/login", ADA_AT_WORK, keep="token of clerk"),
    Call("POST /staff/login", ADA_AT_WORK, keep="token of clerk's phone"),
    Call("POST /Customers/login", CYD, keep="token of cyd"),
    Call("POST /staff/login", EVE, keep="token of eve"),
    Call("POST /Orders", {"total": 12.5, "customerId": "{bob}"}, by="bob", keep="basket"),
    Call(
        "POST /Orders",
        {"total": 30, "customerId": "{ada}", "clerkId": "{clerk}"},
        by="chief",
        keep="list",
    ),
    Call("POST /Orders", {"total": 7, "customerId": "{cyd}"}, by="chief", keep="purse"),
    Call("POST /staff/{clerk}/shifts", {"day": "Monday"}, by="clerk", keep="monday"),
    Call("POST /staff/{eve}/shifts", {"day": "Friday"}, by="eve", keep="friday"),
    Call(
        "POST /Tickets",
        {"text": "Late", "customerId": "{ada}", "staffId": "{eve}"},
        by="chief",
        keep="late",
    ),
    Call(
        "POST /Remarks",
        {"text": "Fresh", "authorId": "{ada}", "authorType": "Customer"},
        by="ada",
        keep="fresh",
    ),
    Call(
        "POST /Remarks",
        {"text": "Sold out", "authorId": "{clerk}", "authorType": "Staff"},
        by="clerk",
        keep="sold",
    ),
]

# What is compared.
CALLS = [
    # Records of each model, by users of both. Bob and the chief, and others, had the same id.
    *(
        Call(f"GET {path}/{{{user}}}", by=caller)
        for path, users in (("/Customers", ("bob", "ada")), ("/staff", ("chief", "clerk", "eve")))
        for user in users
        for caller in (None, "bob", "ada", "chief", "clerk", "eve")
    ),
    Call("GET /Customers?filter[order]=name", by="chief"),
    Call("GET /Customers?filter[order]=name", by="bob"),
    Call("GET /Customers/count", by="chief"),
    Call("GET /Customers/count", by="eve"),
    Call("GET /staff?filter[order]=email", by="chief"),
    Call("GET /staff", by="bob"),
    Call("GET /staff/count", by="chief"),
    Call("GET /staff/count", by="bob"),
    Call('GET /staff?filter={"include":["boss","shifts"],"order":"email"}', by="chief"),
    Call("PATCH /Customers/{ada}", {"phone": "030 456"}, by="ada"),
    Call("PATCH /Customers/{ada}", {"phone": "1"}, by="clerk"),
    Call("PATCH /staff/{clerk}", {"badge": "8"}, by="clerk"),
    Call("PATCH /staff/{clerk}", {"badge": "9"}, by="ada"),
    Call("PATCH /staff/{eve}", {"badge": "10"}, by="chief"),
    # Logins: each in its own model
    Call("POST /Customers/login", ADA, keep="third token of ada"),
    Call("POST /staff/login", ADA_AT_WORK, keep="third token of clerk"),
    Call("POST /staff/login", ADA),
    Call("POST /Customers/login", ADA_AT_WORK),
    Call("POST /staff/login", BOB),
    Call("POST /Customers/login", CHIEF),
    Call("POST /staff/login?include=user", EVE, keep="another token of eve"),
    Call("POST /Customers", {**BOB, "name": "Bob"}),
    Call("POST /staff", {**BOB, "name": "Bob", "badge": "11"}, keep="fay"),
    Call("POST /staff/login", BOB, keep="token of fay"),
    Call("GET /staff/{fay}", by="fay"),
    Call("GET /Customers/{bob}", by="fay"),
    # Roles: those of one model's user
    Call("GET /Orders?filter[order]=total", by="chief"),
    Call("GET /Orders/{basket}", by="chief"),
    Call("PATCH /Orders/{basket}", {"state": "packed"}, by="chief"),
    Call("PATCH /Orders/{basket}", {"state": "lost"}, by="bob"),
    Call("POST /Orders", {"total": 1, "customerId": "{bob}"}, by="bob", keep="second basket"),
    Call("POST /Orders", {"total": 1, "customerId": "{ada}"}, by="ada"),
    Call("POST /Orders", {"total": 1}, by="eve"),
    Call("GET /Shifts?filter[order]=day", by="chief"),
    # Owners: of one model, of a relation that `ownerRelations` names
    *(
        Call(f"GET {row}", by=caller)
        for row in ("/Orders/{basket}", "/Orders/{list}", "/Shifts/{monday}", "/Shifts/{friday}")
        for caller in (None, "bob", "ada", "clerk", "eve", "cyd")
    ),
    Call("PATCH /Shifts/{monday}", {"day": "Tuesday"}, by="clerk"),
    Call("PATCH /Shifts/{monday}", {"day": "Sunday"}, by="ada"),
    Call("DELETE /Orders/{purse}", by="ada"),
    Call("DELETE /Orders/{purse}", by="clerk"),
    Call("DELETE /Orders/{purse}", by="cyd"),
    Call("GET /Tickets/{late}", by="ada"),
    Call("GET /Tickets/{late}", by="eve"),
    Call("GET /Tickets/{late}", by="bob"),
    Call("GET /Tickets/{late}", by="chief"),
    Call("GET /Tickets/{late}"),
    # Relations
    Call("GET /Customers/{ada}/orders", by="ada"),
    Call("GET /Customers/{ada}/orders/count", by="ada"),
    Call("GET /Customers/{ada}/orders", by="clerk"),
    Call("POST /Customers/{ada}/orders", {"total": 4}, by="ada", keep="second list"),
    Call("POST /Customers/{ada}/orders", {"total": 4}, by="clerk"),
    Call("GET /Customers/{bob}/orders?filter[order]=id", by="bob"),
    Call("GET /Customers/{bob}/orders", by="chief"),
    Call("GET /staff/{clerk}/orders", by="clerk"),
    Call("GET /staff/{clerk}/orders", by="ada"),
    Call("GET /staff/{clerk}/shifts", by="clerk"),
    Call("GET /staff/{clerk}/shifts", by="bob"),
    Call("GET /staff/{clerk}/boss", by="clerk"),
    Call("GET /staff/{eve}/boss", by="eve"),
    Call("GET /staff/{eve}/boss", by="cyd"),
    Call("GET /staff/{chief}/reports", by="chief"),
    Call("GET /Orders/{list}/customer", by="ada"),
    Call("GET /Orders/{list}/clerk", by="chief"),
    Call('GET /Orders?filter={"include":["customer","clerk"],"order":"total"}', by="chief"),
    Call('GET /Tickets?filter={"include":["customer","staff"]}', by="chief"),
    Call('GET /Remarks?filter={"include":"author","order":"text"}', by="chief"),
    Call("GET /Remarks/{sold}", by="bob"),
    Call("GET /Remarks/{fresh}"),
    Call('GET /Remarks?filter={"where":{"authorType":"Staff","authorId":{clerk}}}', by="ada"),
    Call("GET /Customers/{ada}/remarks", by="chief"),
    Call("GET /staff/{clerk}/remarks", by="chief"),
    # Passwords: other sessions of the same user end, and those of nobody else
    Call(
        "POST /staff/change-password",
        {"oldPassword": ADA["password"], "newPassword": NEW},
        by="ada",
    ),
    Call("POST /Customers/change-password", {"oldPassword": "wrong", "newPassword": NEW}, by="ada"),
    Call(
        "POST /Customers/change-password",
        {"oldPassword": ADA["password"], "newPassword": NEW},
        by="ada",
    ),
    Call("POST /Customers/login", ADA),
    Call("POST /Customers/login", {**ADA, "password": NEW}, keep="fourth token of ada"),
    Call("POST /staff/login", {**ADA, "password": NEW}),
    Call("POST /staff/login", ADA_AT_WORK, keep="fourth token of clerk"),
    Call("GET /Customers/{ada}", by="ada"),
    Call("GET /Customers/{ada}", by="ada's phone"),
    Call("GET /staff/{clerk}", by="clerk"),
    Call("GET /staff/{clerk}", by="clerk's phone"),
    Call("GET /staff/{eve}", by="eve"),
    Call(
        "POST /staff/change-password",
        {"oldPassword": ADA_AT_WORK["password"], "newPassword": NEW},
        by="clerk",
    ),
    Call("GET /staff/{clerk}", by="clerk's phone"),
    Call("GET /Customers/{ada}", by="ada"),
    # The end of sessions
    Call("POST /staff/logout", by="eve"),
    Call("GET /staff/{eve}", by="eve"),
    Call("GET /Customers/{ada}", by="ada"),
    Call("POST /Customers/logout", by="ada"),
    Call("GET /Customers/{ada}", by="ada"),
    Call("GET /staff/{clerk}", by="clerk"),
    Call("DELETE /Customers/{cyd}", by="clerk"),
    Call("DELETE /Customers/{cyd}", by="cyd"),
    Call("POST /Customers/login", CYD),
    Call("GET /staff/count", by="chief"),
]
