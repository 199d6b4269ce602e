"""Two models of users with the same integers as ids: everything about each user goes along."""

import json

import pytest

from ostiary_loopback.application import read_application
from ostiary_loopback.data.moving import FOLDER
from ostiary_loopback.models_check import check_models
from ostiary_loopback.writing.models import config_file
from tests.conftest import PASSWORD, Api
from tests.definitions.conftest import make_models, write_models  # noqa: F401 - fixtures
from tests.definitions.library import rule
from tests.loopback.data.conftest import HASH, OWN, Move

CUSTOMER = {"name": "Customer", "base": "User", "plural": "customers"}
STAFF = {
    "name": "Staff",
    "base": "User",
    "plural": "staff",
    "properties": {"badge": "string"},
    "relations": {"boss": {"type": "belongsTo", "model": "Staff", "foreignKey": "bossId"}},
    "acls": [rule("chief", property="count")],
}
ORDER = {
    "name": "Order",
    "relations": {
        "customer": {"type": "belongsTo", "model": "Customer", "foreignKey": "customerId"},
        "clerk": {"type": "belongsTo", "model": "Staff", "foreignKey": "clerkId"},
        "author": {"type": "belongsTo", "polymorphic": True},
    },
    "acls": [rule("$everyone", "DENY"), rule("$owner"), rule("$authenticated", property="create")],
}
MODELS = {"Customer": CUSTOMER, "Staff": STAFF, "Order": ORDER}
CONFIG = {
    **{name: {"dataSource": "db"} for name in MODELS},
    "AccessToken": {
        "dataSource": "db",
        "relations": {
            "user": {
                "type": "belongsTo",
                "idName": "id",
                "model": "Customer",
                "polymorphic": {"foreignKey": "userId", "discriminator": "principalType"},
            }
        },
    },
}
TOKENS = {name: f"{name}{'0' * (64 - len(name))}" for name in ("ada", "eve", "sue")}


def user(row_id, name, **more):
    return {"id": row_id, "email": f"{name}@example.com", "password": HASH, **more}


def token(name, user_id, kind):
    return {
        "id": TOKENS[name],
        "ttl": 1209600,
        "created": "2099-01-01T00:00:00Z",
        "userId": user_id,
        "principalType": kind,
    }


SOURCE = {
    # Three customers, and two of the staff with the same ids as the first two.
    "Customer": [user(1, "ada"), user(2, "bob"), user(3, "cyd")],
    "Staff": [user(1, "eve", badge="7", bossId=2), user(2, "ada", badge="8"), user(9, "sue")],
    "AccessToken": [
        token("ada", 1, "Customer"),
        token("eve", 1, "Staff"),
        token("sue", 9, "Staff"),
    ],
    "Role": [{"id": 1, "name": "chief"}],
    "RoleMapping": [
        {"id": 1, "principalType": "Staff", "principalId": "1", "roleId": 1},
        {"id": 2, "principalType": "Customer", "principalId": "2", "roleId": 1},
    ],
    "Order": [
        {"id": 1, "customerId": 1, "clerkId": 1, "authorType": "Staff", "authorId": 2},
        {"id": 2, "customerId": 2, "clerkId": 9, "authorType": "Customer", "authorId": 2},
    ],
}
SOURCE["Customer"].append(user(4, "dan"))


@pytest.fixture
def move(make_models, tmp_path, secrets, request):  # noqa: F811
    server, models = tmp_path / "lb" / "server", tmp_path / "lb" / "common" / "models"
    server.mkdir(parents=True)
    models.mkdir(parents=True)
    for name, model in MODELS.items():
        (models / f"{name.lower()}.json").write_text(json.dumps(model))
    entries = {name: {"dataSource": "db"} for name in (*OWN, *MODELS)}
    entries |= getattr(request, "param", {})
    entries["_meta"] = {"sources": ["../common/models"]}
    (server / "model-config.json").write_text(json.dumps(entries))
    (server / "datasources.json").write_text('{"db": {"name": "db", "connector": "memory"}}')
    app = make_models(MODELS, CONFIG)
    app.instance_path = str(tmp_path / "project")
    secrets += TOKENS.values()
    application = read_application(tmp_path / "lb")
    return Move(app, application, tmp_path, Api(app.test_client(), secrets))


