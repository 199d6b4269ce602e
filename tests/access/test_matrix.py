"""Every route of the API, called by everybody: who gets what."""

from datetime import timedelta

import pytest
from sqlalchemy import delete

from app.access.roles import Role, RoleMapping
from app.extensions import db, now
from app.todos.models import Todo
from app.users.models import RESET_SCOPE, AccessToken, User
from app.users.passwords import hash_password
from tests.conftest import PASSWORD
from tests.rows import populate

# High enough that what a call creates never has the same.
OWNER, OTHER, CLERK, ADMIN, DELETED = 1001, 1002, 1003, 1004, 1005
TODO = 2001
HANDLE = "0123456789abcdef"

# The callers, in the order of the columns below. The clerk has a role that no rule speaks of.
CALLERS = ["anonymous", "owner", "other", "clerk", "admin", "expired", "reset", "deleted"]

PEOPLE = {"owner": OWNER, "other": OTHER, "clerk": CLERK, "admin": ADMIN, "deleted": DELETED}
TOKENS = {name: name * 8 for name in CALLERS} | {"anonymous": None}

OPEN = [200, 200, 200, 200, 200, 200, 200, 200]
LOGGED_IN = [401, 200, 200, 200, 200, 401, 401, 401]
OWN_ROW = [401, 200, 404, 404, 200, 401, 401, 401]
OWN_RECORD = [401, 200, 403, 403, 200, 401, 401, 401]
ADMINS = [401, 403, 403, 403, 200, 401, 401, 401]


def done(statuses: list[int]) -> list[int]:
    """Return the row with 204 where it says 200."""
    return [204 if status == 200 else status for status in statuses]


NEW_TODO = {"title": "New"}
NEW_USER = {"email": "new@example.com", "password": PASSWORD}
ONE_TODO = {"where": f'{{"id": {TODO}}}'}
ONE_USER = {"where": f'{{"id": {OTHER}}}'}

# Endpoint: verb, path below the base path, query, body, and what each caller gets.
ROUTES = [
    ("openapi.document", "GET", "/openapi.json", {}, None, OPEN),
    ("todos.create", "POST", "/todos", {}, NEW_TODO, LOGGED_IN),
    ("todos.find", "GET", "/todos", {}, None, LOGGED_IN),
    ("todos.findOne", "GET", "/todos/findOne", {}, None, OWN_ROW),
    ("todos.count", "GET", "/todos/count", {}, None, LOGGED_IN),
    ("todos.findById", "GET", f"/todos/{TODO}", {}, None, OWN_ROW),
    ("todos.findById", "HEAD", f"/todos/{TODO}", {}, None, OWN_ROW),
    ("todos.exists", "GET", f"/todos/{TODO}/exists", {}, None, LOGGED_IN),
    ("todos.patchAttributes", "PATCH", f"/todos/{TODO}", {}, NEW_TODO, OWN_ROW),
    ("todos.replaceById", "PUT", f"/todos/{TODO}", {}, NEW_TODO, OWN_ROW),
    ("todos.replaceById", "POST", f"/todos/{TODO}/replace", {}, NEW_TODO, OWN_ROW),
    ("todos.deleteById", "DELETE", f"/todos/{TODO}", {}, None, OWN_ROW),
    ("todos.patchOrCreate", "PATCH", "/todos", {}, {**NEW_TODO, "id": TODO}, OWN_ROW),
    ("todos.replaceOrCreate", "PUT", "/todos", {}, {**NEW_TODO, "id": TODO}, OWN_ROW),
    ("todos.replaceOrCreate", "POST", "/todos/replaceOrCreate", {}, NEW_TODO, LOGGED_IN),
    ("todos.upsertWithWhere", "POST", "/todos/upsertWithWhere", ONE_TODO, NEW_TODO, LOGGED_IN),
    ("todos.updateAll", "POST", "/todos/update", ONE_TODO, NEW_TODO, LOGGED_IN),
    ("users.create", "POST", "/users", {}, NEW_USER, OPEN),
    (
        "users.login",
        "POST",
        "/users/login",
        {},
        {"email": "owner@example.com", "password": PASSWORD},
        OPEN,
    ),
    ("users.logout", "GET", "/users/logout", {}, None, done(LOGGED_IN)),
    ("users.logout", "POST", "/users/logout", {}, None, done(LOGGED_IN)),
    ("users.logout", "PUT", "/users/logout", {}, None, done(LOGGED_IN)),
    ("users.logout", "PATCH", "/users/logout", {}, None, done(LOGGED_IN)),
    ("users.logout", "DELETE", "/users/logout", {}, None, done(LOGGED_IN)),
    ("users.resetPassword", "POST", "/users/reset", {}, {"email": "owner@example.com"}, OPEN),
    (
        "users.setPassword",
        "POST",
        "/users/reset-password",
        {},
        {"newPassword": "another quiet harbour"},
        [401, 401, 401, 401, 401, 401, 204, 401],
    ),
    (
        "users.changePassword",
        "POST",
        "/users/change-password",
        {},
        {"oldPassword": PASSWORD, "newPassword": "another quiet harbour"},
        done(LOGGED_IN),
    ),
    ("users.find", "GET", "/users", {}, None, ADMINS),
    ("users.findOne", "GET", "/users/findOne", {}, None, ADMINS),
    ("users.count", "GET", "/users/count", {}, None, ADMINS),
    ("users.findById", "GET", f"/users/{OWNER}", {}, None, OWN_RECORD),
    ("users.exists", "GET", f"/users/{OWNER}/exists", {}, None, OWN_RECORD),
    ("users.patchAttributes", "PATCH", f"/users/{OWNER}", {}, {"username": "x"}, OWN_RECORD),
    ("users.replaceById", "PUT", f"/users/{OWNER}", {}, {"email": "x@example.com"}, OWN_RECORD),
    (
        "users.replaceById",
        "POST",
        f"/users/{OWNER}/replace",
        {},
        {"email": "x@example.com"},
        OWN_RECORD,
    ),
    ("users.deleteById", "DELETE", f"/users/{OWNER}", {}, None, OWN_RECORD),
    ("users.patchOrCreate", "PATCH", "/users", {}, NEW_USER, ADMINS),
    ("users.replaceOrCreate", "PUT", "/users", {}, NEW_USER, ADMINS),
    ("users.replaceOrCreate", "POST", "/users/replaceOrCreate", {}, NEW_USER, ADMINS),
    (
        "users.upsertWithWhere",
        "POST",
        "/users/upsertWithWhere",
        ONE_USER,
        {"username": "x"},
        ADMINS,
    ),
    ("users.updateAll", "POST", "/users/update", ONE_USER, {"username": "x"}, ADMINS),
    ("users.__get__accessTokens", "GET", f"/users/{OWNER}/accessTokens", {}, None, OWN_RECORD),
    (
        "users.__destroyById__accessTokens",
        "DELETE",
        f"/users/{OWNER}/accessTokens/{HANDLE}",
        {},
        None,
        done(OWN_RECORD),
    ),
    (
        "users.__delete__accessTokens",
        "DELETE",
        f"/users/{OWNER}/accessTokens",
        {},
        None,
        done(OWN_RECORD),
    ),
    ("users.__get__todos", "GET", f"/users/{OWNER}/todos", {}, None, OWN_RECORD),
    ("users.__create__todos", "POST", f"/users/{OWNER}/todos", {}, NEW_TODO, OWN_RECORD),
    ("users.__count__todos", "GET", f"/users/{OWNER}/todos/count", {}, None, OWN_RECORD),
    ("users.__findById__todos", "GET", f"/users/{OWNER}/todos/{TODO}", {}, None, OWN_RECORD),
    ("users.__updateById__todos", "PUT", f"/users/{OWNER}/todos/{TODO}", {}, NEW_TODO, OWN_RECORD),
    (
        "users.__destroyById__todos",
        "DELETE",
        f"/users/{OWNER}/todos/{TODO}",
        {},
        None,
        done(OWN_RECORD),
    ),
]


@pytest.mark.parametrize(
    ("endpoint", "verb", "path", "query", "body", "expected"),
    ROUTES,
    ids=[f"{verb} {path}" for _, verb, path, *_ in ROUTES],
)
def test_everybody_gets_what_the_rules_say(app, api, endpoint, verb, path, query, body, expected):
    given = []
    lay_out(app)

    for caller in CALLERS:
        response = api(verb, path, body, token=TOKENS[caller], query_string=query)
        given.append(response.status_code)
        if caller == "expired" and response.status_code == 401 and verb != "HEAD":
            assert response.json["error"]["code"] == "INVALID_TOKEN"
        # What a refused call changes all the same, the next callers get to see.
        if response.status_code < 400:
            lay_out(app)

    assert dict(zip(CALLERS, given, strict=True)) == dict(zip(CALLERS, expected, strict=True))


def test_every_route_of_the_api_is_in_the_table(app):
    root = app.config["REST_API_ROOT"]
    routes = {
        (rule.endpoint, verb, str(rule).count("/"))
        for rule in app.url_map.iter_rules()
        if str(rule).startswith(root)
        for verb in rule.methods - {"HEAD", "OPTIONS"}
    }

    covered = {(endpoint, verb, f"{root}{path}".count("/")) for endpoint, verb, path, *_ in ROUTES}
    assert routes <= covered


def lay_out(app):
    """Lay out the same small world anew, from which one user has gone."""
    populate(app, small_world)
    with app.app_context():
        db.session.execute(delete(User).where(User.id == DELETED))
        db.session.commit()


def small_world():
    """Make the users with their roles and tokens, and a to-do."""
    password_hash = hash_password(PASSWORD)
    for name, user_id in PEOPLE.items():
        yield User(id=user_id, email=f"{name}@example.com", password_hash=password_hash)
    yield from (Role(id=1, name="clerk"), Role(id=2, name="admin"))
    yield RoleMapping(user_id=CLERK, role_id=1)
    yield RoleMapping(user_id=ADMIN, role_id=2)
    yield Todo(id=TODO, title="Hers", owner_id=OWNER)
    yield from map(token_of, CALLERS[1:])


def token_of(caller):
    scope = RESET_SCOPE if caller == "reset" else None
    row = AccessToken.issue(TOKENS[caller], PEOPLE.get(caller, OWNER), 600, scope)
    if caller == "owner":
        row.handle = HANDLE
    if caller == "expired":
        row.expires_at = now() - timedelta(seconds=1)
    return row