@pytest.mark.both_databases
def test_users_tokens_roles_and_rows_of_both_models_move(move):
    moved = move(SOURCE)

    assert moved.is_complete, list(moved.lines())
    users = move.rows("SELECT id, principal_type, email, staff_boss_id FROM users ORDER BY id")
    assert users == [
        (1, "", "ada@example.com", None),
        (2, "", "bob@example.com", None),
        (3, "", "cyd@example.com", None),
        (4, "", "dan@example.com", None),
        (9, "Staff", "sue@example.com", None),
        (10, "Staff", "eve@example.com", 11),
        (11, "Staff", "ada@example.com", None),
    ]
    file = move.folder / "project" / FOLDER / "new-ids.json"
    assert json.loads(file.read_text()) == {"Customer": {}, "Staff": {"1": 10, "2": 11}}
    assert any(
        "Staff: 2 users have the id of a user of another model" in line for line in moved.lines()
    )
    # The same tokens work, each for its own user.
    for name, path in (("ada", "/customers/1"), ("eve", "/staff/10"), ("sue", "/staff/9")):
        answer = move.api("GET", path, token=TOKENS[name])
        assert answer.json["email"] == f"{name}@example.com"
    assert move.api("GET", "/staff/10", token=TOKENS["ada"]).status_code == 403
    # So do the passwords, the roles, the owners and the relations.
    for path, user_id in (("/customers", 1), ("/staff", 11)):
        given = {"email": "ada@example.com", "password": PASSWORD}
        answer = move.api("POST", f"{path}/login", given)
        move.api.secrets.append(answer.json["id"])
        assert answer.json["userId"] == user_id
    assert move.rows("SELECT user_id FROM role_mappings ORDER BY user_id") == [(2,), (10,)]
    assert move.api("GET", "/staff/count", token=TOKENS["eve"]).json == {"count": 3}
    assert move.api("GET", "/Orders/1", token=TOKENS["ada"]).json["clerkId"] == 10
    assert move.api("GET", "/Orders/1", token=TOKENS["eve"]).status_code == 403
    rows = move.rows(
        'SELECT id, customer_id, clerk_id, author_type, author_id FROM "order" ORDER BY id'
    )
    assert [tuple(map(str, row)) for row in rows] == [
        ("1", "1", "10", "Staff", "11"),
        ("2", "2", "9", "Customer", "2"),
    ]


MAPPING = {"id": 3, "principalType": "USER", "principalId": "1", "roleId": 1}


@pytest.mark.parametrize("move", [CONFIG], indirect=True)
def test_a_role_of_any_user_is_refused_where_tokens_name_the_model_of_users(move):
    """LoopBack 3 then finds the roles of a caller by the model of its token alone."""
    move({**SOURCE, "RoleMapping": [*SOURCE["RoleMapping"], MAPPING]})

    assert move.rows("SELECT user_id FROM role_mappings ORDER BY user_id") == [(2,), (10,)]
    reason = "is of principalType USER, which has no effect if tokens have a type"
    assert ("RoleMapping", "3", reason) in move.refused


def test_a_role_of_any_user_is_one_of_the_first_model_where_tokens_name_none(move):
    move({**SOURCE, "RoleMapping": [MAPPING]})

    assert move.rows("SELECT user_id FROM role_mappings") == [(1,)]


def test_a_further_run_keeps_the_ids_and_moves_new_users(move):
    move(SOURCE)
    later = {**SOURCE, "Customer": [*SOURCE["Customer"], user(9, "new"), user(10, "zoe")]}
    later["Staff"] = [*SOURCE["Staff"], user(3, "ann")]

    moved = move(later)

    assert moved.is_complete, (list(moved.lines()), move.refused)
    users = move.rows("SELECT id, principal_type, email FROM users ORDER BY id")
    assert users[4:] == [
        (9, "Staff", "sue@example.com"),
        (10, "Staff", "eve@example.com"),
        (11, "Staff", "ada@example.com"),
        (12, "", "new@example.com"),
        (13, "", "zoe@example.com"),
        (14, "Staff", "ann@example.com"),
    ]


def test_the_report_says_what_becomes_of_each_model_of_users(move):
    texts = [text for check in check_models(move.application) for text in check.differences]
    said = [text for text in texts if "one of several models of users" in text]

    assert [text.partition(".json")[0].rpartition("/")[2] for text in said] == ["customer", "staff"]


def test_an_imported_project_names_the_first_model_of_users(move):
    config = json.loads(config_file(move.application, []).text)

    owner = config["AccessToken"]["relations"]["user"]
    assert owner == {"type": "belongsTo", "model": "Customer"}
